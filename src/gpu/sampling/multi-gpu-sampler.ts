/**
 * One sampler per device over one host copy of the graph. Batches do not depend on the device: `sample(seeds, rank,
 * at)` gives the same for every rank.
 *
 * Devices of one process are given as a list, or by number: `new MultiGPUSampler(1, csr)` samples on device number
 * `rank`, 1 if no rank is given. With one worker thread per device, the main thread calls `share()` and posts the
 * result; each worker creates a sampler from it on a device of this worker. The graph is in shared memory and is not
 * copied.
 *
 * @example
 * const sampler = new MultiGPUSampler([first, second], graph, { seed: 1 }).setSize([25, 10]);
 * const { allNode, adjs } = await sampler.sample(seeds, rank);
 * // with workers:
 * worker.postMessage(sampler.share());
 * // in the worker:
 * const own = MultiGPUSampler.fromShared(message, await openGpuDevice());
 */
import { Graph } from '../../graph/index.js';
import type { Batch } from '../../sample/batch.js';
import { checkFanouts } from '../../sample/neighbor-sampler.js';
import type { SampleTime } from '../../sample/sampler.js';
import type { SampleWeights, SamplingGraph } from '../../sample/sampling-graph.js';
import { type Ids, Tensor } from '../../tensor/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { checkDevice } from '../device/numbered-device.js';
import { asGraph, type CsrLike, samplingSource } from './csr-source.js';
import type { DeviceSample } from './device-sample.js';
import { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
import type { HostSample } from './host-sample.js';

/** Everything that other threads need to create the same sampler. Arrays are in shared memory. */
export interface SharedSampler {
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  readonly edgeIds: Int32Array | null;
  /** Weights of messages by edge id. */
  readonly edgeWeight: Float32Array | null;
  /** Weights of draws by edge id. */
  readonly weights: Float32Array | readonly number[] | null;
  readonly options: Omit<GPUSamplerOptions, 'weights'>;
}

const name = 'MultiGPUSampler';

export class MultiGPUSampler {
  /** Samplers by rank. If ranks are device numbers, a sampler is created when its rank is first used. */
  readonly #samplers: GPUSampler[];
  readonly #source: SamplingGraph;
  readonly #number: number | null;
  readonly #graph: Graph;
  readonly #options: GPUSamplerOptions;
  #sizes: readonly number[] | null = null;
  /** The next step of each rank, for calls without `at`. */
  readonly #nextStep: number[] = [];

  /**
   * @param devices open devices or their numbers, one per rank; a single number is the default rank, with device
   * numbers as ranks
   */
  constructor(
    devices: GpuDevice | number | readonly (GpuDevice | number)[],
    csr: CsrLike,
    options: GPUSamplerOptions = {},
  ) {
    checkOptionNames('MultiGPUSampler', options, {
      direction: true,
      weights: true,
      sizes: true,
      replace: true,
      dropout: true,
      seed: true,
      table: true,
      segmentBytes: true,
      reserveEdges: true,
    });
    this.#number = typeof devices === 'number' ? checkDevice(name, 'devices', devices) : null;
    const list = Array.isArray(devices) ? devices : [devices];
    if (list.length === 0) throw new ValueError(expected(name, 'at least one device', 'devices', list));
    this.#graph = asGraph(name, csr);
    this.#options = options;
    this.#source = samplingSource(name, csr, options);
    this.#samplers = this.#number === null ? openAll(list, this.#source, options) : [];
    this.#sizes = options.sizes ?? null;
    if (this.#number !== null) this.#samplerOf(this.#number);
  }

  /** Creates the sampler of `share()` in another thread, on that thread's devices. */
  static fromShared(
    given: SharedSampler,
    devices: GpuDevice | number | readonly (GpuDevice | number)[],
  ): MultiGPUSampler {
    const { offsets, indices, edgeIds, edgeWeight, weights, options } = given;
    const graph = Graph.fromCsc(offsets, indices, {
      ...(edgeIds === null ? {} : { edgeIds }),
      ...(edgeWeight === null ? {} : { edgeWeight }),
      share: true,
    });
    return new MultiGPUSampler(devices, graph, weights === null ? options : { ...options, weights });
  }

  /** Number of devices that have a sampler. */
  get numDevices(): number {
    return this.#samplers.filter((sampler) => sampler !== undefined).length;
  }

  get numNodes(): number {
    return this.#graph.numNodes;
  }

  /** Neighbours per node and hop, the hop next to the seeds first; −1 = all. */
  setSize(sizes: readonly number[]): this {
    this.#sizes = [...checkFanouts(name, sizes)];
    for (const sampler of this.#samplers) sampler?.setSize(sizes);
    return this;
  }

  /**
   * Samples on device `rank`. Without `at`, each call of a rank is its next step: ranks with other seeds stay in step.
   */
  sample(seeds: Ids, rank = this.#number ?? 0, at?: SampleTime): Promise<HostSample> {
    return this.#samplerOf(rank).sample(seeds, this.#time(rank, at));
  }

  sampleAsync(seeds: Ids, rank = this.#number ?? 0, at?: SampleTime): Promise<Batch> {
    return this.#samplerOf(rank).sampleAsync(seeds, this.#time(rank, at));
  }

  sampleOnDevice(seeds: Ids, rank = this.#number ?? 0, at?: SampleTime): Promise<DeviceSample> {
    return this.#samplerOf(rank).sampleOnDevice(seeds, this.#time(rank, at));
  }

  /** Returns the graph in shared memory and the options, to be posted to workers. */
  share(): SharedSampler {
    const { adjacency, edgeWeight } = this.#graph;
    const { offsets, indices, edgeIds } = adjacency;
    const { weights, sizes: _, ...options } = this.#options;
    return {
      offsets: sharedInts(offsets),
      indices: sharedInts(indices),
      edgeIds: edgeIds === null ? null : sharedInts(edgeIds),
      edgeWeight: edgeWeight === null ? null : sharedFloats(edgeWeight),
      weights: weights === undefined ? null : sharedWeights(weights, edgeWeight),
      options: this.#sizes === null ? options : { ...options, sizes: this.#sizes },
    };
  }

  /** Frees the memory of all devices. */
  release(): void {
    for (const sampler of this.#samplers) sampler?.release();
  }

  #samplerOf(rank: number): GPUSampler {
    if (this.#number === null)
      return this.#samplers[checkInteger(name, 'rank', rank, 0, this.#samplers.length - 1)];
    checkDevice(name, 'rank', rank);
    this.#samplers[rank] ??= new GPUSampler(rank, this.#source, {
      ...this.#options,
      ...(this.#sizes === null ? {} : { sizes: this.#sizes }),
    });
    return this.#samplers[rank];
  }

  #time(rank: number, at: SampleTime | undefined): SampleTime {
    const step = this.#nextStep[rank] ?? 0;
    if (at === undefined) this.#nextStep[rank] = step + 1;
    return at ?? { step };
  }
}

/** Creates a sampler per device; if one fails, frees those before it. */
function openAll(
  devices: readonly (GpuDevice | number)[],
  source: SamplingGraph,
  options: GPUSamplerOptions,
): GPUSampler[] {
  const samplers: GPUSampler[] = [];
  try {
    for (const device of devices) samplers.push(new GPUSampler(device, source, options));
  } catch (error) {
    for (const sampler of samplers) sampler.release();
    throw error;
  }
  return samplers;
}

/** Copies floats to shared memory; other numbers are posted unchanged, because rounding them would change draws. */
function sharedWeights(
  weights: SampleWeights,
  edgeWeight: Float32Array | null,
): Float32Array | readonly number[] {
  const given = weights === 'edgeWeight' ? edgeWeight : weights;
  const values: ArrayLike<number> = given instanceof Tensor ? given.dataSync() : (given ?? []);
  return values instanceof Float32Array ? sharedFloats(values) : Array.from(values);
}

function sharedInts(array: ArrayLike<number>): Int32Array {
  if (array instanceof Int32Array && !(array.buffer instanceof ArrayBuffer)) return array;
  const copy = new Int32Array(new SharedArrayBuffer(4 * array.length));
  copy.set(array);
  return copy;
}

function sharedFloats(array: ArrayLike<number>): Float32Array {
  if (array instanceof Float32Array && !(array.buffer instanceof ArrayBuffer)) return array;
  const copy = new Float32Array(new SharedArrayBuffer(4 * array.length));
  copy.set(array);
  return copy;
}
