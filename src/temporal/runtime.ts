/**
 * One step of a temporal model. Only this file fixes the order: the batch has memory and mail from before its first event → memory is
 * updated in copies → roots are embedded → pairs are scored → loss, gradients, step → the delta is committed. So no event of a batch
 * affects a score of that batch through memory, and the updater gets gradients from the next batch with the same node.
 *
 * Only the two ends of real events change memory and mail; negatives take the same path and write nothing. A step that fails commits
 * nothing.
 */

import { clipGradNorm, type Module } from '../nn/index.js';
import { backward, gatherRows, noGrad, scope, type Tensor } from '../tensor/index.js';
import { InternalError, StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { TemporalBatch } from './batch.js';
import { CandidateRanker } from './candidate-ranker.js';
import type { EdgeScores } from './layers/edge-predictor.js';
import type { SharedMailBox } from './mailbox/index.js';
import { MailboxState } from './mailbox/mailbox-state.js';
import type { CandidateScorer } from './models/candidate-scorer.js';
import type { TemporalOutput } from './models/output.js';
import {
  type CandidateScores,
  type EventSlice,
  finiteScores,
  pairLoss,
  type ScoringSteps,
  type StepResult,
} from './steps.js';
import type { CommittedState } from './temporal-state.js';

/** Embeds the roots of a batch, returns their updated memory, and scores pairs of them. */
export interface TemporalModel extends Module {
  /** Width of embeddings; needed where they are used for more than scores. */
  readonly dimOut?: number;
  forward(batch: TemporalBatch): TemporalOutput;
  /** Logits of the events [B] and of their negatives [B·q]. */
  score(output: TemporalOutput, batch: TemporalBatch): EdgeScores;
  /**
   * Logits of events [B], and of their sources with the same candidates each [B · C], for models whose embedding of a
   * candidate serves all events of a window. Needs nothing of a batch but its events, nor does the state of such a model.
   */
  scoreCandidates?(events: EventSlice, candidates: Int32Array): { positive: Tensor; candidates: Tensor };
  /** The loss of a batch, a mean over its events. Default: binary cross-entropy of events and of negatives. */
  loss?(scores: EdgeScores, batch: TemporalBatch): Tensor;
}

/** Updates the parameters of the model. */
export interface StepOptimizer {
  zeroGrad(): void;
  step(): void;
}

export interface TemporalRuntimeOptions {
  readonly model: TemporalModel;
  /** Memory and mail; null or absent for models without memory. */
  readonly mailbox?: SharedMailBox | null;
  /** Any other state that events change, in place of a mailbox. */
  readonly state?: CommittedState | null;
  /** Scores many candidates faster than batches with negatives do; null or absent if there is no such way. */
  readonly candidates?: CandidateScorer | null;
  /** Needed for training. */
  readonly optimizer?: StepOptimizer | null;
  /** Gradients are scaled down to this norm. */
  readonly maxGradNorm?: number;
  /** The loss of a batch, a mean over its events, for models without a loss. Default: binary cross-entropy. */
  readonly loss?: (scores: EdgeScores) => Tensor;
  /** A mail's own half is the embedding in place of the memory. */
  readonly useSrcEmb?: boolean;
  /** The other end's half is the embedding in place of the memory. */
  readonly useDstEmb?: boolean;
}

export class TemporalRuntime implements ScoringSteps {
  readonly model: TemporalModel;
  readonly mailbox: SharedMailBox | null;
  readonly state: CommittedState | null;
  readonly evaluateCandidates?: NonNullable<ScoringSteps['evaluateCandidates']>;
  readonly scoreCandidates?: NonNullable<ScoringSteps['scoreCandidates']>;
  readonly #optimizer: StepOptimizer | null;
  readonly #maxGradNorm: number;
  readonly #loss: (scores: EdgeScores) => Tensor;

  constructor(options: TemporalRuntimeOptions) {
    checkOptionNames('TemporalRuntime', options, {
      model: true,
      mailbox: true,
      state: true,
      candidates: true,
      optimizer: true,
      maxGradNorm: true,
      loss: true,
      useSrcEmb: true,
      useDstEmb: true,
    });
    this.model = options.model;
    const { mailbox = null, state = null, useSrcEmb = false, useDstEmb = false } = options;
    if (mailbox !== null && state !== null)
      throw new StateError(
        'TemporalRuntime: expected a mailbox or another state, got both. A mailbox is a state: pass new MailboxState(mailbox) alone.',
      );
    this.state = mailbox === null ? state : new MailboxState(mailbox, { useSrcEmb, useDstEmb });
    this.mailbox = this.state instanceof MailboxState ? this.state.mailbox : null;
    this.#optimizer = options.optimizer ?? null;
    this.#maxGradNorm = options.maxGradNorm ?? 0;
    this.#loss = options.loss ?? pairLoss;
    if (this.model.scoreCandidates !== undefined)
      this.evaluateCandidates = (events, { candidates }) => this.#scoreCandidates(events, candidates);
    const { candidates: scorer = null } = options;
    if (scorer !== null) {
      const ranker = new CandidateRanker(scorer);
      this.evaluateCandidates = (batch, { candidates }) =>
        this.#withOutput(batch, true, (out) => ranker.scores(batch, out, candidates));
      this.scoreCandidates = (batch, candidates, graph) =>
        graph === scorer.graph
          ? this.#withOutput(batch, false, (out) => ranker.byEvent(batch, out, candidates))
          : null;
    }
  }

  /** Trains on a batch, then commits it. */
  train(batch: TemporalBatch): StepResult {
    const optimizer = this.#optimizer;
    if (optimizer === null)
      throw new StateError(
        'TemporalRuntime.train: expected an optimizer, got none. Pass one to the constructor.',
      );
    return scope(() => {
      const out = this.#mode(true).model.forward(batch);
      const scores = this.model.score(out, batch);
      const loss = this.model.loss?.(scores, batch) ?? this.#loss(scores);
      const step = finiteScores(loss, scores);
      const { state } = this;
      const delta = state?.prepare(batch, () => out);
      // A delta that will be rejected must not have changed the parameters.
      state?.check?.(delta);
      optimizer.zeroGrad();
      backward(loss);
      if (this.#maxGradNorm > 0) clipGradNorm(this.model.parameters(), this.#maxGradNorm);
      optimizer.step();
      state?.commit(delta);
      return step;
    });
  }

  /** Scores a batch without learning, then commits it. */
  evaluate(batch: TemporalBatch): StepResult {
    return this.#scoreBatch(batch, true);
  }

  /** Scores a batch and changes nothing. */
  score(batch: TemporalBatch): StepResult {
    return this.#scoreBatch(batch, false);
  }

  /** Commits a batch without scoring it. */
  observe(batch: TemporalBatch): void {
    if (this.state === null) return;
    noGrad(() => scope(() => this.#commit(batch, () => this.#mode(false).model.forward(batch))));
  }

  /** Returns the embeddings of the sources of a batch, each at the time of its event, row-major [B·d]; then commits it. */
  embed(batch: TemporalBatch): Float32Array {
    return noGrad(() =>
      scope(() => {
        const out = this.#mode(false).model.forward(batch);
        const rows = gatherRows(out.embeddings, batch.srcRoots);
        this.#commit(batch, () => out);
        return Float32Array.from(rows.dataSync() as Float32Array);
      }),
    );
  }

  #scoreBatch(batch: TemporalBatch, commit: boolean): StepResult {
    return this.#withOutput(batch, commit, (out) => finiteScores(null, this.model.score(out, batch)));
  }

  /** Computes scores from the output of a batch, then commits it or not. */
  #withOutput<R>(batch: TemporalBatch, commit: boolean, scores: (out: TemporalOutput) => R): R {
    return noGrad(() =>
      scope(() => {
        const out = this.#mode(false).model.forward(batch);
        const result = scores(out);
        if (commit) this.#commit(batch, () => out);
        return result;
      }),
    );
  }

  #scoreCandidates(events: EventSlice, nodes: Int32Array): CandidateScores {
    return noGrad(() =>
      scope(() => {
        const scores = this.#mode(false).model.scoreCandidates?.(events, nodes);
        if (scores === undefined) throw new InternalError('candidates for a model that does not score them');
        const { positive, negative } = finiteScores(null, {
          positive: scores.positive,
          negative: scores.candidates,
        });
        const { state } = this;
        const output = (): never => {
          throw new InternalError('a state that needs more than events');
        };
        // The state of such a model reads the events of a batch alone.
        state?.commit(state.prepare(events as TemporalBatch, output));
        return { positive, candidates: negative };
      }),
    );
  }

  /** Switches only when necessary: a pass over all modules costs more than a small batch. */
  #mode(training: boolean): this {
    if (this.model.training !== training) this.model.train(training);
    return this;
  }

  #commit(batch: TemporalBatch, output: () => TemporalOutput): void {
    this.state?.commit(this.state.prepare(batch, output));
  }
}
