/** Started by failures.test.ts where WebGPU finds no adapter: prints the error of opening a device as JSON. */
import { openGpuDevice } from 'skein/gpu';
import { DeviceError } from 'skein/util';

try {
  const gpu = await openGpuDevice();
  console.log(JSON.stringify({ found: gpu.info }));
  gpu.destroy();
} catch (error) {
  if (!(error instanceof DeviceError)) throw error;
  console.log(JSON.stringify({ name: error.name, message: error.message, reason: error.details.reason }));
}
