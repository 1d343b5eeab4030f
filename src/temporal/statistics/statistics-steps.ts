/**
 * Training and scoring of `PairHead` on running statistics. A batch is walked through in order of time: the candidates of an
 * event are described by all strictly earlier events, those of the same batch as well, so the size of batches changes no score.
 */
import { clipGradNorm } from '../../nn/index.js';
import { backward, noGrad, scope, tensor } from '../../tensor/index.js';
import { expected, StateError } from '../../util/errors.js';
import type { TemporalBatch } from '../batch.js';
import type { StepTraining } from '../models/model-kind.js';
import { candidateBce, candidateSoftmax } from '../ranking-loss.js';
import type {
  Cadence,
  CandidateOptions,
  CandidateScores,
  EventSlice,
  ScoredStep,
  ScoringSteps,
} from '../steps.js';
import { type EventStatistics, type PairQueries, type Scaling, sliceEvents } from './event-statistics.js';
import type { PairHead } from './pair-head.js';
import type { TrainingCandidates } from './training-candidates.js';

export interface StatisticsStepsOptions {
  readonly head: PairHead;
  readonly state: EventStatistics;
  readonly candidates: TrainingCandidates;
  /** Fits the standardisation to the training events; called before the first step. */
  readonly fit: () => Scaling;
  readonly loss: 'softmax' | 'bce';
  /** The factor of the learning rate when so many events have been trained. */
  readonly rate: (trained: number) => number;
}

/** Rows of numbers per pass of the head: small enough for a cache, large enough for threads. */
const rowsPerPass = 8192;

export class StatisticsSteps implements ScoringSteps {
  readonly state: EventStatistics;
  readonly #options: StatisticsStepsOptions;
  readonly #training: StepTraining;
  readonly #lr: number;
  #numbers = new Float32Array(0);

  constructor(options: StatisticsStepsOptions, training: StepTraining) {
    this.state = options.state;
    this.#options = options;
    this.#training = training;
    this.#lr = training.optimizer?.groups[0].lr ?? 0;
  }

  train(batch: TemporalBatch): { readonly loss: number } {
    const { head, candidates, fit, rate } = this.#options;
    const { optimizer, maxGradNorm } = this.#training;
    if (optimizer === null) throw new StateError('train: expected an optimizer, got none.');
    if (!head.isFitted) head.setScaling(fit());
    const queries = candidates.draw(this.state, batch, batch.eventRows[0], head.numTrained);
    const { out, rows } = this.#room(queries.candidates.length);
    this.state.observe(batch, queries, 'moment', { scaling: head.scaling, out });
    return scope(() => {
      head.train();
      const scores = head.forward(tensor(out, { shape: [rows, this.state.width] }));
      const { corrections, offsets } = queries;
      const loss =
        this.#options.loss === 'bce'
          ? candidateBce(scores, offsets)
          : candidateSoftmax(scores, corrections, offsets);
      const value = loss.item();
      if (!Number.isFinite(value))
        throw new StateError(
          expected(
            'train',
            'a finite loss',
            'a batch',
            value,
            'Lower train.lr or set training.max_grad_norm.',
          ),
        );
      optimizer.zeroGrad();
      backward(loss);
      if (maxGradNorm > 0) clipGradNorm(head.parameters(), maxGradNorm);
      for (const group of optimizer.groups) group.lr = this.#lr * rate(head.numTrained);
      optimizer.step();
      head.numTrained += batch.src.length;
      return { loss: value };
    });
  }

  evaluate(batch: TemporalBatch): ScoredStep {
    return this.#scoreBatch(batch, true);
  }

  score(batch: TemporalBatch): ScoredStep {
    return this.#scoreBatch(batch, false);
  }

  /** Scores one pair by other statistics than those of the stream, and changes nothing. */
  scoreBy(state: EventStatistics, src: number, dst: number, time: number): number {
    const steps = new StatisticsSteps({ ...this.#options, state }, { optimizer: null, maxGradNorm: 0 });
    const pair = { src: Int32Array.of(src), dst: Int32Array.of(dst), times: Float64Array.of(time) };
    return steps.#rank(pair, 0, () => new Int32Array(0), 'none').positive[0];
  }

  observe(batch: TemporalBatch): void {
    this.state.observe(batch);
  }

  embed(): never {
    throw new StateError('embed: expected a model with embeddings of nodes, got one that scores pairs.');
  }

  evaluateCandidates(
    events: EventSlice,
    { candidates, cadence = 'moment' }: CandidateOptions,
  ): CandidateScores {
    const { positive, others } = this.#rank(events, candidates.length, () => candidates, cadence);
    if (cadence === 'batch') this.state.observe(events, undefined, cadence);
    return { positive, candidates: others };
  }

  #scoreBatch(batch: TemporalBatch, commit: boolean): ScoredStep {
    const amount = batch.src.length === 0 ? 0 : batch.negatives.length / batch.src.length;
    const competing = (i: number): Int32Array => batch.negatives.subarray(i * amount, (i + 1) * amount);
    // A batch with a limit does not see its own events.
    const isFrozen = batch.rowLimit !== undefined;
    const cadence = isFrozen ? 'batch' : commit ? 'moment' : 'none';
    const { positive, others } = this.#rank(batch, amount, competing, cadence);
    if (isFrozen && commit) this.state.observe(batch, undefined, 'batch');
    return { loss: 0, positive, negative: others };
  }

  /**
   * Scores each event and `amount` other destinations of its source. Cadence 'moment' observes the events on the way, 'none'
   * and 'batch' leave them out.
   */
  #rank(
    events: EventSlice,
    amount: number,
    competing: (event: number) => Int32Array,
    cadence: Cadence | 'none',
  ): { readonly positive: Float32Array; readonly others: Float32Array } {
    const count = events.src.length;
    const [positive, others] = [new Float32Array(count), new Float32Array(count * amount)];
    const width = 1 + amount;
    const step = Math.max(1, Math.floor(rowsPerPass / width));
    for (let begin = 0; begin < count; begin += step) {
      const end = Math.min(count, begin + step);
      const part = sliceEvents(events, begin, end);
      const candidates = new Int32Array((end - begin) * width);
      for (let i = begin; i < end; i++) {
        candidates[(i - begin) * width] = events.dst[i];
        candidates.set(competing(i), (i - begin) * width + 1);
      }
      const offsets = Int32Array.from({ length: end - begin + 1 }, (_, i) => i * width);
      const scores = this.#scores({ src: part.src, times: part.times, offsets, candidates }, part, cadence);
      for (let i = begin; i < end; i++) {
        const at = (i - begin) * width;
        positive[i] = scores[at];
        others.set(scores.subarray(at + 1, at + width), i * amount);
      }
    }
    return { positive, others };
  }

  #scores(queries: PairQueries, events: EventSlice, cadence: Cadence | 'none'): Float32Array {
    const { head } = this.#options;
    const { out, rows } = this.#room(queries.candidates.length);
    const numbers = { scaling: head.scaling, out };
    if (cadence === 'moment') this.state.observe(events, queries, cadence, numbers);
    else this.state.describe(queries, cadence === 'none' ? 'moment' : cadence, numbers);
    return noGrad(() =>
      scope(() => {
        if (head.training) head.eval();
        const scores = head.forward(tensor(out, { shape: [rows, this.state.width] }));
        return Float32Array.from(scores.dataSync() as Float32Array);
      }),
    );
  }

  /** Returns room for the numbers of so many candidates, which the next call reuses. */
  #room(rows: number): { readonly rows: number; readonly out: Float32Array } {
    const size = rows * this.state.width;
    if (this.#numbers.length < size) this.#numbers = new Float32Array(size);
    return { rows, out: this.#numbers.subarray(0, size) };
  }
}
