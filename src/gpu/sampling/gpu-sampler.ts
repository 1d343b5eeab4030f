/**
 * Neighbour sampling on a graphics processor, with the very batches of `NeighborSampler`: same random numbers, same nodes
 * in the same order, same edges. All hops of a batch are one submission.
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
import { chooseTable } from './node-table.js';
import { readBatch, readCounts } from './read-batch.js';
import type { TableKind } from './reindex-programs.js';

export interface GPUSamplerOptions extends SourceOptions {
  /** As for `setSize`. */
  readonly sizes?: readonly number[];
  /** Draw with replacement: as many draws as the size says for every node that has neighbours. */
  readonly replace?: boolean;
  /** Leave every edge out with this probability; sizes must then be −1. */
  readonly dropout?: number;
  readonly seed?: number;
  /** How a batch finds rows of nodes. By default an entry per node of the graph if that can be bound, else a hash table. */
  readonly table?: TableKind;
  /** Bytes of the pieces that the graph is cut into. By default what the device can bind. */
  readonly pieceBytes?: number;
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
  /** The number of a device that is opened at the first sample; −1 where the device was given. */
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
      pieceBytes: true,
      reserveEdges: true,
    });
    checkDevice(name, 'device', device);
    checkOptions(name, options);
    this.#options = options;
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
    this.#replace = checkFlag(name, 'replace', options.replace, false);
    this.#drop = wordThreshold(checkNumber(name, 'dropout', options.dropout ?? 0, 0, 1));
    if (this.#drop !== 0 && (this.#replace || options.weights !== undefined))
      throw new ValueError(`${name}: expected neither weights nor replace beside dropout.`);
    this.#source = samplingSource(name, csr, options);
    count('reserveEdges', options.reserveEdges, 0);
    count('pieceBytes', options.pieceBytes, 8);
    // Whatever can be refused comes before device memory is taken.
    if (options.sizes !== undefined) this.setSize(options.sizes);
    this.#number = typeof device === 'number' ? device : -1;
    if (typeof device !== 'number') this.#opened = this.#load(device);
  }

  /** Throws a StateError before the first sample of a sampler that was given the number of a device. */
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
   * Samples the neighbourhood of the seeds and reads it back. Without `at`, each call is the next step of epoch 0, so no two
   * draw the same; with it, equal times draw the same.
   */
  async sample(seeds: Ids, at?: SampleTime): Promise<HostSample> {
    return new HostSample(await this.sampleAsync(seeds, at));
  }

  /** The same as a `Batch`, for Skein's own layers and loaders. */
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

  /** Samples and leaves the result on the device; only its sizes are read. Release it when it is no longer needed. */
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

  /** Gives the device memory back. */
  release(): void {
    this.#released = true;
    this.#opened?.graph.release();
    this.#opened?.drawer.release();
  }

  #load(device: GpuDevice): Opened {
    const { table, pieceBytes, reserveEdges } = this.#options;
    const kind = chooseTable(name, device, this.#source.numNodes, table);
    const graph = new DeviceGraph(name, device, this.#source, pieceBytes);
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

  /** Seeds and time are read at once; the batch follows. */
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
