/** Rows of tensors of any element type, outside the tape, for splitting and joining partitions. */
import { kernels } from '../../native/index.js';
import { dtypes } from '../../tensor/dtype.js';
import { Tensor } from '../../tensor/index.js';
import { formatShape, sizeOf } from '../../tensor/shape.js';
import { expected, ShapeError } from '../../util/errors.js';

/** Returns the rows of `x` in the order of `ids`, which must be valid. */
export function takeRows(x: Tensor, ids: Int32Array): Tensor {
  const y = Tensor.allocate(x.dtype, [ids.length, ...x.shape.slice(1)]);
  kernels().gatherRows(x.dataSync(), ids, y.array, ids.length, rowElements(x) * dtypes[x.dtype].bytes);
  return y;
}

/** Concatenates tensors along the first axis; `name` is used in errors. */
export function concatRows(name: string, tensors: readonly Tensor[]): Tensor {
  const [first] = tensors;
  if (tensors.length === 1) return first;
  const rest = formatShape(first.shape.slice(1));
  for (const { dtype, shape } of tensors) {
    if (dtype === first.dtype && formatShape(shape.slice(1)) === rest) continue;
    throw new ShapeError(
      expected(
        'partition',
        `${first.dtype} rows of shape ${rest} in every partition`,
        name,
        `${dtype} ${formatShape(shape)}`,
      ),
    );
  }
  const rows = tensors.reduce((sum, { shape }) => sum + shape[0], 0);
  const all = Tensor.allocate(first.dtype, [rows, ...first.shape.slice(1)]);
  let at = 0;
  for (const tensor of tensors) {
    all.array.set(tensor.dataSync(), at);
    at += tensor.size;
  }
  return all;
}

function rowElements(x: Tensor): number {
  return sizeOf(x.shape.slice(1));
}
