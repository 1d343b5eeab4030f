/** Functions that runtimes share: the loss of a batch, the check of scores, and the delta of the events. */
import type { TemporalGraph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { bceWithLogits } from '../nn/index.js';
import { add, full, noGrad, type Tensor } from '../tensor/index.js';
import { expected, StateError } from '../util/errors.js';
import type { TemporalBatch } from './batch.js';
import type { SharedMailBox } from './mailbox/index.js';
import type { StateDelta } from './mailbox/rows.js';
import type { MemoryOutput, TemporalOutput } from './models/output.js';
import type { TemporalState } from './temporal-state.js';

/** Scores in the precision of their computation: rounding would make ties. */
export type ScoreArray = Float32Array | Float64Array;

/** Result of a batch. */
export interface ScoredStep {
  /** Mean over events; 0 where nothing was scored. */
  readonly loss: number;
  /** Scores of the events [B]: logits of a network; of a baseline, numbers of which only the order has a meaning. */
  readonly positive: ScoreArray;
  /** Scores of their negatives [B·q]. */
  readonly negative: ScoreArray;
}

/** Result of a batch of a network. */
export interface StepResult extends ScoredStep {
  readonly positive: Float32Array;
  readonly negative: Float32Array;
}

/** The events of a step, of all workers. */
export interface EventBatch {
  /** Rows of the stream. */
  readonly eventRows: Int32Array;
}

/** Trains on batches of type B and evaluates them. */
export interface TemporalSteps<B extends EventBatch> {
  train(batch: B): Pick<StepResult, 'loss'>;
  /** Scores a batch, then commits it. */
  evaluate(batch: B): ScoredStep;
  /** Commits a batch. */
  observe(batch: B): void;
  /** Returns the embeddings of the sources of a batch, row-major; then commits it. */
  embed(batch: B): Float32Array;
}

/** Consecutive events of a stream, in order of time. */
export interface EventSlice {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly times: Float64Array;
}

/** The events that a score can use: all strictly earlier ones, or those of earlier batches only, as in the loop of TGB. */
export type Cadence = 'moment' | 'batch';

/** Nodes that compete with the destination of every event of a batch. */
export interface CandidateOptions {
  readonly candidates: Int32Array;
  /** Default 'moment'. */
  readonly cadence?: Cadence;
}

export interface CandidateScores {
  /** Scores of the events [B]. */
  readonly positive: ScoreArray;
  /** Scores of each event's source with every candidate, at the time of the event [B·C], row by row. */
  readonly candidates: ScoreArray;
}

/** Training and scoring in one process; what an `OnlineScorer` needs. */
export interface ScoringSteps extends TemporalSteps<TemporalBatch> {
  /** Null where events change nothing. */
  readonly state: TemporalState | null;
  /** Read into every batch; absent or null for other states. */
  readonly mailbox?: SharedMailBox | null;
  /** Scores a batch and changes nothing. */
  score(batch: TemporalBatch): ScoredStep;
  /**
   * Scores the events of a batch without negatives against the same candidates each, then commits it: the fast form of
   * `evaluate`. Absent where a model has none.
   */
  evaluateCandidates?(batch: TemporalBatch, options: CandidateOptions): CandidateScores;
  /**
   * The fast form of `score`: each event's source with every candidate [B·C], row by row. Changes nothing. Null if the model was
   * made for another stream than `graph`.
   */
  scoreCandidates?(batch: TemporalBatch, candidates: Int32Array, graph: TemporalGraph): ScoreArray | null;
}

/** Yields a stream in batches of type B. */
export interface TemporalBatches<B extends EventBatch> {
  readonly numEvents: number;
  epoch(epoch: number, from?: number): AsyncGenerator<B>;
}

/** Which halves of a mail are embeddings in place of memory. */
export interface MailOptions {
  /** A mail's own half. */
  readonly useSrcEmb: boolean;
  /** The other end's half. */
  readonly useDstEmb: boolean;
}

/** Binary cross-entropy of the events plus that of their negatives. */
export function pairLoss({ positive, negative }: { positive: Tensor; negative: Tensor }): Tensor {
  return add(bceWithLogits(positive, like(positive, 1)), bceWithLogits(negative, like(negative, 0)));
}

function like(scores: Tensor, value: number): Tensor {
  return full(scores.shape, value, { dtype: scores.dtype as 'f32' });
}

/** Copies scores; throws if they are not finite, so that neither parameters nor memory change in such a step. */
export function finiteScores(
  loss: Tensor | null,
  { positive, negative }: { positive: Tensor; negative: Tensor },
): StepResult {
  const copy = (t: Tensor, name: string): Float32Array =>
    checkFinite(Float32Array.from(t.dataSync() as Float32Array), name);
  const step = { positive: copy(positive, 'positive'), negative: copy(negative, 'negative') };
  return { loss: loss === null ? 0 : loss.item(), ...step };
}

/** Returns scores if they are finite, otherwise throws. */
export function checkFinite(scores: Float32Array, name: string): Float32Array {
  if (kernels().allFinite(scores, scores.length) === 1) return scores;
  const at = scores.findIndex((value) => !Number.isFinite(value));
  const advice = 'Lower the learning rate or clip gradients; parameters and state are as before this batch.';
  throw new StateError(
    expected('TemporalRuntime', 'finite scores', `the ${name} score ${at}`, scores[at], advice),
  );
}

/** Returns the delta of a batch: memory of the ends of its events, and their mail. */
export function stateDelta(
  mailbox: SharedMailBox,
  batch: TemporalBatch,
  output: TemporalOutput,
  options: MailOptions,
): StateDelta {
  const out = withMemory(output);
  const { srcRoots, dstRoots, src, dst, times, eventRows, hops } = batch;
  const ends = concat(srcRoots, dstRoots);
  return noGrad(() => {
    const memory = out.stateOf(ends);
    const change = mailbox.getUpdateMemory(
      concat(src, dst),
      memory,
      out.timeOf(ends),
      concat(eventRows, eventRows),
    );
    const mail = mailbox.getUpdateMail({
      ...{ src, dst, times, eventRows, memory, srcRoots, dstRoots },
      hop: hops[0] ?? null,
      embeddings: out.mailEmbeddings,
      ...options,
    });
    return { ...change, ...mail };
  });
}

function withMemory(output: TemporalOutput): MemoryOutput {
  if ('stateOf' in output) return output as MemoryOutput;
  throw new StateError(
    'TemporalRuntime: expected a model that updates memory, got one without. Leave the mailbox out.',
  );
}

function concat(a: Int32Array, b: Int32Array): Int32Array {
  const joined = new Int32Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
