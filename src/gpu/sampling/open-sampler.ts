/**
 * A sampler on whatever is there: the graphics processor, or the CPU where there is none, where it only imitates one, or
 * from the moment it is lost or full. The batches are the same; a change of engine is said once.
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
  /** A device, or how to open one. By default one that is not imitated by the processor. */
  readonly gpu?: GpuDevice | OpenGpuOptions;
  /** Told why the CPU samples; by default the console is. */
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
    pieceBytes: true,
    reserveEdges: true,
    gpu: true,
    onFallback: true,
  });
  const { gpu, onFallback = (reason) => console.warn(reason), ...rules } = options;
  const say = (error: DeviceError) =>
    onFallback(`sampling goes on with the CPU, with the same results: ${error.message}`);
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
  /** Opened here, so closed here. */
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

  /** What samples at present. */
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
    // The CPU may have to sample them after the caller has put others into the array.
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

  /** Several batches may fail together; the first says so. */
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
