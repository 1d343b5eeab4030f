/**
 * Gradients summed over workers: `gatherGrads` after backward, or in buckets while backward is still running
 * (`distributedBackward`).
 *
 * Element i of a gradient is summed over ranks by `allReduce` in its fixed tree, so bits do not depend on how gradients
 * are packed, on when a bucket is sent, or on which of the two functions is used. A parameter may have a gradient on
 * some ranks only: ranks exchange which gradients they have, and one that no rank has stays null.
 *
 * A bucket is sent when the gradients of all its parameters are complete and the buckets before it have been sent. When
 * a gradient is complete is learnt from the first pass, which is not overlapped: recomputation inside backward may add
 * to a gradient several times. A wrong guess costs a second reduction of that parameter and changes no bit. Buckets use
 * a separate channel, so they need not be ordered with collectives inside backward.
 */
import { kernels } from '../../native/index.js';
import type { Module } from '../../nn/index.js';
import { backward, type SparseRows, type Tensor } from '../../tensor/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';
import {
  agreeOnGradients,
  type FinishSum,
  type GradientFlags,
  sumDense,
  sumSparse,
} from './sum-gradients.js';

export interface BucketOptions {
  readonly comm?: Communicator;
  /** Size in bytes up to which gradients are packed into a bucket. Default 1 MB. */
  readonly bucketBytes?: number;
}

const defaultBytes = 1 << 20;
/** Channel 0 is left to the program. */
const channel = 1;

/** Collective. Replaces every parameter's gradient by the sum over all ranks; null if no rank has one. */
export function gatherGrads(model: Module, options: BucketOptions = {}): void {
  checkOptionNames('gatherGrads', options, { comm: true, bucketBytes: true });
  const { comm = currentCommunicator(), bucketBytes = defaultBytes } = options;
  if (comm.size === 1) return;
  gatherAll(comm, model.parameters(), bucketBytes);
}

function gatherAll(comm: Communicator, parameters: readonly Tensor[], bytes: number): GradientFlags {
  const flags = agreeOnGradients(comm, parameters, () => false, channel);
  reduceAgreed(comm, parameters, flags, bytes, () => true);
  return flags;
}

/** Reduces the wanted parameters that have a gradient on some rank; all ranks have the same flags. */
function reduceAgreed(
  comm: Communicator,
  parameters: readonly Tensor[],
  flags: GradientFlags,
  bytes: number,
  wanted: (i: number) => boolean,
): void {
  const chosen = parameters.map((_, i) => i).filter(wanted);
  const dense = chosen.filter((i) => flags.dense(i)).map((i) => parameters[i]);
  const handles = packBuckets(dense, bytes).map((bucket) => sumDense(comm, bucket, channel));
  for (const finish of handles) finish(() => true);
  for (const i of chosen) if (!flags.dense(i) && flags.sparse(i)) sumSparse(comm, parameters[i]);
}

/** Packs consecutive parameters of one dtype into buckets of up to `bytes`; a longer one has its own bucket. */
function packBuckets(parameters: readonly Tensor[], bytes: number): Tensor[][] {
  const buckets: Tensor[][] = [];
  let room = 0;
  for (const p of parameters) {
    const length = p.size * (p.dtype === 'f64' ? 8 : 4);
    const last = buckets.at(-1);
    if (last === undefined || length > room || last[0].dtype !== p.dtype) {
      buckets.push([p]);
      room = bytes - length;
    } else {
      last.push(p);
      room -= length;
    }
  }
  return buckets;
}

/** The gradients that a parameter had before a pass. */
interface EarlierGradients {
  readonly grad: Tensor | null;
  readonly sparse: SparseRows | null;
}

export class GradientBuckets {
  readonly #model: Module;
  readonly #comm: Communicator;
  readonly #bytes: number;
  /** null until a first pass has shown which gradients exist. */
  #layout: {
    readonly parameters: readonly Tensor[];
    readonly buckets: readonly (readonly Tensor[])[];
  } | null = null;
  /** Number of times each gradient was added to in the last pass. */
  #expected = new Map<Tensor, number>();

  constructor(model: Module, options: BucketOptions = {}) {
    checkOptionNames('GradientBuckets', options, { comm: true, bucketBytes: true });
    this.#model = model;
    this.#comm = options.comm ?? currentCommunicator();
    this.#bytes = checkInteger('GradientBuckets', 'bucketBytes', options.bucketBytes ?? defaultBytes, 1);
  }

  get comm(): Communicator {
    return this.#comm;
  }

  /** Parameters in each bucket, in the order in which buckets are sent; null before the first pass. */
  get buckets(): readonly (readonly Tensor[])[] | null {
    return this.#layout?.buckets ?? null;
  }

  /**
   * Collective. Adds the sum over all ranks of d(loss)/d(parameter) to `grad` of every parameter of the model. A loss
   * that depends on no parameter (a rank without examples) counts as 0.
   */
  backward(loss: Tensor): void {
    const parameters = this.#model.parameters();
    if (this.#comm.size === 1) {
      if (loss.requiresGrad) backward(loss);
      return;
    }
    const before = detachGradients(parameters);
    const known = this.#layout;
    const same =
      known !== null &&
      known.parameters.length === parameters.length &&
      known.parameters.every((p, i) => p === parameters[i]);
    if (same) this.#backwardOverlapped(loss, parameters, known.buckets);
    else this.#backwardAndLearn(loss, parameters);
    addGradients(before);
  }

  #backwardAndLearn(loss: Tensor, parameters: readonly Tensor[]): void {
    const order: Tensor[] = [];
    this.#expected = backwardWithHooks(parameters, loss, (p) => order.push(p));
    const flags = gatherAll(this.#comm, parameters, this.#bytes);
    // Rank 0 decides in which order gradients are complete (by their last addition); those it does not have come last.
    const last = new Map(order.map((p, i) => [p, i]));
    const positions = Int32Array.from(parameters, (p) => last.get(p) ?? order.length);
    this.#comm.broadcast(positions);
    const dense = parameters.map((_, i) => i).filter((i) => flags.dense(i));
    dense.sort((a, b) => positions[a] - positions[b] || a - b);
    const buckets = packBuckets(
      dense.map((i) => parameters[i]),
      this.#bytes,
    );
    this.#layout = { parameters, buckets };
  }

  #backwardOverlapped(
    loss: Tensor,
    parameters: readonly Tensor[],
    buckets: readonly (readonly Tensor[])[],
  ): void {
    const comm = this.#comm;
    const bucketOf = new Map(buckets.flatMap((bucket, b) => bucket.map((p) => [p, b] as const)));
    const open = buckets.map((bucket) => bucket.filter((p) => (this.#expected.get(p) ?? 0) > 0).length);
    const left = new Map(this.#expected);
    const late = new Set<Tensor>();
    const finish: FinishSum[] = [];
    const advance = (all: boolean) => {
      while (finish.length < buckets.length && (all || open[finish.length] === 0))
        finish.push(sumDense(comm, buckets[finish.length], channel));
    };
    this.#expected = backwardWithHooks(parameters, loss, (p) => {
      const b = bucketOf.get(p);
      if (b === undefined) return;
      if (b < finish.length) late.add(p);
      const more = (left.get(p) ?? 0) - 1;
      left.set(p, more);
      if (more === 0) open[b]--;
      advance(false);
    });
    advance(true);
    const flags = agreeOnGradients(comm, parameters, (p) => late.has(p), channel);
    // A late gradient on some rank: the first sum is discarded, each rank still has its own contribution.
    const good = new Set(parameters.filter((_, i) => !flags.late(i) && (flags.dense(i) || flags.sparse(i))));
    for (const done of finish) done((p) => good.has(p));
    reduceAgreed(comm, parameters, flags, this.#bytes, (i) => flags.late(i) || !bucketOf.has(parameters[i]));
  }
}

/** Runs backward and calls `done` whenever a gradient has been written; returns how often for each. */
function backwardWithHooks(
  parameters: readonly Tensor[],
  loss: Tensor,
  done: (p: Tensor) => void,
): Map<Tensor, number> {
  const counts = new Map<Tensor, number>();
  const removals = parameters.map((p) =>
    p.registerLeafHook(() => {
      counts.set(p, (counts.get(p) ?? 0) + 1);
      done(p);
    }),
  );
  try {
    if (loss.requiresGrad) backward(loss);
  } finally {
    for (const remove of removals) remove();
  }
  return counts;
}

/** Removes the gradients of earlier passes: they are sums over all ranks already and must not be summed again. */
function detachGradients(parameters: readonly Tensor[]): Map<Tensor, EarlierGradients> {
  const before = new Map<Tensor, EarlierGradients>();
  for (const p of parameters) {
    if (p.ownGrad === null && p.sparseGrad === null) continue;
    before.set(p, { grad: p.ownGrad, sparse: p.sparseGrad });
    p.setOwnGrad(null);
    p.sparseGrad = null;
  }
  return before;
}

function addGradients(before: ReadonlyMap<Tensor, EarlierGradients>): void {
  for (const [p, { grad, sparse }] of before) {
    const added = p.ownGrad;
    const rows = p.sparseGrad;
    if (grad === null && added === null) {
      p.sparseGrad = rows === null ? sparse : (sparse as SparseRows).concat(rows);
      continue;
    }
    const total = grad ?? (added as Tensor);
    if (grad !== null && added !== null) kernels().axpy(1, added.floats, grad.floats, grad.size);
    if (grad !== null && added !== null) added.dispose();
    sparse?.addTo(total.floats);
    rows?.addTo(total.floats);
    total.storage.version++;
    p.setOwnGrad(total, true);
    p.sparseGrad = null;
  }
}

const bucketsOfModel = new WeakMap<Module, GradientBuckets>();

/**
 * Collective: `backward(loss)` with the gradients of `model` summed over all ranks, in buckets that are sent while
 * backward is running. With one rank it is `backward`.
 *
 * @example
 * model.zeroGrad();
 * distributedBackward(loss, model); // loss: this rank's sum over its examples / number of examples on all ranks
 * optimizer.step();
 */
export function distributedBackward(loss: Tensor, model: Module, options: BucketOptions = {}): void {
  checkOptionNames('distributedBackward', options, { comm: true, bucketBytes: true });
  const comm = options.comm ?? currentCommunicator();
  let buckets = bucketsOfModel.get(model);
  if (buckets === undefined || buckets.comm !== comm) {
    buckets = new GradientBuckets(model, { ...options, comm });
    bucketsOfModel.set(model, buckets);
  }
  buckets.backward(loss);
}
