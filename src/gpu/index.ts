/** GPUs: devices and their memory. */
export { GpuBuffer } from './device/gpu-buffer.js';
export { GpuDevice, type GpuStats } from './device/gpu-device.js';
export { gpuDevice } from './device/numbered-device.js';
export { adoptGpuDevice, type OpenGpuOptions, openGpuDevice } from './device/open-device.js';
export * from './feature/index.js';
export { GradientAverage, type GradientAverageOptions, gradientMemory } from './multi/gradient-average.js';
export * from './sampling/index.js';
export { enableWebGpu, WebGpuTensorDevice } from './tensor/tensor-device.js';
