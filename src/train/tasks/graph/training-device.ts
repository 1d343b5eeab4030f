/**
 * The device that a run computes on, opened when the run starts and closed with it.
 *
 * `webgpu` must be there; `cuda` stands for it where a graphics processor of hardware is found, and for the cpu elsewhere. A
 * run on the cpu loads nothing of this.
 */

import type { WebGpuTensorDevice } from '../../../gpu/index.js';
import { ConfigError, DeviceError, markCollective } from '../../../util/errors.js';
import { deviceLimits } from '../../config/check-device.js';
import type { SkeinConfig } from '../../config/index.js';
import { DeviceFeatures } from './batch/device-features.js';
import type { GraphStorage } from './storage/graph-storage.js';

export interface TrainingDevice {
  readonly device: WebGpuTensorDevice;
  /** What it calls itself. */
  readonly adapter: string;
  close(): void;
}

interface Warnings {
  warn(message: string): void;
}

/** null: the cpu. */
export async function openTrainingDevice(
  config: SkeinConfig,
  workers: number,
  output: Warnings,
): Promise<TrainingDevice | null> {
  const { device_type: type } = config.storage;
  if (type === 'cpu') return null;
  const obstacle = obstacleTo(config, workers);
  if (obstacle !== null) {
    // All workers find the same.
    if (type === 'webgpu')
      throw markCollective(new ConfigError(`storage.device_type: expected cpu ${obstacle}, got webgpu.`));
    output.warn(`storage.device_type: webgpu does not run ${obstacle}, training runs on the cpu.`);
    return null;
  }
  const { adapterName, openGpuDevice } = await import('../../../gpu/device/open-device.js');
  const { WebGpuTensorDevice } = await import('../../../gpu/tensor/tensor-device.js');
  try {
    const gpu = await openGpuDevice({ allowSoftware: type === 'webgpu' });
    const adapter = adapterName(gpu.info);
    if (gpu.isSoftware)
      output.warn(
        `storage.device_type: the only adapter, ${adapter}, computes on the processor: slower than cpu.`,
      );
    const device = new WebGpuTensorDevice(gpu);
    const close = (): void => {
      device.release();
      gpu.destroy();
    };
    return { device, adapter, close };
  } catch (error) {
    if (type === 'webgpu' || !(error instanceof DeviceError)) throw error;
    output.warn(
      'storage.device_type: cuda asks for a graphics processor, and WebGPU found none: training runs on the cpu.',
    );
    return null;
  }
}

/** What keeps a run off the device that only the started run knows. */
function obstacleTo(config: SkeinConfig, workers: number): string | null {
  if (workers > 1) return `with ${workers} workers`;
  const [limit] = deviceLimits(config);
  return limit === undefined ? null : `with ${limit.key} ${limit.got}`;
}

/** The cache of node features that the configuration asks for; null without. */
export async function openDeviceFeatures(
  config: SkeinConfig,
  { device }: TrainingDevice,
  storage: GraphStorage,
): Promise<DeviceFeatures | null> {
  const { device_cache_size: size } = config.storage;
  if (size === null || storage.features === null) return null;
  await storage.residency.load();
  const rules = config.model.encoder.train_neighbor_sampling;
  const fanouts = rules.map((rule) => (rule.type === 'UNIFORM' ? rule.options.max_neighbors : -1));
  const seeds = storage.splitNodes('train');
  const { graph } = await storage.loadGraph();
  return DeviceFeatures.open(storage.features, device, {
    size,
    graph,
    ...(fanouts.length === 0 ? {} : { fanouts }),
    ...(seeds === null || seeds.length === 0 ? {} : { seeds }),
    batchSize: config.training.batch_size,
  });
}
