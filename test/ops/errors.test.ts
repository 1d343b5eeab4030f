/**
 * Wrong input to operations: each gives a named error that says op, argument, expected and got.
 */

import * as ops from 'skein/tensor';
import { DTypeError, ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { gruGates } from '#internal/tensor/ops/cells.js';
import { bceWithLogitsElements, crossEntropyRows } from '#internal/tensor/ops/cross-entropy.js';
import { columnStats } from '#internal/tensor/ops/norm.js';

const f32 = (shape: number[]): ops.Tensor => ops.zeros(shape);
const f64 = (shape: number[]): ops.Tensor => ops.zeros(shape, { dtype: 'f64' });
const i32 = (shape: number[]): ops.Tensor => ops.zeros(shape, { dtype: 'i32' });

type Mistake = readonly [
  what: string,
  run: () => unknown,
  kind: typeof ShapeError | typeof DTypeError | typeof ValueError,
  message: RegExp,
];

const mistakes: readonly Mistake[] = [
  [
    'add of shapes that do not broadcast',
    () => ops.add(f32([2, 3]), f32([4])),
    ShapeError,
    /add: .*\[2, 3\] and \[4\].*3 and 4/,
  ],
  [
    'add of two dtypes',
    () => ops.add(f32([2]), f64([2])),
    DTypeError,
    /add: expected f32 \(as a\) for the dtype of b, got "f64"/,
  ],
  ['add of two numbers', () => ops.add(1, 2), ValueError, /at least one tensor/],
  [
    'add of something else',
    () => ops.add(f32([2]), 'x' as unknown as number),
    ValueError,
    /add: expected a tensor for b, got "x"/,
  ],
  [
    'add of bytes',
    () => ops.add(ops.zeros([2], { dtype: 'u8' }), 1),
    DTypeError,
    /add: expected f32, f64 or i32/,
  ],
  ['half a whole number', () => ops.add(i32([2]), 0.5), DTypeError, /whole number with an i32 tensor/],
  [
    'exp of whole numbers',
    () => ops.exp(i32([2])),
    DTypeError,
    /exp: expected f32 or f64 for the dtype of x, got "i32"/,
  ],
  [
    'matmul of shapes that do not meet',
    () => ops.matmul(f32([2, 3]), f32([4, 5])),
    ShapeError,
    /matmul: .*\[2, 3\] and \[4, 5\]/,
  ],
  [
    'matmul of a scalar',
    () => ops.matmul(f32([]), f32([2])),
    ShapeError,
    /matmul: expected at least one axis for a/,
  ],
  [
    'matmul of two dtypes',
    () => ops.matmul(f32([2, 2]), f64([2, 2])),
    DTypeError,
    /matmul: expected f32 \(as a\)/,
  ],
  [
    'matmul of batches that differ',
    () => ops.matmul(f32([2, 3, 4]), f32([3, 4, 5])),
    ShapeError,
    /matmul: .*broadcast/,
  ],
  [
    'linear with another width',
    () => ops.linear(f32([2, 3]), f32([5, 4])),
    ShapeError,
    /linear: expected a last axis of 4.* for x/,
  ],
  [
    'linear with a wrong bias',
    () => ops.linear(f32([2, 4]), f32([5, 4]), f32([4])),
    ShapeError,
    /linear: expected shape \[5\] for bias/,
  ],
  [
    'linear with a flat weight',
    () => ops.linear(f32([2, 4]), f32([4])),
    ShapeError,
    /linear: expected shape \[out, in\] for weight/,
  ],
  [
    'sum over an axis that is not there',
    () => ops.sum(f32([2, 3]), 2),
    ShapeError,
    /sum: expected an axis from -2 to 1 for axis, got 2/,
  ],
  ['sum over an axis twice', () => ops.sum(f32([2, 3]), [0, -2]), ShapeError, /each axis once/],
  ['max of nothing', () => ops.max(f32([0])), ShapeError, /max: expected at least one element/],
  ['argmax of nothing', () => ops.argmax(f32([2, 0])), ShapeError, /argmax: expected at least one element/],
  [
    'reshape to another size',
    () => ops.reshape(f32([2, 3]), [4, 2]),
    ShapeError,
    /reshape: expected a shape with 6 elements/,
  ],
  ['reshape with two unknowns', () => ops.reshape(f32([2, 3]), [-1, -1]), ShapeError, /reshape/],
  [
    'permute that forgets an axis',
    () => ops.permute(f32([2, 3]), [0, 0]),
    ShapeError,
    /each of the 2 axes once/,
  ],
  [
    'slice beyond the end',
    () => ops.slice(f32([3]), 0, 4),
    ValueError,
    /slice: expected a position from -3 to 3 for end, got 4/,
  ],
  ['concat of nothing', () => ops.concat([]), ValueError, /at least one tensor/],
  [
    'concat of shapes that differ',
    () => ops.concat([f32([2, 3]), f32([2, 4])]),
    ShapeError,
    /concat: expected shape \[2, 3\] except along axis 0/,
  ],
  [
    'concat of two dtypes',
    () => ops.concat([f32([2]), f64([2])]),
    DTypeError,
    /concat: expected f32|concat: expected "f32"/,
  ],
  ['stack of shapes that differ', () => ops.stack([f32([2]), f32([3])]), ShapeError, /concat/],
  [
    'squeeze of a size that is not 1',
    () => ops.squeeze(f32([2, 3]), 0),
    ShapeError,
    /squeeze: expected size 1/,
  ],
  ['expand of another size', () => ops.expand(f32([2]), [3]), ShapeError, /expand/],
  [
    'split into nothing',
    () => ops.split(f32([2]), 0),
    ValueError,
    /split: expected a whole number of at least 1 for size/,
  ],
  [
    'gather beyond the end',
    () => ops.gatherRows(f32([3, 2]), [0, 3]),
    ValueError,
    /gatherRows: expected ids from 0 to 2 for ids, got "3 at position 1"/,
  ],
  ['gather below the start', () => ops.gatherRows(f32([3, 2]), [-1]), ValueError, /-1 at position 0/],
  ['gather by fractions', () => ops.gatherRows(f32([3, 2]), [0.5]), ValueError, /whole numbers/],
  [
    'gather by floats',
    () => ops.gatherRows(f32([3, 2]), f32([1])),
    DTypeError,
    /gatherRows: expected i32|gatherRows: expected "i32"/,
  ],
  ['scatter with too few ids', () => ops.scatterAddRows(f32([3, 2]), [0], 2), ShapeError, /3 ids/],
  ['scatter beyond the end', () => ops.scatterAddRows(f32([1, 2]), [2], 2), ValueError, /ids from 0 to 1/],
  [
    'segments that do not cover the rows',
    () => ops.segmentReduce(f32([3, 2]), [0, 2]),
    ValueError,
    /offsets from 0 to 3/,
  ],
  [
    'segments out of order',
    () => ops.segmentReduce(f32([3, 2]), [0, 2, 1, 3]),
    ValueError,
    /ascending offsets/,
  ],
  [
    'segments by an unknown rule',
    () => ops.segmentReduce(f32([3, 2]), [0, 3], 'product' as 'sum'),
    ValueError,
    /one of sum, mean, max, min/,
  ],
  [
    'labels beyond the classes',
    () => crossEntropyRows(f32([2, 3]), [0, 3]),
    ValueError,
    /labels.*3 at position 1/,
  ],
  [
    'a row weight too few',
    () => ops.crossEntropyTotal(f32([2, 3]), [0, 1], { weights: f32([1]) }),
    ShapeError,
    /crossEntropy: expected shape \[2\] for weights/,
  ],
  [
    'row weights of another dtype',
    () => ops.crossEntropyTotal(f32([2, 3]), [0, 1], { weights: f64([2]) }),
    DTypeError,
    /crossEntropy: expected f32 \(as logits\) for the dtype of weights/,
  ],
  [
    'a factor that is not a number',
    () => ops.crossEntropyTotal(f32([2, 3]), [0, 1], { factor: Number.NaN }),
    ValueError,
    /crossEntropy: expected a finite number for factor/,
  ],
  ['too few labels', () => crossEntropyRows(f32([2, 3]), [0]), ShapeError, /2 labels/],
  [
    'logits of three axes',
    () => crossEntropyRows(f32([2, 3, 4]), [0]),
    ShapeError,
    /crossEntropy: expected 2 axes for logits/,
  ],
  [
    'targets of another shape',
    () => bceWithLogitsElements(f32([2]), f32([3])),
    ShapeError,
    /bceWithLogits: expected shape \[2\] for target/,
  ],
  [
    'dropout of more than all',
    () => ops.dropout(f32([2]), 1.5),
    ValueError,
    /dropout: expected a finite number from 0 to 1 for p, got 1.5/,
  ],
  [
    'dropout with too few ids',
    () => ops.dropout(f32([3, 2]), 0.5, { rowIds: Int32Array.of(1, 2) }),
    ShapeError,
    /dropout: expected 3 ids \(one per row of x\) for rowIds, got 2/,
  ],
  ['clamp with crossed bounds', () => ops.clamp(f32([2]), 2, 1), ValueError, /lo <= hi/],
  ['where without flags', () => ops.where(f32([2]), f32([2]), 0), DTypeError, /where: expected.*u8/],
  [
    'layerNorm with a wrong gamma',
    () => ops.layerNorm(f32([2, 3]), f32([2]), f32([3])),
    ShapeError,
    /layerNorm: expected shape \[3\] for gamma/,
  ],
  [
    'layerNorm with half an affine',
    () => ops.layerNorm(f32([2, 3]), f32([3])),
    ShapeError,
    /both or neither/,
  ],
  ['columnStats of no rows', () => columnStats(f32([0, 3])), ShapeError, /at least one row/],
  [
    'gruGates of a wrong width',
    () => gruGates(f32([2, 6]), f32([2, 9]), f32([2, 3])),
    ShapeError,
    /gruGates: expected shape \[2, 9\] for gi/,
  ],
  [
    'timeEncode with a wrong phase',
    () => ops.timeEncode(f32([2]), f32([3]), f32([2])),
    ShapeError,
    /timeEncode: expected shape \[3\] for b/,
  ],
  ['cast to an unknown dtype', () => ops.cast(f32([2]), 'f8' as 'f32'), ValueError, /cast: expected one of/],
  [
    'leakyRelu with a slope that is not finite',
    () => ops.leakyRelu(f32([2]), NaN),
    ValueError,
    /leakyRelu: expected a finite number for slope, got NaN/,
  ],
];

describe('wrong input is named', () => {
  it.each(mistakes)('%s', (_what, run, kind, message) => {
    expect(run).toThrow(kind);
    expect(run).toThrow(message);
  });
});
