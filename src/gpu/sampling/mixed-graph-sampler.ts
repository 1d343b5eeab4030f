/**
 * Sampling on CPU threads and on a device together. Each batch goes to the engine that is expected to finish it first,
 * by its predicted work and the measured speed of both. Results come in the order of the jobs and are the same as from
 * any one engine: batch i of an epoch is drawn at step i.
 *
 * An error ends the iteration at the batch it belongs to. Leaving the loop early waits for the batches in flight.
 *
 * @example
 * const sampler = new MixedGraphSampler(gpu, graph, { sizes: [25, 10], seed: 1 });
 * for await (const { index, sample } of sampler.epoch(batchesOfSeeds)) train(index, sample);
 */
import { checkOptions } from '../../sample/checks.js';
import { checkFanouts } from '../../sample/neighbor-sampler.js';
import type { Ids } from '../../tensor/index.js';
import { toInt32 } from '../../tensor/ops/common.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { type CsrLike, samplingSource } from './csr-source.js';
import { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
import type { HostSample } from './host-sample.js';
import { HostSampler } from './host-sampler.js';
import { WorkEstimate } from './work-estimate.js';

export const mixedModes = ['mixed', 'gpu', 'cpu'] as const;
export type MixedMode = (typeof mixedModes)[number];
export type Engine = 'gpu' | 'cpu';

export interface MixedGraphSamplerOptions extends GPUSamplerOptions {
  /** Neighbours per node and hop. */
  readonly sizes: readonly number[];
  /** The engines that sample (default 'mixed'). */
  readonly mode?: MixedMode;
  /** Batches that the CPU samples concurrently (default 2). */
  readonly workers?: number;
}

/** A sampled job. */
export interface MixedBatch {
  /** Index of the job. */
  readonly index: number;
  readonly seeds: Int32Array;
  /** The engine that sampled it; the sample does not depend on it. */
  readonly engine: Engine;
  readonly sample: HostSample;
}

/** Completed work of an engine, and its expected speed. */
export interface EngineLoad {
  readonly batches: number;
  /** Predicted work of these batches. */
  readonly work: number;
  /** Running average; null before the first batch. */
  readonly msPerWork: number | null;
}

const name = 'MixedGraphSampler';
/** Batches in flight on a device: one to draw, one to read. */
const deviceSlots = 2;
/** A time beyond any other: an engine that is still at its first batch gets more only after engines of known speed. */
const untried = 1e15;
/** Weight of the newest batch in the running average. */
const newest = 0.3;

class EngineQueue {
  readonly slots: number;
  readonly #sample: (seeds: Int32Array, epoch: number, step: number) => Promise<HostSample>;
  #pending = 0;
  #batches = 0;
  #work = 0;
  #msPerWork: number | null = null;

  constructor(
    slots: number,
    sample: (seeds: Int32Array, epoch: number, step: number) => Promise<HostSample>,
  ) {
    this.slots = slots;
    this.#sample = sample;
  }

  get load(): EngineLoad {
    return { batches: this.#batches, work: this.#work, msPerWork: this.#msPerWork };
  }

  /** Returns when a batch of this work would be done, in ms from now. An engine without measurements comes first. */
  finish(work: number): number {
    if (this.#msPerWork === null) return this.#pending === 0 ? 0 : untried + this.#pending / this.slots;
    return ((this.#pending + work) * this.#msPerWork) / this.slots;
  }

  async run(seeds: Int32Array, work: number, epoch: number, step: number): Promise<HostSample> {
    this.#pending += work;
    const shared = this.#pending;
    const start = performance.now();
    try {
      const sample = await this.#sample(seeds, epoch, step);
      // Batches that waited with it account for some of the time.
      const ms = ((performance.now() - start) * this.slots) / Math.max(shared, work * this.slots);
      this.#msPerWork = this.#msPerWork === null ? ms : (1 - newest) * this.#msPerWork + newest * ms;
      this.#batches++;
      this.#work += work;
      return sample;
    } finally {
      this.#pending -= work;
    }
  }
}

export class MixedGraphSampler {
  readonly mode: MixedMode;
  readonly #gpu: GPUSampler | null;
  readonly #queues: ReadonlyMap<Engine, EngineQueue>;
  readonly #estimate: WorkEstimate;

  /** @param device null if only the CPU samples */
  constructor(device: GpuDevice | null, csr: CsrLike, options: MixedGraphSamplerOptions) {
    checkOptionNames('MixedGraphSampler', options, {
      direction: true,
      weights: true,
      sizes: true,
      replace: true,
      dropout: true,
      seed: true,
      table: true,
      segmentBytes: true,
      reserveEdges: true,
      mode: true,
      workers: true,
    });
    const { mode = 'mixed', workers = 2, ...rules } = checkOptions(name, options);
    if (!mixedModes.includes(mode)) throw new ValueError(expected(name, mixedModes.join(', '), 'mode', mode));
    const slots = checkInteger(name, 'workers', workers, 1, 64);
    if (device === null && mode !== 'cpu')
      throw new ValueError(expected(name, "mode 'cpu' without a device", 'mode', mode));
    this.mode = mode;
    const fanouts = checkFanouts(name, rules.sizes);
    const queues = new Map<Engine, EngineQueue>();
    const source = samplingSource(name, csr, rules);
    this.#gpu = device === null || mode === 'cpu' ? null : new GPUSampler(device, source, rules);
    const { offsets } = source;
    this.#estimate = new WorkEstimate(offsets, fanouts);
    const gpu = this.#gpu;
    if (gpu !== null)
      queues.set('gpu', new EngineQueue(deviceSlots, (ids, epoch, step) => gpu.sample(ids, { epoch, step })));
    if (mode !== 'gpu') {
      const host = new HostSampler(csr, rules);
      queues.set('cpu', new EngineQueue(slots, (ids, epoch, step) => host.sample(ids, { epoch, step })));
    }
    this.#queues = queues;
  }

  /** The work of each engine so far. */
  get loads(): Readonly<Partial<Record<Engine, EngineLoad>>> {
    return Object.fromEntries([...this.#queues].map(([engine, queue]) => [engine, queue.load]));
  }

  /** Samples all jobs, each a list of seeds; yields results in their order. */
  async *epoch(jobs: Iterable<Ids>, epoch = 0): AsyncGenerator<MixedBatch, void, void> {
    checkInteger(name, 'epoch', epoch);
    if (typeof jobs?.[Symbol.iterator] !== 'function')
      throw new ValueError(expected(name, 'a list of lists of seeds', 'jobs', jobs));
    const source = jobs[Symbol.iterator]();
    const ahead: Promise<MixedBatch>[] = [];
    const most = [...this.#queues.values()].reduce((sum, { slots }) => sum + slots, 0);
    let next = 0;
    let done = false;
    try {
      for (;;) {
        while (!done && ahead.length < most) {
          const job = source.next();
          if (job.done === true) done = true;
          else ahead.push(this.#start(job.value, epoch, next++));
        }
        const first = ahead.shift();
        if (first === undefined) return;
        yield await first;
      }
    } finally {
      if (!done) source.return?.();
      await Promise.allSettled(ahead);
    }
  }

  /** Frees the device memory. */
  release(): void {
    this.#gpu?.release();
  }

  #start(seeds: Ids, epoch: number, index: number): Promise<MixedBatch> {
    const started = this.#route(seeds, epoch, index);
    // Its error is reported at its turn; this avoids an unhandled rejection until then.
    started.catch(() => {});
    return started;
  }

  async #route(given: Ids, epoch: number, index: number): Promise<MixedBatch> {
    const seeds = toInt32(name, 'seeds', given).slice();
    const work = this.#estimate.of(seeds);
    const [engine, queue] = this.#fastest(work);
    return { index, seeds, engine, sample: await queue.run(seeds, work, epoch, index) };
  }

  #fastest(work: number): [Engine, EngineQueue] {
    const [first, ...others] = [...this.#queues];
    let best = first;
    for (const other of others) if (other[1].finish(work) < best[1].finish(work)) best = other;
    return best;
  }
}
