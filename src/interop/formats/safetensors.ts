/**
 * Conversion between safetensors bytes and tensor views by name. The format has all element types of views. Reading shares
 * the memory of the bytes if alignment allows.
 */
import { joinSafetensors, type SafetensorsMetadata, splitSafetensors } from '../../tensor/safetensors.js';
import { expected, ValueError } from '../../util/errors.js';
import { TensorView } from '../tensor-view.js';
import { type ViewDType, viewDTypes } from '../view-dtype.js';

const tags: Readonly<Record<ViewDType, string>> = {
  f32: 'F32',
  f64: 'F64',
  f16: 'F16',
  bf16: 'BF16',
  i32: 'I32',
  u32: 'U32',
  i64: 'I64',
  u8: 'U8',
  bool: 'BOOL',
};
const dtypesByTag = new Map(Object.entries(tags).map(([dtype, tag]) => [tag, dtype as ViewDType]));

export interface SafetensorsViews {
  readonly views: Record<string, TensorView>;
  readonly metadata: SafetensorsMetadata;
}

/** Reads the tensors of a file; do not change the bytes while the views are used. */
export function parseSafetensors(bytes: Uint8Array): SafetensorsViews {
  const { named, metadata } = splitSafetensors('parseSafetensors', bytes);
  const views = named.map(({ name, tag, shape, bytes: own }) => {
    const dtype = dtypesByTag.get(tag) as ViewDType;
    const { array, bytes: width } = viewDTypes[dtype];
    const aligned = own.byteOffset % width === 0 ? own : own.slice();
    const data = new array(aligned.buffer, aligned.byteOffset, aligned.length / width);
    return [name, TensorView.fromTyped(data, shape, { dtype })] as const;
  });
  return { views: Object.fromEntries(views), metadata };
}

/** Returns the bytes of a file with the elements of these views on the CPU. */
export function writeSafetensors(
  views: Readonly<Record<string, TensorView>>,
  metadata: SafetensorsMetadata = {},
): Uint8Array {
  const where = 'writeSafetensors';
  const named = Object.entries(views).map(([name, view]) => {
    if (!(view instanceof TensorView)) throw new ValueError(expected(where, 'a TensorView', name, view));
    const data = view.toTyped();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return { name, tag: tags[view.dtype], shape: view.shape, bytes };
  });
  return joinSafetensors(where, named, metadata);
}
