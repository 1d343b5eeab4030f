/** A tensor device for the tests of one file, destroyed after them. */
import { enableWebGpu, type GpuDevice, openGpuDevice, type WebGpuTensorDevice } from 'skein/gpu';
import { afterAll, beforeAll } from 'vitest';

export interface OpenWebGpu {
  readonly gpu: GpuDevice;
  readonly device: WebGpuTensorDevice;
}

/** Its fields are set when the first test of the file runs. */
export function useWebGpu(): OpenWebGpu {
  const open: { gpu?: GpuDevice; device?: WebGpuTensorDevice } = {};
  beforeAll(async () => {
    open.gpu = await openGpuDevice();
    open.device = await enableWebGpu(open.gpu);
  });
  afterAll(() => {
    open.device?.release();
    open.gpu?.destroy();
  });
  return open as OpenWebGpu;
}
