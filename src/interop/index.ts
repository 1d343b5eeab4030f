/** Hand-over to and from other learning libraries, which are passed in, never imported. */
export type {
  GpuBufferDescriptorLike,
  GpuBufferLike,
  GpuCommandEncoderLike,
  GpuDeviceLike,
} from './gpu-like.js';
export { exportOnnx, type OnnxOptions } from './onnx/export-onnx.js';
export {
  type GpuViewOptions,
  liveViews,
  TensorView,
  type TypedViewOptions,
  type ViewDevice,
} from './tensor-view.js';
export type { ViewArray, ViewDType } from './view-dtype.js';
