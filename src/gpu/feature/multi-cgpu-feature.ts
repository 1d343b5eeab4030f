/**
 * One feature table for several devices: the hot rows on each of them, the cold rows once, in memory that all threads
 * share. WebGPU has no access from one device to another, so hot rows are replicated and not partitioned.
 *
 * Devices of one thread are served by one object. With one worker per device, the thread that has the table calls
 * `share()`, passes the result to its workers, and each calls `fromShared`. An update of a row is visible to all of
 * them from their next `get`: row versions are in shared memory too, and each device copies changed rows again.
 *
 * @example
 * const features = await new MultiCGPUFeature(0, [], '0.1G', csr).fromCpuTensor(x);
 * new Worker(url, { workerData: features.share() });
 * // in the worker
 * const own = await MultiCGPUFeature.fromShared(workerData, rank, [await openGpuDevice()]);
 * const rows = await own.get(allNode);
 */
import type { Tensor } from '../../tensor/index.js';
import { checkInteger, expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { GpuDevice } from '../device/gpu-device.js';
import {
  CGPUFeature,
  type CGPUFeatureOptions,
  checkFeatureIds,
  checkFeatureRows,
  type FeatureIds,
  type FeatureStats,
} from './cgpu-feature.js';
import {
  type ColdRows,
  coldRows,
  type FeatureArray,
  type FeatureSource,
  type FeatureType,
  featureArray,
  isFeatureType,
} from './cold-rows.js';
import { distinctOf } from './device-cache.js';
import type { FeatureBlock } from './feature-block.js';
import type { FeatureGraph } from './feature-scores.js';

/** Everything that another thread needs to serve the same table. It can be posted to a worker. */
export interface SharedFeature {
  readonly memory: SharedArrayBuffer;
  readonly shape: readonly [number, number];
  readonly dtype: FeatureType;
  readonly fixed: Int32Array;
  readonly moving: number;
  /** Number of changes of each row; the last entry counts all changes. */
  readonly versions: SharedArrayBuffer;
}

export type MultiFeatureOptions = CGPUFeatureOptions;

const name = 'MultiCGPUFeature';

interface Replica {
  readonly feature: CGPUFeature;
  /** Row versions that this device has. */
  readonly seen: Int32Array;
  /** Resolves when noticed changes have reached the device. */
  ready: Promise<void>;
}

export class MultiCGPUFeature {
  readonly rank: number;
  readonly deviceList: readonly (GpuDevice | number | null)[];
  readonly #size: string | number;
  readonly #csr: FeatureGraph | null;
  readonly #options: MultiFeatureOptions;
  #cold: ColdRows | null = null;
  #shared: SharedFeature | null = null;
  #versions: Int32Array = new Int32Array(1);
  #replicas: readonly Replica[] = [];
  #log = '';

  /**
   * @param rank the default device of `get`
   * @param deviceList the devices that this thread serves, or their numbers; null is the host
   * @param size device memory for rows on each device
   */
  constructor(
    rank: number,
    deviceList: readonly (GpuDevice | number | null)[],
    size: string | number,
    csr: FeatureGraph | null,
    options: MultiFeatureOptions = {},
  ) {
    checkOptionNames('MultiCGPUFeature', options, {
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
    if (!Array.isArray(deviceList))
      throw new ValueError(expected(name, 'a list of devices', 'deviceList', deviceList));
    this.rank = checkInteger(name, 'rank', rank, 0, Math.max(0, deviceList.length - 1));
    this.deviceList = deviceList;
    this.#size = size;
    this.#csr = csr;
    this.#options = options;
  }

  /** Serves a table that another thread shares, on the devices of this thread. */
  static async fromShared(
    shared: SharedFeature,
    rank: number,
    deviceList: readonly (GpuDevice | number | null)[],
    options: Pick<MultiFeatureOptions, 'onLog' | 'segmentBytes' | 'stagingBytes'> = {},
  ): Promise<MultiCGPUFeature> {
    checkOptionNames('MultiCGPUFeature.fromShared', options, {
      onLog: true,
      segmentBytes: true,
      stagingBytes: true,
    });
    const index = deviceList.length === 1 ? 0 : rank;
    const feature = new MultiCGPUFeature(index, deviceList, 0, null, options);
    await feature.#open(shared);
    return feature;
  }

  /** Copies the table to shared memory (once, and not if it is there already) and its hot rows to every device. */
  async fromCpuTensor(x: FeatureSource): Promise<this> {
    if (typeof SharedArrayBuffer === 'undefined') {
      const advice = 'A page has it when it is cross-origin isolated (COOP and COEP headers).';
      throw new StateError(`${name}: expected SharedArrayBuffer, which is not there. ${advice}`);
    }
    const cold = coldRows(x);
    const { fixed, moving } = new CGPUFeature(this.#csr, null, this.#size, this.#options).choose(cold);
    const versions = new SharedArrayBuffer(4 * (cold.rows + 1));
    await this.#open({
      memory: await sharedMemory(cold),
      shape: [cold.rows, cold.width],
      dtype: cold.dtype,
      ...{ fixed, moving, versions },
    });
    return this;
  }

  /** Returns the table for other threads, without copying its memory. */
  share(): SharedFeature {
    if (this.#shared === null)
      throw new StateError(`${name}: expected a table, got none. Call \`await fromCpuTensor(x)\` first.`);
    return this.#shared;
  }

  /** [rows, width] */
  get shape(): readonly [number, number] {
    return this.share().shape;
  }

  dim(): number {
    return this.shape.length;
  }

  size(axis: number): number {
    return this.shape[checkInteger(name, 'axis', axis, 0, 1)];
  }

  /** Fraction of the rows that fit in the memory of each device. */
  get cachedRatio(): number {
    const { fixed, moving, shape } = this.share();
    return (fixed.length + moving) / Math.max(1, shape[0]);
  }

  get log(): string {
    return this.#log;
  }

  stats(rank = this.rank): FeatureStats {
    return this.#replica(rank).feature.stats;
  }

  /** Returns the rows of `ids` on the device of `rank`. The caller releases them. */
  async get(ids: FeatureIds, rank = this.rank): Promise<FeatureBlock> {
    const replica = this.#replica(rank);
    await this.#catchUp(replica);
    return replica.feature.get(ids);
  }

  /** Overwrites rows for all devices and all threads; of equal ids the last wins. */
  async update(
    ids: Int32Array | Uint32Array | readonly number[],
    rows: FeatureArray | Tensor,
  ): Promise<void> {
    this.share();
    const cold = this.#cold as ColdRows;
    const list = checkFeatureIds(name, ids, cold.rows);
    await cold.write(list, checkFeatureRows(rows, list.length, cold));
    for (const id of distinctOf(list).distinct) Atomics.add(this.#versions, id, 1);
    Atomics.add(this.#versions, cold.rows, 1);
  }

  /** Frees the memory of all devices. */
  release(): void {
    for (const { feature } of this.#replicas) feature.release();
    this.#replicas = [];
    this.#shared = null;
  }

  async #open(shared: SharedFeature): Promise<void> {
    this.release();
    checkShared(shared);
    const [rows, width] = shared.shape;
    const data = featureArray(shared.dtype, rows * width, shared.memory);
    this.#cold = coldRows({ data, shape: shared.shape, dtype: shared.dtype });
    this.#versions = new Int32Array(shared.versions);
    const replicas: Replica[] = [];
    const { onLog, ...options } = this.#options;
    try {
      for (const device of this.deviceList) {
        const seen = this.#versions.slice();
        const feature = new CGPUFeature(null, device, 0, options);
        replicas.push({ feature, seen, ready: Promise.resolve() });
        await feature.fromColdRows(this.#cold, { fixed: shared.fixed, moving: shared.moving });
      }
    } catch (error) {
      for (const { feature } of replicas) feature.release();
      throw error;
    }
    this.#replicas = replicas;
    this.#shared = shared;
    this.#log = `${Number((100 * this.cachedRatio).toFixed(2))}% data cached`;
    onLog?.(this.#log);
  }

  #replica(rank: number): Replica {
    this.share();
    const replica = this.#replicas[rank];
    if (replica !== undefined) return replica;
    throw new ValueError(expected(name, `a rank below ${this.#replicas.length}`, 'rank', rank));
  }

  /** Runs requests sequentially: none may continue with rows that another is still copying. */
  #catchUp(replica: Replica): Promise<void> {
    const done = replica.ready.then(() => this.#copyChanged(replica));
    replica.ready = done.catch(() => {});
    return done;
  }

  /** Copies rows to a device that have changed since its last check. */
  async #copyChanged({ feature, seen }: Replica): Promise<void> {
    const total = this.shape[0];
    const now = Atomics.load(this.#versions, total);
    if (now === seen[total]) return;
    seen[total] = now;
    const changed: number[] = [];
    for (let id = 0; id < total; id++) {
      const version = Atomics.load(this.#versions, id);
      if (version === seen[id]) continue;
      seen[id] = version;
      changed.push(id);
    }
    try {
      await feature.refresh(Int32Array.from(changed));
    } catch (error) {
      for (const id of [...changed, total]) seen[id]--;
      throw error;
    }
  }
}

/** Throws for values that do not come from `share()`: inconsistent sizes, missing rows. */
function checkShared(shared: SharedFeature): void {
  const { memory, shape, dtype, fixed, moving, versions } = shared ?? {};
  const [rows, width] = Array.isArray(shape) ? shape : [-1, -1];
  const isTable =
    isFeatureType(dtype) &&
    memory?.byteLength === rows * width * featureArray(dtype, 0).BYTES_PER_ELEMENT &&
    versions?.byteLength === 4 * (rows + 1);
  const isCache =
    fixed instanceof Int32Array && Number.isInteger(moving) && fixed.every((id) => id >= 0 && id < rows);
  if (!isTable || !isCache)
    throw new ValueError(expected(name, 'the result of share()', 'shared', shared, 'Post it as it is.'));
}

async function sharedMemory(cold: ColdRows): Promise<SharedArrayBuffer> {
  const { memory } = cold;
  const bytes = cold.rows * cold.rowBytes;
  if (memory !== null && memory.buffer instanceof SharedArrayBuffer && memory.buffer.byteLength === bytes)
    return memory.buffer;
  const shared = new SharedArrayBuffer(bytes);
  const segment = Math.max(1, Math.floor(2 ** 25 / Math.max(1, cold.rowBytes)));
  for (let first = 0; first < cold.rows; first += segment) {
    const count = Math.min(segment, cold.rows - first);
    const ids = Int32Array.from({ length: count }, (_, i) => first + i);
    await cold.read(ids, new Uint8Array(shared, first * cold.rowBytes, count * cold.rowBytes), cold.rowBytes);
  }
  return shared;
}
