/**
 * Shapes and strides as in NumPy: row-major, strides in elements, broadcasting from the right.
 */
import { expected, ShapeError } from '../util/errors.js';

export type Shape = readonly number[];

/** Kernels address elements of one array with 32-bit strides. */
export const maxElements = 2 ** 31 - 1;

export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const d of shape) size *= d;
  return size;
}

export function contiguousStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

export function isContiguous(shape: Shape, strides: Shape): boolean {
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== step) return sizeOf(shape) === 0;
    step *= shape[i];
  }
  return true;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function checkShape(where: string, shape: unknown): number[] {
  if (!Array.isArray(shape)) throw new ShapeError(expected(where, 'an array of sizes', 'shape', shape));
  for (const d of shape) {
    if (!Number.isSafeInteger(d) || d < 0)
      throw new ShapeError(expected(where, 'whole sizes of at least 0', 'shape', shape));
  }
  const size = sizeOf(shape);
  if (size > maxElements) {
    throw new ShapeError(
      expected(
        where,
        `at most ${maxElements} elements in one tensor`,
        'shape',
        shape,
        'Split it into several tensors.',
      ),
      { size },
    );
  }
  // A copy, since the caller may change its array.
  return [...shape];
}

/** Returns an axis in 0 … rank−1; a negative one counts from the end. */
export function checkAxis(where: string, axis: number, rank: number): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || resolved < 0 || resolved >= rank) {
    throw new ShapeError(
      expected(where, `an axis from ${-rank} to ${rank - 1}`, 'axis', axis, `The tensor has ${rank} axes.`),
    );
  }
  return resolved;
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}

/** Returns the shape that two operands broadcast to; throws an error that names both if there is none. */
export function broadcastShapes(where: string, a: Shape, b: Shape): Shape {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    const da = a[a.length - rank + i] ?? 1;
    const db = b[b.length - rank + i] ?? 1;
    if (da !== db && da !== 1 && db !== 1) {
      throw new ShapeError(
        `${where}: expected shapes that broadcast together, got ${formatShape(a)} and ${formatShape(b)}. ` +
          `Sizes ${da} and ${db} differ and neither is 1.`,
      );
    }
    out[i] = da === 1 ? db : da;
  }
  return out;
}

/** Returns the strides of a tensor of `shape` broadcast to `target`: 0 where it repeats. */
export function broadcastStrides(shape: Shape, strides: Shape, target: Shape): number[] {
  const lead = target.length - shape.length;
  return target.map((_, i) => (i < lead || shape[i - lead] === 1 ? 0 : strides[i - lead]));
}
