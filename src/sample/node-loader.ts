/**
 * Batches of an epoch in order, prepared ahead of time on the addon's threads.
 *
 * Batch i of an epoch depends only on (seed, epoch, i), so order and content are the same for any `prefetch`. An error
 * ends the iteration at the batch it belongs to. Leaving the loop early waits for the batches in flight, so nothing is
 * left running.
 *
 * @example
 * const loader = new NodeLoader(sampler, { seeds: trainIds, batchSize: 1024, features: x, labels: y, seed: 1 });
 * for await (const batch of loader.epoch(3)) {
 *   const loss = crossEntropy(model.forward(batch.blocks, batch.x), batch.labels);
 * }
 */
import { type Block, SparseMatrix } from '../graph/index.js';
import { asyncKernels, kernels, unshared } from '../native/index.js';
import { type Ids, Tensor } from '../tensor/index.js';
import { toInt32 } from '../tensor/ops/common.js';
import { unscoped } from '../tensor/scope.js';
import { checkInteger, expected, ShapeError, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Batch } from './batch.js';
import { checkFlag, checkOptions } from './checks.js';
import { DrawKeys, purposes, type Sampler } from './sampler.js';

/** Rows by node id: a dense matrix, a sparse one, or a function that reads them from elsewhere. */
export type FeatureSource =
  | Tensor
  | SparseMatrix
  | ((nodeIds: Int32Array) => Tensor | SparseMatrix | Promise<Tensor | SparseMatrix>);

/** The method of a sampler that a loader uses; independent of the device. */
export type BatchSampler = Pick<Sampler<Ids, Batch>, 'sampleAsync'>;

export interface NodeLoaderOptions {
  /** The seed nodes of an epoch. */
  readonly seeds: Ids;
  readonly batchSize: number;
  /** [N, F]; its rows for the nodes of a batch become `x`. */
  readonly features?: FeatureSource;
  /** One class per node of the graph. */
  readonly labels?: Ids;
  /** Use a different order in every epoch (default), or the given order. */
  readonly shuffle?: boolean;
  /** Omit a last batch with fewer seeds. */
  readonly dropLast?: boolean;
  /** Number of batches prepared ahead while one is in use. */
  readonly prefetch?: number;
  /**
   * Dispose `x` when the next batch is requested, so that its memory can be reused (default). Results of a feature
   * function are not disposed.
   */
  readonly reuse?: boolean;
  readonly seed?: number;
}

export class LoadedBatch<X extends Tensor | SparseMatrix = Tensor> {
  /** Index of the batch within its epoch. */
  readonly step: number;
  readonly seeds: Int32Array;
  readonly batch: Batch;
  readonly #labels: Int32Array | null;
  readonly #x: X | null;

  /** @internal */
  constructor(step: number, seeds: Int32Array, batch: Batch, x: X | null, labels: Int32Array | null) {
    this.step = step;
    this.seeds = seeds;
    this.batch = batch;
    this.#x = x;
    this.#labels = labels;
  }

  get nodeIds(): Int32Array {
    return this.batch.nodeIds;
  }

  get blocks(): readonly Block[] {
    return this.batch.blocks;
  }

  /** The row of each given seed; equal seeds share a row. */
  get seedRows(): Int32Array {
    return this.batch.seedRows;
  }

  /** Labels of the rows that the last block computes. */
  get labels(): Int32Array {
    if (this.#labels === null)
      throw new StateError('NodeLoader: expected labels, got a loader without them. Pass { labels }.');
    return this.#labels;
  }

  /**
   * Features of all nodes of the batch; disposed when the next batch is requested, unless `reuse` is false or a
   * function returned them.
   */
  get x(): X {
    if (this.#x === null)
      throw new StateError(
        'NodeLoader: expected features for x, got a loader without them. Pass { features }.',
      );
    return this.#x;
  }

  /** Releases the memory of x. @internal */
  recycle(): void {
    if (this.#x instanceof Tensor) this.#x.dispose();
  }
}

const name = 'NodeLoader';

/** The type of x in a batch. */
type Rows<F> = F extends SparseMatrix
  ? SparseMatrix
  : F extends (nodeIds: Int32Array) => infer R
    ? Extract<Awaited<R>, Tensor | SparseMatrix>
    : Tensor;

export class NodeLoader<F extends FeatureSource = Tensor> {
  readonly #sampler: BatchSampler;
  readonly #seeds: Int32Array;
  readonly #features: FeatureSource | null;
  readonly #labels: Int32Array | null;
  readonly #batchSize: number;
  readonly #prefetch: number;
  readonly #shuffle: boolean;
  readonly #reuse: boolean;
  /** Whether x is created here; the result of a feature function may be in use elsewhere. */
  readonly #ownsRows: boolean;
  readonly #order: DrawKeys;
  /** Number of batches per epoch. */
  readonly length: number;

  constructor(sampler: BatchSampler, options: NodeLoaderOptions & { readonly features?: F }) {
    checkOptionNames('NodeLoader', options, {
      seeds: true,
      batchSize: true,
      features: true,
      labels: true,
      shuffle: true,
      dropLast: true,
      prefetch: true,
      reuse: true,
      seed: true,
    });
    if (typeof sampler?.sampleAsync !== 'function')
      throw new ValueError(expected(name, 'a sampler (with sampleAsync)', 'sampler', sampler));
    checkOptions(name, options);
    this.#sampler = sampler;
    this.#seeds = toInt32(name, 'seeds', options.seeds).slice();
    this.#batchSize = checkInteger(name, 'batchSize', options.batchSize, 1);
    this.#prefetch = checkInteger(name, 'prefetch', options.prefetch ?? 2, 0, 64);
    this.#features = options.features === undefined ? null : checkFeatures(options.features);
    this.#labels = options.labels === undefined ? null : toInt32(name, 'labels', options.labels);
    this.#shuffle = checkFlag(name, 'shuffle', options.shuffle, true);
    this.#reuse = checkFlag(name, 'reuse', options.reuse, true);
    this.#ownsRows = typeof options.features !== 'function';
    this.#order = new DrawKeys(name, options.seed ?? 0, purposes.order);
    const batches = this.#seeds.length / this.#batchSize;
    this.length = checkFlag(name, 'dropLast', options.dropLast, false)
      ? Math.floor(batches)
      : Math.ceil(batches);
  }

  /** Returns the batches of epoch `epoch`, in order. */
  async *epoch(epoch: number): AsyncGenerator<LoadedBatch<Rows<F>>, void, void> {
    checkInteger(name, 'epoch', epoch);
    const seeds = this.#shuffled(epoch);
    const ahead: Promise<LoadedBatch<Rows<F>>>[] = [];
    let next = 0;
    const fill = (count: number): void => {
      while (next < this.length && ahead.length < count) {
        const started = this.#load(epoch, next++, seeds);
        // Its error is thrown when the batch is due; until then it must not be reported as unhandled.
        started.catch(() => {});
        ahead.push(started);
      }
    };
    try {
      for (let step = 0; step < this.length; step++) {
        fill(Math.max(1, this.#prefetch));
        const batch = await (ahead.shift() as Promise<LoadedBatch<Rows<F>>>);
        fill(this.#prefetch);
        // Batches in flight advance between their stages only here: the caller may not await anything else.
        await nextTurn();
        yield batch;
        if (this.#reuse && this.#ownsRows) batch.recycle();
      }
    } finally {
      const left = await Promise.allSettled(ahead);
      if (this.#ownsRows) for (const end of left) if (end.status === 'fulfilled') end.value.recycle();
    }
  }

  #shuffled(epoch: number): Int32Array {
    if (!this.#shuffle) return this.#seeds;
    const n = this.#seeds.length;
    const order = new Int32Array(n);
    const seeds = new Int32Array(n);
    kernels().randomPermutation(order, n, this.#order.at({ epoch, step: 0 }).key);
    kernels().gatherRows(this.#seeds, order, seeds, n, 4);
    return seeds;
  }

  async #load(epoch: number, step: number, seeds: Int32Array): Promise<LoadedBatch<Rows<F>>> {
    const own = seeds.slice(step * this.#batchSize, (step + 1) * this.#batchSize);
    const batch = await this.#sampler.sampleAsync(own, { epoch, step });
    const x = this.#features === null ? null : await gather(this.#features, batch.nodeIds);
    const labels = this.#labels === null ? null : labelsOf(this.#labels, batch);
    return new LoadedBatch(step, own, batch, x as Rows<F> | null, labels);
  }
}

/** Lets the event loop deliver the results of other threads. */
function nextTurn(): Promise<void> {
  const later = globalThis.setImmediate ?? ((resume: () => void) => setTimeout(resume, 0));
  return new Promise((resolve) => {
    later(resolve);
  });
}

function checkFeatures(features: FeatureSource): FeatureSource {
  if (typeof features === 'function' || features instanceof SparseMatrix) return features;
  if (!(features instanceof Tensor))
    throw new ValueError(expected(name, 'a tensor, a SparseMatrix or a function', 'features', features));
  if (features.rank !== 2) {
    throw new ShapeError(
      expected(name, 'a matrix [N, F]', 'features', `shape [${features.shape.join(', ')}]`),
    );
  }
  return features.isContiguous ? features : features.clone();
}

/** Checks the result of a feature function: one row per node. */
function checkResult(x: Tensor | SparseMatrix, rows: number): Tensor | SparseMatrix {
  const what = 'the result of the function features';
  if (!(x instanceof Tensor || x instanceof SparseMatrix))
    throw new ValueError(expected(name, 'a tensor or a SparseMatrix', what, x));
  if (x instanceof Tensor && x.isDisposed)
    throw new StateError(expected(name, 'a tensor in use', what, 'a disposed tensor'));
  if (x.shape.length < 2 || x.shape[0] !== rows) {
    const advice = 'Return one row for every requested node.';
    throw new ShapeError(expected(name, `${rows} rows`, what, `shape [${x.shape.join(', ')}]`, advice));
  }
  return x;
}

async function gather(features: FeatureSource, ids: Int32Array): Promise<Tensor | SparseMatrix> {
  if (typeof features === 'function') return checkResult(await features(ids), ids.length);
  const rows = features.shape[0];
  const bad = kernels().findOutOfRange(ids, ids.length, 0, rows);
  if (bad >= 0) {
    const advice = 'Pass one row for every node of the graph.';
    throw new ShapeError(expected(name, `a row for node ${ids[bad]}`, 'features', `${rows} rows`, advice));
  }
  if (features instanceof SparseMatrix) return features.gatherRows(ids);
  const width = features.shape[1];
  const x = unscoped(() => Tensor.allocate(features.dtype, [ids.length, width]));
  const from = features.dataSync();
  await asyncKernels.gatherRows(
    from,
    ids,
    unshared(x.dataSync()),
    ids.length,
    width * from.BYTES_PER_ELEMENT,
  );
  return x;
}

function labelsOf(labels: Int32Array, batch: Batch): Int32Array {
  const rows = batch.nodeIds.subarray(0, batch.numSeeds);
  const bad = rows.findIndex((id) => id >= labels.length);
  if (bad >= 0)
    throw new ShapeError(
      expected(name, `a label for node ${rows[bad]}`, 'labels', `${labels.length} labels`),
    );
  return Int32Array.from(rows, (id) => labels[id]);
}
