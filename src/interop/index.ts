/** Hand-over to and from other learning libraries, which are passed in, never imported. */
export { edgeIndexView } from './edge-index.js';
export type {
  GpuBufferDescriptorLike,
  GpuBufferLike,
  GpuCommandEncoderLike,
  GpuDeviceLike,
} from './gpu-like.js';
export { fromJax, type JaxArrayLike, type JaxLike, type ToJaxOptions, toJax } from './jax.js';
export { exportOnnx, type OnnxOptions } from './onnx/export-onnx.js';
export { fromOrt, type OrtLike, type OrtTensorLike, type ToOrtOptions, toOrt } from './ort.js';
export type { ConvertOptions } from './peer.js';
export {
  type GpuViewOptions,
  liveViews,
  TensorView,
  type TypedViewOptions,
  type ViewDevice,
} from './tensor-view.js';
export { copyToTfjs, fromTfjs, type TfjsLike, type TfjsTensorLike, toTfjs } from './tfjs.js';
export type { ViewArray, ViewDType } from './view-dtype.js';
