/** Feature matrices of an event file: .npy, .npz with one array, or PyTorch's .pt with one tensor. */
import { existsSync } from 'node:fs';
import { FormatError } from '../../util/errors.js';
import { mismatch } from '../check.js';
import { readNpy } from '../formats/npy.js';
import { readNpz } from '../formats/npz.js';
import { readTorch } from '../formats/torch-file.js';

/** A matrix in C order. */
export interface FeatureMatrix {
  readonly path: string;
  readonly rows: number;
  readonly width: number;
  readonly values: Float32Array;
}

/** Reads the first of `<stem>.npy`, `<stem>.npz` and `<stem>.pt` that exists; returns null if there is none. */
export async function findFeatures(stem: string): Promise<FeatureMatrix | null> {
  if (existsSync(`${stem}.npy`)) {
    const { shape, data, dtype } = await readNpy(`${stem}.npy`);
    return toMatrix(`${stem}.npy`, shape, data, dtype);
  }
  if (existsSync(`${stem}.npz`)) {
    const file = await readNpz(`${stem}.npz`);
    if (file.names.length !== 1) mismatch(file.path, 'one array', file.names.join(', ') || 'none');
    const { shape, data, dtype } = file.get(file.names[0]);
    return toMatrix(`${stem}.npz`, shape, data, dtype);
  }
  if (existsSync(`${stem}.pt`)) {
    const { shape, data, dtype } = await readTorch(`${stem}.pt`);
    return toMatrix(`${stem}.pt`, shape, data, dtype);
  }
  return null;
}

function toMatrix(
  path: string,
  shape: readonly number[],
  data: ArrayLike<number | string>,
  dtype: string,
): FeatureMatrix {
  if (shape.length !== 2 || typeof data[0] === 'string')
    mismatch(path, 'a matrix of numbers', `${dtype} of shape [${shape.join(', ')}]`);
  const [rows, width] = shape;
  const values = data instanceof Float32Array ? data : new Float32Array(data as ArrayLike<number>);
  for (let i = 0; i < values.length; i++) {
    // A difference with itself is NaN for NaN and infinities only.
    if (values[i] - values[i] !== 0) {
      const position = `row ${Math.floor(i / width)}, column ${i % width}`;
      throw new FormatError(`${path}: expected a finite number for ${position}, got ${data[i]}.`, {
        path,
        index: i,
      });
    }
  }
  return { path, rows, width, values };
}

/** Returns rows of a matrix by number. */
export function pickRows({ path, rows, width, values }: FeatureMatrix, wanted: Int32Array): Float32Array {
  const out = new Float32Array(wanted.length * width);
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] >= rows) mismatch(path, `a row for event id ${wanted[i]}`, `${rows} rows`);
    out.set(values.subarray(wanted[i] * width, (wanted[i] + 1) * width), i * width);
  }
  return out;
}
