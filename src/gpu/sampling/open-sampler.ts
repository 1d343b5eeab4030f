/**
 * A sampler on the available engine: the GPU, or the CPU if there is none, if it is a software adapter, or once it is
 * lost or out of memory. The batches are the same; a change of engine is reported once.
 *
 * @example
 * const sampler = await openSampler(graph, { sizes: [25, 10], seed: 1 });
 * const { allNode, adjs } = await sampler.sample(seeds);
 */
import type { Batch } from '../../sample/batch.js';
import type { SampleTime } from '../../sample/sampler.js';
import type { Ids } from '../../tensor/index.js';
import { toInt32 } from '../../tensor/ops/common.js';
import { DeviceError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GpuDevice } from '../device/gpu-device.js';
import { type OpenGpuOptions, openGpuDevice } from '../device/open-device.js';
import type { CsrLike } from './csr-source.js';
import { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
import { HostSample } from './host-sample.js';
import { type GraphSampler, HostSampler } from './host-sampler.js';

export interface OpenSamplerOptions extends GPUSamplerOptions {
  /** A device, or options to open one. By default software adapters are not used. */
  readonly gpu?: GpuDevice | OpenGpuOptions;
  /** Receives the reason why the CPU samples (default: a console warning). */
  readonly onFallback?: (reason: string) => void;
}

export async function openSampler(csr: CsrLike, options: OpenSamplerOptions = {}): Promise<AdaptiveSampler> {
  checkOptionNames('openSampler', options, {
    direction: true,
    weights: true,
    sizes: true,
    replace: true,
    dropout: true,
    seed: true,
    table: true,
    segmentBytes: true,
    reserveEdges: true,
    gpu: true,
    onFallback: true,
  });
  const { gpu, onFallback = (reason) => console.warn(reason), ...rules } = options;
  const say = (error: DeviceError) =>
    onFallback(`sampling continues on the CPU, with the same results: ${error.message}`);
  let device: GpuDevice | null = null;
  try {
    device = gpu instanceof GpuDevice ? gpu : await openGpuDevice({ allowSoftware: false, ...gpu });
    const sampler = new GPUSampler(device, csr, rules);
    return new AdaptiveSampler(csr, rules, sampler, device === gpu ? null : device, say);
  } catch (error) {
    if (device !== gpu) device?.destroy();
    if (!(error instanceof DeviceError)) throw error;
    say(error);
    return new AdaptiveSampler(csr, rules, null, null, say);
  }
}

export class AdaptiveSampler implements GraphSampler {
  readonly #csr: CsrLike;
  readonly #rules: GPUSamplerOptions;
  readonly #say: (error: DeviceError) => void;
  /** A device that was opened here and is closed here. */
  readonly #ownDevice: GpuDevice | null;
  #gpu: GPUSampler | null;
  #host: HostSampler | null = null;
  #sizes: readonly number[] | undefined;
  #nextStep = 0;

  /** @internal Use `openSampler`. */
  constructor(
    csr: CsrLike,
    rules: GPUSamplerOptions,
    gpu: GPUSampler | null,
    ownDevice: GpuDevice | null,
    say: (error: DeviceError) => void,
  ) {
    this.#csr = csr;
    this.#rules = rules;
    this.#gpu = gpu;
    this.#ownDevice = ownDevice;
    this.#say = say;
    this.#sizes = rules.sizes;
    if (gpu === null) this.#cpu();
  }

  /** The engine in use. */
  get engine(): 'webgpu' | 'cpu' {
    return this.#gpu === null ? 'cpu' : 'webgpu';
  }

  get numNodes(): number {
    return (this.#gpu ?? this.#cpu()).numNodes;
  }

  setSize(sizes: readonly number[]): this {
    (this.#gpu ?? this.#cpu()).setSize(sizes);
    this.#sizes = sizes;
    return this;
  }

  async sample(seeds: Ids, at?: SampleTime): Promise<HostSample> {
    return new HostSample(await this.sampleAsync(seeds, at));
  }

  async sampleAsync(seeds: Ids, at?: SampleTime): Promise<Batch> {
    const time = at ?? { step: this.#nextStep++ };
    const gpu = this.#gpu;
    if (gpu === null) return this.#cpu().sampleAsync(seeds, time);
    // A copy: the CPU may sample them after the caller has reused the array.
    const ids = toInt32('openSampler', 'seeds', seeds).slice();
    try {
      return await gpu.sampleAsync(ids, time);
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      this.#leaveDevice(gpu, error);
      return this.#cpu().sampleAsync(ids, time);
    }
  }

  release(): void {
    this.#gpu?.release();
    this.#ownDevice?.destroy();
    this.#gpu = null;
  }

  /** Switches to the CPU. Several batches may fail together; the first reports it. */
  #leaveDevice(gpu: GPUSampler, error: DeviceError): void {
    if (this.#gpu === null) return;
    this.#gpu = null;
    gpu.release();
    this.#ownDevice?.destroy();
    this.#say(error);
  }

  #cpu(): HostSampler {
    if (this.#host === null) this.#host = new HostSampler(this.#csr, { ...this.#rules });
    if (this.#sizes !== undefined && this.#hostSizes !== this.#sizes) {
      this.#host.setSize(this.#sizes);
      this.#hostSizes = this.#sizes;
    }
    return this.#host;
  }

  #hostSizes: readonly number[] | undefined;
}
