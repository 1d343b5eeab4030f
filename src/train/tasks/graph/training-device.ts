/**
 * The device that a run computes on, opened when the run starts and closed with it.
 *
 * `webgpu` requires a device; `cuda` means webgpu on a hardware GPU and the cpu elsewhere. A run on the cpu loads no GPU
 * code.
 */

import type { WebGpuTensorDevice } from '../../../gpu/index.js';
import { ConfigError, DeviceError, markCollective } from '../../../util/errors.js';
import { deviceLimits } from '../../config/check-device.js';
import type { SkeinConfig } from '../../config/index.js';
import { DeviceFeatures } from './batch/device-features.js';
import type { GraphStorage } from './storage/graph-storage.js';

export interface TrainingDevice {
  readonly device: WebGpuTensorDevice;
  /** The adapter's name. */
  readonly adapter: string;
  close(): void;
}

interface Warnings {
  warn(message: string): void;
}

/** Opens the configured device; null: the cpu. */
export async function openTrainingDevice(
  config: SkeinConfig,
  workers: number,
  output: Warnings,
): Promise<TrainingDevice | null> {
  const { device_type: type } = config.storage;
  if (type === 'cpu') return null;
  const obstacle = obstacleTo(config, workers);
  if (obstacle !== null) {
    // The check has the same outcome on all workers.
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
      'storage.device_type: expected a GPU for cuda, got none from WebGPU. Training runs on the cpu.',
    );
    return null;
  }
}

/** Returns the reason why a run cannot use the device, as far as the configuration alone does not show it; null: none. */
function obstacleTo(config: SkeinConfig, workers: number): string | null {
  if (workers > 1) return `with ${workers} workers`;
  const [limit] = deviceLimits(config);
  return limit === undefined ? null : `with ${limit.key} ${limit.got}`;
}

/** Opens the configured cache of node features on the device; null without one. */
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
