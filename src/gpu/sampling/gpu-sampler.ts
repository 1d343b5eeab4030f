/**
 * Neighbour sampling on a GPU, with the same batches as `NeighborSampler`: same random numbers, same nodes in the same
 * order, same edges. All hops of a batch are one submission.
 *
 * @example
 * const sampler = new GPUSampler(await openGpuDevice(), graph, { seed: 1 });
 * sampler.setSize([25, 10]);
 * const { allNode, adjs, batchSize } = await sampler.sample(seeds);
 */
import { Batch } from '../../sample/batch.js';
import { checkFlag, checkOptions } from '../../sample/checks.js';
import { checkFanouts } from '../../sample/neighbor-sampler.js';
import { DrawKeys, type DrawTime, purposes, type SampleTime, wordThreshold } from '../../sample/sampler.js';
import type { SamplingGraph } from '../../sample/sampling-graph.js';
import type { Ids } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { checkDevice, gpuDevice } from '../device/numbered-device.js';
import { BatchDrawer, type DrawRules } from './batch-drawer.js';
import { type CsrLike, distinctSeeds, type SourceOptions, samplingSource } from './csr-source.js';
import { DeviceGraph } from './device-graph.js';
import { DeviceSample } from './device-sample.js';
import { HostSample } from './host-sample.js';
import type { GraphSampler } from './host-sampler.js';
import { chooseTable } from './node-hash-table.js';
import { readBatch, readCounts } from './read-batch.js';
import type { TableKind } from './reindex-programs.js';

export interface GPUSamplerOptions extends SourceOptions {
  /** As in `setSize`. */
  readonly sizes?: readonly number[];
  /** Draw with replacement: `size` draws for every node that has neighbours. */
  readonly replace?: boolean;
  /** Leave every edge out with this probability; sizes must then be −1. */
  readonly dropout?: number;
  readonly seed?: number;
  /**
   * Lookup of node rows in a batch. Default: one entry per node of the graph if that can be bound, else a hash table.
   */
  readonly table?: TableKind;
  /** Bytes per segment of the graph (default: what the device can bind). */
  readonly segmentBytes?: number;
  /** A hop of size −1 that may take more edges than this is counted before memory is reserved (default 2^22). */
  readonly reserveEdges?: number;
}

const name = 'GPUSampler';

/** The graph on its device. */
interface Opened {
  readonly device: GpuDevice;
  readonly graph: DeviceGraph;
  readonly drawer: BatchDrawer;
}

export class GPUSampler implements GraphSampler {
  readonly #source: SamplingGraph;
  readonly #options: GPUSamplerOptions;
  /** The number of a device that is opened at the first sample; −1 if a device was given. */
  readonly #number: number;
  #opened: Opened | null = null;
  #opening: Promise<Opened> | null = null;
  readonly #keys: DrawKeys;
  readonly #replace: boolean;
  readonly #drop: number;
  #fanouts: Int32Array | null = null;
  #nextStep = 0;
  #released = false;

  /**
   * @param device an open device, or the number of one (`gpuDevice`), which is opened at the first sample
   * @param csr the graph to sample; a `SamplingGraph` is for samplers that share one
   */
  constructor(device: GpuDevice | number, csr: CsrLike | SamplingGraph, options: GPUSamplerOptions = {}) {
    checkOptionNames('GPUSampler', options, {
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
    checkDevice(name, 'device', device);
    checkOptions(name, options);
    this.#options = options;
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
    this.#replace = checkFlag(name, 'replace', options.replace, false);
    this.#drop = wordThreshold(checkNumber(name, 'dropout', options.dropout ?? 0, 0, 1));
    if (this.#drop !== 0 && (this.#replace || options.weights !== undefined))
      throw new ValueError(`${name}: expected neither weights nor replace with dropout.`);
    this.#source = samplingSource(name, csr, options);
    count('reserveEdges', options.reserveEdges, 0);
    count('segmentBytes', options.segmentBytes, 8);
    // Check options before device memory is allocated.
    if (options.sizes !== undefined) this.setSize(options.sizes);
    this.#number = typeof device === 'number' ? device : -1;
    if (typeof device !== 'number') this.#opened = this.#load(device);
  }

  /** The device. Throws a StateError before the first sample if the constructor was given a number. */
  get device(): GpuDevice {
    if (this.#opened !== null) return this.#opened.device;
    throw new StateError(`${name}: device ${this.#number} is opened by the first sample. Await one first.`);
  }

  get numNodes(): number {
    return this.#source.numNodes;
  }

  get numHops(): number {
    return this.#sizes().length;
  }

  /** Neighbours per node and hop, the hop next to the seeds first; −1 = all. */
  setSize(sizes: readonly number[]): this {
    const fanouts = checkFanouts(name, sizes);
    if (this.#drop !== 0 && fanouts.some((k) => k !== -1))
      throw new ValueError(expected(name, 'sizes of -1 with dropout', 'sizes', sizes));
    this.#fanouts = fanouts;
    return this;
  }

  /**
   * Samples the neighbourhood of the seeds and reads it back. Without `at`, each call is the next step of epoch 0, so
   * draws differ between calls; with it, equal times give equal draws.
   */
  async sample(seeds: Ids, at?: SampleTime): Promise<HostSample> {
    return new HostSample(await this.sampleAsync(seeds, at));
  }

  /** Samples into a `Batch`, for Skein's layers and loaders. */
  async sampleAsync(seeds: Ids, at?: SampleTime): Promise<Batch> {
    const { rows, rules, drawn } = this.#begin(seeds, at);
    const { device, buffers } = await drawn;
    try {
      const parts = await readBatch(device, buffers, rules.fanouts.length, rows);
      return new Batch(parts, this.#source);
    } finally {
      buffers.releaseAll();
    }
  }

  /** Samples and leaves the result on the device; only its sizes are read. The caller releases it. */
  async sampleOnDevice(seeds: Ids, at?: SampleTime): Promise<DeviceSample> {
    const { rows, rules, drawn } = this.#begin(seeds, at);
    const { device, graph, buffers } = await drawn;
    try {
      const counts = await readCounts(device, buffers, rules.fanouts.length);
      return new DeviceSample(device, graph, buffers, counts, rows);
    } catch (error) {
      buffers.releaseAll();
      throw error;
    }
  }

  /** Frees the device memory. */
  release(): void {
    this.#released = true;
    this.#opened?.graph.release();
    this.#opened?.drawer.release();
  }

  #load(device: GpuDevice): Opened {
    const { table, segmentBytes, reserveEdges } = this.#options;
    const kind = chooseTable(name, device, this.#source.numNodes, table);
    const graph = new DeviceGraph(name, device, this.#source, segmentBytes);
    try {
      return { device, graph, drawer: new BatchDrawer(name, device, graph, kind, reserveEdges) };
    } catch (error) {
      graph.release();
      throw error;
    }
  }

  /** Opens the device of a number and copies the graph to it, once; after a failure the next sample tries again. */
  #open(): Promise<Opened> {
    this.#opening ??= gpuDevice(this.#number).then((device) => {
      if (this.#released) throw released();
      this.#opened = this.#load(device);
      return this.#opened;
    });
    this.#opening.catch(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** Reads seeds and time synchronously; the batch follows. */
  #begin(seeds: Ids, at: SampleTime | undefined) {
    if (this.#released) throw released();
    const given = checkIds(name, 'seeds', seeds, this.numNodes);
    const { ids, rows } = distinctSeeds(given);
    const rules = this.#rules();
    const time = this.#time(at);
    const draw = async (opened: Opened) => ({
      ...opened,
      buffers: await opened.drawer.draw(ids, rules, time),
    });
    const drawn = this.#opened === null ? this.#open().then(draw) : draw(this.#opened);
    return { rows, rules, drawn };
  }

  #time(at: SampleTime | undefined): DrawTime {
    return this.#keys.at(at ?? { step: this.#nextStep++ });
  }

  #rules(): DrawRules {
    const fanouts = this.#sizes();
    const drops = this.#drop === 0 ? null : new Uint32Array(fanouts.length).fill(this.#drop);
    return { fanouts, drops, replace: this.#replace };
  }

  #sizes(): Int32Array {
    if (this.#fanouts === null)
      throw new StateError(`${name}: expected sizes, got none. Call setSize([25, 10]) or pass \`sizes\`.`);
    return this.#fanouts;
  }
}

function released(): StateError {
  return new StateError(`${name}: expected a sampler in use, got one after release().`);
}

function count(option: string, value: number | undefined, least: number): number | undefined {
  return value === undefined ? undefined : checkInteger(name, option, value, least);
}
