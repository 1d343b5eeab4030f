/** Data exchange with other machine learning libraries, which are passed in, never imported. */
export { edgeIndexView } from './edge-index.js';
export { type ArrowTableOptions, fromArrow, parseArrow, tensorsFromArrow } from './formats/arrow.js';
export { type ArrowGraphOptions, graphFromArrow } from './formats/arrow-graph.js';
export type { ArrowModule, ArrowTable } from './formats/arrow-like.js';
export { viewIds } from './formats/ids.js';
export { type ParseOptions, parseNpy, writeNpy } from './formats/npy.js';
export { type ParseNpzOptions, parseNpz, type WriteNpzOptions, writeNpz } from './formats/npz.js';
export { parseSafetensors, writeSafetensors } from './formats/safetensors.js';
export { toArrow, writeArrow } from './formats/to-arrow.js';
export { fromJax, type JaxArrayLike, type JaxLike, type ToJaxOptions, toJax } from './jax.js';
export { exportOnnx, type OnnxOptions } from './onnx/export-onnx.js';
export { type OnnxInputOptions, onnxInputs } from './onnx/onnx-inputs.js';
export { fromOrt, type OrtLike, type OrtTensorLike, type ToOrtOptions, toOrt } from './ort.js';
export type { ConvertOptions } from './peer.js';
export {
  type GpuViewOptions,
  liveViews,
  TensorView,
  type TypedViewOptions,
  type ViewDevice,
} from './tensor-view.js';
export {
  copyToTfjs,
  fromTfjs,
  type TfjsLike,
  type TfjsTensorLike,
  type ToTfjsOptions,
  toTfjs,
} from './tfjs.js';
export type { ViewDType } from './view-dtype.js';
