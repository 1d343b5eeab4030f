/**
 * Checks of data from files: an error names the file and the index, so that a NaN or an invalid id is found where it
 * entered and not in a loss curve.
 */
import { describe, FormatError } from '../util/errors.js';
import type { CsrArrays } from './node-data.js';

function fail(where: string, what: string, name: string, index: number, got: unknown): never {
  throw new FormatError(
    `${where}: expected ${what} for ${name} ${index}, got ${typeof got === 'object' ? typeof got : describe(got)}.`,
    {
      path: where,
      index,
    },
  );
}

/** Returns the ids as an Int32Array; throws unless they are whole numbers in [0, limit). */
export function checkIds(where: string, name: string, ids: ArrayLike<number>, limit: number): Int32Array {
  const out = ids instanceof Int32Array ? ids : new Int32Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    // A pickle may hold any values, and comparing a list would convert all of it.
    if (typeof id !== 'number' || !(id >= 0 && id < limit) || id !== Math.floor(id)) {
      fail(where, `a whole number from 0 to ${limit - 1}`, name, i, id);
    }
    out[i] = id;
  }
  return out;
}

/** Returns finite numbers as a Float32Array; throws otherwise. With `width` > 0 the message has row and column. */
export function checkFloats(where: string, name: string, values: ArrayLike<number>, width = 0): Float32Array {
  const out = values instanceof Float32Array ? values : Float32Array.from(values);
  for (let i = 0; i < out.length; i++) {
    // A difference with itself is NaN for NaN and infinities only.
    if (out[i] - out[i] !== 0) {
      const element =
        width > 0 ? `${name} (row ${Math.floor(i / width)}, column ${i % width}), element` : name;
      fail(where, 'a finite number', element, i, values[i]);
    }
  }
  return out;
}

/** Returns class numbers in [0, numClasses), or −1 for a node without a label if `allowMissing`; throws otherwise. */
export function checkLabels(
  where: string,
  labels: ArrayLike<number>,
  numClasses: number,
  allowMissing = false,
): Int32Array {
  const out = new Int32Array(labels.length);
  const low = allowMissing ? -1 : 0;
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i];
    if (!(label >= low && label < numClasses) || label !== Math.floor(label)) {
      fail(where, `a class from ${low} to ${numClasses - 1}`, 'the label of node', i, label);
    }
    out[i] = label;
  }
  return out;
}

/** Returns the largest label + 1. */
export function countClasses(labels: ArrayLike<number>): number {
  let largest = -1;
  for (let i = 0; i < labels.length; i++) if (labels[i] > largest) largest = labels[i];
  return largest + 1;
}

/** Throws an error for files that do not match each other. */
export function mismatch(where: string, what: string, got: unknown): never {
  throw new FormatError(
    `${where}: expected ${what} to match the other files, got ${String(got)}. The files belong to different datasets or one is damaged.`,
    { path: where },
  );
}

/** Checks three arrays and returns them as a CSR matrix. */
export function makeCsr(
  where: string,
  shape: readonly [number, number],
  arrays: {
    readonly offsets: ArrayLike<number>;
    readonly indices: ArrayLike<number>;
    readonly values: ArrayLike<number>;
  },
): CsrArrays {
  if (!(shape[1] < 2 ** 31)) mismatch(where, 'fewer than 2^31 columns', shape[1]);
  const offsets = checkIds(where, 'row offset', arrays.offsets, arrays.indices.length + 1);
  const indices = checkIds(where, 'column of entry', arrays.indices, shape[1]);
  const values = checkFloats(where, 'entry', arrays.values);
  if (offsets.length !== shape[0] + 1 || values.length !== indices.length)
    mismatch(
      where,
      `a sparse matrix of ${shape[0]} rows`,
      `${offsets.length - 1} rows, ${values.length} values`,
    );
  for (let r = 0; r < shape[0]; r++) {
    if (offsets[r] > offsets[r + 1]) mismatch(where, `ascending row offsets at row ${r}`, offsets[r + 1]);
  }
  if (offsets[0] !== 0 || offsets[shape[0]] !== indices.length)
    mismatch(where, 'row offsets over all entries', offsets[shape[0]]);
  return { shape, offsets, indices, values };
}
