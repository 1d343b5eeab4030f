/**
 * A cache of node features on the device: hot rows are stored there, cold rows are read from the table. Batches get the
 * same rows as without it.
 */

import type { FeatureGraph, ScoreOptions } from '../../../../gpu/feature/feature-scores.js';
import type { CGPUFeature, FeatureStats, WebGpuTensorDevice } from '../../../../gpu/index.js';
import type { RowReader } from '../../../../storage/index.js';
import type { Tensor } from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import { StateError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';

export interface DeviceFeaturesOptions extends ScoreOptions {
  /** Device memory for rows, such as "0.1G". */
  readonly size: string | number;
  /** The graph that is sampled, which determines the hot rows. */
  readonly graph?: FeatureGraph | null;
}

export class DeviceFeatures {
  readonly device: WebGpuTensorDevice;
  readonly #cache: CGPUFeature;

  private constructor(device: WebGpuTensorDevice, cache: CGPUFeature) {
    this.device = device;
    this.#cache = cache;
  }

  /** Chooses the hot rows and copies them to the device. */
  static async open(
    features: RowReader<Float32Array>,
    device: WebGpuTensorDevice,
    options: DeviceFeaturesOptions,
  ): Promise<DeviceFeatures> {
    checkOptionNames('DeviceFeatures.open', options, {
      fanouts: true,
      replace: true,
      seeds: true,
      batchSize: true,
      batches: true,
      seed: true,
      hotness: true,
      size: true,
      graph: true,
    });
    // A run on the cpu loads no GPU code.
    const { CGPUFeature } = await import('../../../../gpu/index.js');
    const { size, graph = null, ...scoring } = options;
    const cache = new CGPUFeature(graph, device.gpu, size, scoring);
    await cache.fromCpuTensor(features);
    return new DeviceFeatures(device, cache);
  }

  /** The fraction of the rows that are on the device. */
  get cachedRatio(): number {
    return this.#cache.cachedRatio;
  }

  get stats(): FeatureStats {
    return this.#cache.stats;
  }

  /** Returns the rows of these nodes on the device. */
  async gather(ids: Int32Array): Promise<Tensor> {
    const block = await this.#cache.get(ids);
    try {
      const { buffer, shape } = block;
      if (buffer === null) throw new StateError('DeviceFeatures: expected rows on the device.');
      return unscoped(() => this.device.tensorOf(buffer, shape));
    } finally {
      block.release();
    }
  }

  release(): void {
    this.#cache.release();
  }
}
