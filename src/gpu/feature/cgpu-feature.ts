/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A feature table whose hot rows are on a GPU and whose cold rows stay on the host: in memory, in a file, or with other
 * workers. A WebGPU program cannot read host memory, so cold rows are copied through mapped staging memory.
 *
 * The size is a budget of device memory for rows. Most of it holds the rows that are likely to be requested, the rest
 * is a dynamic cache of recent rows. The budget affects speed, never the rows returned. Without a device all rows stay
 * on the host.
 *
 * @example
 * const feature = new CGPUFeature(csr, gpu, '0.1G', { fanouts: [25, 10], seeds: trainIds });
 * await feature.fromCpuTensor(x);
 * const { allNode } = await sampler.sample(seeds);
 * const rows = await feature.get(allNode);
 * // …
 * rows.release();
 */
import { TensorView } from '../../interop/index.js';
import { Tensor } from '../../tensor/index.js';
import {
  checkInteger,
  checkNumber,
  DeviceError,
  expected,
  ShapeError,
  StateError,
  ValueError,
} from '../../util/errors.js';
import { selectHottest } from '../../util/hottest.js';
import { checkOptionNames } from '../../util/option-names.js';
import { parseSize } from '../../util/size.js';
import { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { checkDevice, gpuDevice } from '../device/numbered-device.js';
import { type ColdRows, coldRows, type FeatureArray, type FeatureSource, featureArray } from './cold-rows.js';
import { DeviceCache, distinctOf, type IdBuffer } from './device-cache.js';
import { RowLayout } from './device-rows.js';
import { FeatureBlock } from './feature-block.js';
import { checkScoring, type FeatureGraph, featureScores, type ScoreOptions } from './feature-scores.js';

export interface CGPUFeatureOptions extends ScoreOptions {
  /** Fraction of the budget for the dynamic cache (default 0.1; 1 without a graph and scores). */
  readonly dynamicShare?: number;
  /** Receives a line with the cached fraction, when it is known. */
  readonly onLog?: (line: string) => void;
  /** Bytes per segment of device memory (default: what the device can bind). */
  readonly segmentBytes?: number;
  /** Bytes of cold rows per transfer (default 32 MiB). */
  readonly stagingBytes?: number;
}

/** Nodes of a sample that was left on a device. */
export interface DeviceNodes {
  readonly nodeBuffer: GpuBuffer;
  readonly numNodes: number;
}

/** Ids on the host, or on the same device (a view of i32 or u32, or a sample). */
export type FeatureIds = Int32Array | Uint32Array | readonly number[] | Tensor | TensorView | DeviceNodes;

export interface FeatureStats {
  /** Requested rows that were found on the device, and those that were not. */
  readonly hits: number;
  readonly misses: number;
  /** misses / (hits + misses); 0 before the first. */
  readonly missRate: number;
  /** Distinct rows read on the host. */
  readonly coldRows: number;
  readonly fixedRows: number;
  /** Rows in the dynamic cache, and its capacity. */
  readonly dynamicRows: number;
  readonly dynamicCapacity: number;
}

const name = 'CGPUFeature';

export class CGPUFeature {
  readonly #device: GpuDevice | number | null;
  readonly #csr: FeatureGraph | null;
  readonly #bytes: number;
  readonly #options: CGPUFeatureOptions;
  #cold: ColdRows | null = null;
  #cache: DeviceCache | null = null;
  #hostMisses = 0;
  #log = '';

  /**
   * @param csr the graph that is sampled; null if access frequencies are unknown
   * @param device an open device, or the number of one (`gpuDevice`), which `fromCpuTensor` opens; null keeps all rows on the host
   * @param size device memory for rows, such as "0.1G" or a number of bytes
   */
  constructor(
    csr: FeatureGraph | null,
    device: GpuDevice | number | null,
    size: string | number = 0,
    options: CGPUFeatureOptions = {},
  ) {
    checkOptionNames('CGPUFeature', options, {
      fanouts: true,
      replace: true,
      seeds: true,
      batchSize: true,
      batches: true,
      seed: true,
      hotness: true,
      dynamicShare: true,
      onLog: true,
      segmentBytes: true,
      stagingBytes: true,
    });
    if (device !== null) checkDevice(name, 'device', device);
    this.#device = device;
    this.#csr = csr;
    this.#bytes = parseSize(size, name, 'size');
    this.#options = options;
  }

  /**
   * Takes ownership of the table: chooses the hot rows and copies them to the device. Cold rows are read in slot, so
   * later changes of the memory would be seen for these alone: change rows with `update`.
   */
  async fromCpuTensor(x: FeatureSource): Promise<this> {
    const cold = coldRows(x);
    checkScoring(name, this.#csr, cold.rows, this.#options);
    return this.fromColdRows(cold);
  }

  /** @internal As `fromCpuTensor`, with the fixed rows already chosen where given. */
  async fromColdRows(
    cold: ColdRows,
    chosen?: { readonly fixed: Int32Array; readonly moving: number },
  ): Promise<this> {
    this.release();
    // A number refers to a new device after its device was destroyed.
    const device = typeof this.#device === 'number' ? await gpuDevice(this.#device) : this.#device;
    let cache: DeviceCache | null = null;
    if (device !== null) {
      const { fixed, moving } = chosen ?? this.choose(cold);
      const { limits } = device;
      const bindable = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
      const segmentBytes = Math.min(
        checkInteger(name, 'segmentBytes', this.#options.segmentBytes ?? bindable, 4),
        bindable - (bindable % 4),
      );
      const stagingBytes = checkInteger(name, 'stagingBytes', this.#options.stagingBytes ?? 2 ** 25, 1);
      cache = await DeviceCache.open(device, cold, {
        ...{ fixed, moving, segmentBytes },
        stagingBytes: Math.min(stagingBytes, segmentBytes),
      });
    }
    // A concurrent call may have set another table.
    this.release();
    this.#cache = cache;
    this.#cold = cold;
    this.#log = `${Number((100 * this.cachedRatio).toFixed(2))}% data cached`;
    this.#options.onLog?.(this.#log);
    return this;
  }

  /** @internal Returns the fixed rows and the size of the dynamic cache that the budget allows. */
  choose(cold: ColdRows): { fixed: Int32Array; moving: number } {
    const { dynamicShare, onLog, segmentBytes, stagingBytes, ...scoring } = this.#options;
    checkScoring(name, this.#csr, cold.rows, scoring);
    const rows = Math.min(
      cold.rows,
      Math.floor(this.#bytes / Math.max(4, new RowLayout(cold.rowBytes).stride)),
    );
    if (rows === 0) return { fixed: new Int32Array(0), moving: 0 };
    const scores = rows === cold.rows ? new Float64Array(rows) : featureScores(this.#csr, cold.rows, scoring);
    if (scores === null) return { fixed: new Int32Array(0), moving: rows };
    const share = checkNumber(name, 'dynamicShare', dynamicShare ?? 0.1, 0, 1);
    const moving = rows === cold.rows ? 0 : Math.floor(rows * share);
    return { fixed: selectHottest(scores, rows - moving), moving };
  }

  /** Null if all rows stay on the host, and for the number of a device that is not in use. */
  get device(): GpuDevice | null {
    if (typeof this.#device !== 'number') return this.#device;
    return this.#cache?.device ?? null;
  }

  /** [rows, width] */
  get shape(): readonly [number, number] {
    const { rows, width } = this.#table();
    return [rows, width];
  }

  /** Number of axes: 2. */
  dim(): number {
    return this.shape.length;
  }

  /** Length of one axis. */
  size(axis: number): number {
    return this.shape[checkInteger(name, 'axis', axis, 0, 1)];
  }

  /** Fraction of the rows that fit in device memory, up to 1. */
  get cachedRatio(): number {
    const slots = this.#cache?.slots;
    if (slots === undefined) return 0;
    return (slots.fixed.length + slots.sieve.capacity) / Math.max(1, this.#cold?.rows ?? slots.fixed.length);
  }

  /** A line that reports the cached fraction of the data. */
  get log(): string {
    return this.#log;
  }

  /** Fixed rows on the device, ascending. */
  get hotIds(): Int32Array {
    return this.#cache?.slots.fixed ?? new Int32Array(0);
  }

  /** Rank of every row: the fixed rows on the device first, then the others, each in order of id. */
  get order(): Int32Array {
    const order = new Int32Array(this.#table().rows).fill(-1);
    let next = 0;
    for (const id of this.hotIds) order[id] = next++;
    for (let id = 0; id < order.length; id++) if (order[id] < 0) order[id] = next++;
    return order;
  }

  get stats(): FeatureStats {
    const cache = this.#cache;
    const hits = cache?.hits ?? 0;
    const misses = cache?.misses ?? this.#hostMisses;
    return {
      hits,
      misses,
      missRate: hits + misses === 0 ? 0 : misses / (hits + misses),
      coldRows: cache?.coldRows ?? this.#hostMisses,
      fixedRows: cache?.slots.fixed.length ?? 0,
      dynamicRows: cache?.slots.sieve.size ?? 0,
      dynamicCapacity: cache?.slots.sieve.capacity ?? 0,
    };
  }

  /** Returns the rows of `ids`, which may repeat, as one matrix. The caller releases it. */
  async get(ids: FeatureIds): Promise<FeatureBlock> {
    const cold = this.#table();
    const cache = this.#cache;
    const onDevice = cache === null ? null : this.#deviceIds(ids, cache);
    if (cache !== null && onDevice !== null) {
      const { length } = onDevice.ids;
      try {
        const buffer = length === 0 ? null : await cache.gatherOnDevice(onDevice.ids);
        if (buffer !== null) return new FeatureBlock(buffer, cache.device, [length, cold.width], cold.dtype);
        return await this.get(await readIds(cache.device, onDevice.ids));
      } finally {
        onDevice.done();
      }
    }
    const list = checkFeatureIds(name, ids, cold.rows);
    const shape = [list.length, cold.width] as const;
    if (cache !== null) return new FeatureBlock(await cache.gather(list), cache.device, shape, cold.dtype);
    this.#hostMisses += list.length;
    const rows = featureArray(cold.dtype, list.length * cold.width);
    await cold.read(list, new Uint8Array(rows.buffer), cold.rowBytes);
    return new FeatureBlock(rows, null, shape, cold.dtype);
  }

  /** Overwrites rows, on the host and on the device; of equal ids the last wins. */
  async update(
    ids: Int32Array | Uint32Array | readonly number[],
    rows: FeatureArray | Tensor,
  ): Promise<void> {
    const cold = this.#table();
    const list = checkFeatureIds(name, ids, cold.rows);
    // The caller may reuse the array before this update runs.
    const values = checkFeatureRows(rows, list.length, cold).slice();
    const cache = this.#cache;
    if (cache === null) return cold.write(list, values);
    const { distinct, fresh } = lastRows(list, values, cold);
    const write = async (): Promise<void> => {
      await cold.write(list, values);
      if (cold.rounds) await cold.read(distinct, fresh, new RowLayout(cold.rowBytes).stride);
    };
    await cache.update(write, distinct, fresh);
  }

  /** Copies rows that were changed on the host to the device, if they are cached there. */
  async refresh(ids: Int32Array): Promise<void> {
    const cold = this.#table();
    const { stride } = new RowLayout(cold.rowBytes);
    const { distinct } = distinctOf(checkFeatureIds(name, ids, cold.rows));
    const held = distinct.filter((id) => (this.#cache?.slots.slotOf(id) ?? -1) >= 0);
    // Also if none are cached: a row in flight must then not enter the cache.
    const rows = new Uint8Array(held.length * stride);
    await this.#cache?.update(() => cold.read(held, rows, stride), held, rows);
  }

  /** Frees the device memory; the store can take another table. */
  release(): void {
    this.#cache?.release();
    this.#cache = null;
    this.#cold = null;
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #table(): ColdRows {
    if (this.#cold === null)
      throw new StateError(`${name}: expected a table, got none. Call \`await fromCpuTensor(x)\` first.`);
    return this.#cold;
  }

  /** Returns ids that are on the device of the cache; null if they are on the host. */
  #deviceIds(ids: FeatureIds, { device }: DeviceCache): { ids: IdBuffer; done(): void } | null {
    if (ids instanceof TensorView && ids.device.type === 'webgpu') {
      if (ids.device.gpuDevice !== (device.raw as unknown)) throw otherDevice();
      if (ids.dtype !== 'i32' && ids.dtype !== 'u32')
        throw new ValueError(expected(name, 'i32 or u32', 'ids', ids.dtype));
      // A copy, because a binding must be aligned and the view may be released before the work is done.
      const buffer = device.buffer(4 * ids.size, 'ids');
      device.copyFrom(ids.data as GpuBuffer['raw'], ids.byteOffset, buffer, 0, 4 * ids.size);
      return { ids: { buffer, start: 0, length: ids.size }, done: () => buffer.release() };
    }
    const { nodeBuffer, numNodes } = (ids ?? {}) as Partial<DeviceNodes>;
    if (!(nodeBuffer instanceof GpuBuffer) || numNodes === undefined) return null;
    if (nodeBuffer.device !== device) throw otherDevice();
    checkInteger(name, 'numNodes', numNodes, 0, nodeBuffer.bytes / 4);
    return { ids: { buffer: nodeBuffer, start: 0, length: numNodes }, done: () => {} };
  }
}

function otherDevice(): DeviceError {
  const advice = 'Sample on the device of the store, or read the ids first: `await sample.toHost()`.';
  return new DeviceError(
    expected(name, 'ids on the device of this store', 'ids', 'ids on another device', advice),
    { reason: 'mixed' },
  );
}

/** @internal Returns a checked copy of ids on the host. */
export function checkFeatureIds(where: string, ids: FeatureIds, rows: number): Int32Array {
  const given = ids instanceof Tensor ? ids.dataSync() : ids;
  if (!Array.isArray(given) && !(given instanceof Int32Array) && !(given instanceof Uint32Array))
    throw new ValueError(expected(where, 'ids on the host, or on the device of the store,', 'ids', ids));
  for (let i = 0; i < given.length; i++) {
    if (!Number.isInteger(given[i]) || given[i] < 0 || given[i] >= rows)
      throw new ValueError(expected(where, `an id from 0 to ${rows - 1}`, `ids[${i}]`, given[i]));
  }
  return given instanceof Int32Array ? given.slice() : Int32Array.from(given);
}

/** @internal Checks the number and type of new rows. */
export function checkFeatureRows(rows: FeatureArray | Tensor, count: number, cold: ColdRows): FeatureArray {
  const values = (rows instanceof Tensor ? rows.dataSync() : rows) as FeatureArray;
  const kind = featureArray(cold.dtype, 0).constructor;
  if (values?.constructor === kind && values.length === count * cold.width) return values;
  const what = `${count} rows of ${cold.width} elements (${cold.dtype})`;
  throw new ShapeError(expected('update', what, 'rows', values));
}

async function readIds(device: GpuDevice, { buffer, length }: IdBuffer): Promise<Int32Array> {
  return length === 0 ? new Int32Array(0) : new Int32Array(await device.read(buffer, 4 * length));
}

/** Returns the last row of every id, laid out as on the device. */
function lastRows(ids: Int32Array, values: FeatureArray, cold: ColdRows) {
  const { stride, bytes } = new RowLayout(cold.rowBytes);
  const { distinct, index } = distinctOf(ids);
  const from = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const fresh = new Uint8Array(distinct.length * stride);
  for (let i = 0; i < ids.length; i++)
    fresh.set(from.subarray(i * bytes, (i + 1) * bytes), index[i] * stride);
  return { distinct, fresh };
}
