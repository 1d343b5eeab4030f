/** What runtimes share: the loss of a batch, scores that can be trusted, and the change that its events make. */
import { kernels } from '../native/index.js';
import { bceWithLogits } from '../nn/index.js';
import { add, full, noGrad, type Tensor } from '../tensor/index.js';
import { expected, StateError } from '../util/errors.js';
import type { TemporalBatch } from './batch.js';
import type { SharedMailBox } from './mailbox/index.js';
import type { StateDelta } from './mailbox/rows.js';
import type { MemoryOutput, TemporalOutput } from './models/output.js';
import type { TemporalState } from './temporal-state.js';

/** Scores as they are computed: rounding would make ties. */
export type ScoreArray = Float32Array | Float64Array;

/** What came of a batch. */
export interface ScoredStep {
  /** Mean over events; 0 where nothing was scored. */
  readonly loss: number;
  /** Scores of the events [B]: of a network logits, of a baseline numbers whose order counts. */
  readonly positive: ScoreArray;
  /** Scores of their negatives [B·q]. */
  readonly negative: ScoreArray;
}

/** That of a network. */
export interface StepResult extends ScoredStep {
  readonly positive: Float32Array;
  readonly negative: Float32Array;
}

/** What a part of the work is: the events of a step, all of them, whoever computes which. */
export interface EventBatch {
  /** Rows of the stream. */
  readonly eventRows: Int32Array;
}

/** Trains on batches of a kind and judges them. */
export interface TemporalSteps<B extends EventBatch> {
  train(batch: B): Pick<StepResult, 'loss'>;
  /** Scores a batch, then commits it. */
  evaluate(batch: B): ScoredStep;
  /** Commits a batch. */
  observe(batch: B): void;
  /** Embeddings of the sources of a batch, row by row; then commits it. */
  embed(batch: B): Float32Array;
}

/** What one process trains and scores with; an `OnlineScorer` needs no more. */
export interface ScoringSteps extends TemporalSteps<TemporalBatch> {
  /** Null where events change nothing. */
  readonly state: TemporalState | null;
  /** Read into every batch; absent or null for other states. */
  readonly mailbox?: SharedMailBox | null;
  /** Scores a batch and changes nothing. */
  score(batch: TemporalBatch): ScoredStep;
}

/** Goes through a stream in batches of a kind. */
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

/** Mean over events that a logit is of the wrong sign, with those of their negatives. */
export function pairLoss({ positive, negative }: { positive: Tensor; negative: Tensor }): Tensor {
  return add(bceWithLogits(positive, like(positive, 1)), bceWithLogits(negative, like(negative, 0)));
}

function like(scores: Tensor, value: number): Tensor {
  return full(scores.shape, value, { dtype: scores.dtype as 'f32' });
}

/** Copies of scores, refused when they are not finite: neither parameters nor state may learn from such a step. */
export function finiteScores(
  loss: Tensor | null,
  { positive, negative }: { positive: Tensor; negative: Tensor },
): StepResult {
  const copy = (t: Tensor, name: string): Float32Array => {
    const scores = Float32Array.from(t.dataSync() as Float32Array);
    if (kernels().allFinite(scores, scores.length) === 1) return scores;
    const at = scores.findIndex((value) => !Number.isFinite(value));
    const advice =
      'Lower the learning rate or clip gradients; parameters and state are as before this batch.';
    throw new StateError(
      expected('TemporalRuntime', 'finite scores', `the ${name} score ${at}`, scores[at], advice),
    );
  };
  const step = { positive: copy(positive, 'positive'), negative: copy(negative, 'negative') };
  return { loss: loss === null ? 0 : loss.item(), ...step };
}

/** What the events of the batch change: memory of their ends, and the mail they leave. */
export function stateDelta(
  mailbox: SharedMailBox,
  batch: TemporalBatch,
  output: TemporalOutput,
  options: MailOptions,
): StateDelta {
  const out = withMemory(output);
  const { srcRoots, dstRoots, src, dst, times, eventRows, hops } = batch;
  const ends = both(srcRoots, dstRoots);
  return noGrad(() => {
    const memory = out.stateOf(ends);
    const change = mailbox.getUpdateMemory(
      both(src, dst),
      memory,
      out.timeOf(ends),
      both(eventRows, eventRows),
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

function both(a: Int32Array, b: Int32Array): Int32Array {
  const joined = new Int32Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
