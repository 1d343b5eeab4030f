/**
 * A gradient that is zero except in some rows, as produced by a row lookup. Ids may repeat until `coalesce`.
 *
 * Ids are checked before each use, because the arrays are accessible to the user and kernels trust ids. On a device the
 * rows are in its memory, which the last holder of the gradient releases with `dispose`; ids are always on the CPU.
 */
import { type FloatArray, kernels } from '../native/index.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import { type DeviceArray, onDevice, type TensorDevice } from './device.js';
import type { FloatDType } from './dtype.js';
import type { Shape } from './shape.js';

export class SparseRows {
  /** The shape of the dense gradient that this represents; `ids` index the first axis. */
  readonly shape: Shape;
  readonly ids: Int32Array;
  /** One row of `width` values per id; on a device only its kernels can read them. */
  readonly rows: FloatArray;
  readonly width: number;
  /** The device of `rows`; null is the CPU. */
  readonly device: TensorDevice | null;

  constructor(shape: Shape, ids: Int32Array, rows: FloatArray, device: TensorDevice | null = null) {
    if (!Array.isArray(shape) || shape.length === 0)
      throw new ShapeError(expected('SparseRows', 'at least one axis', 'shape', shape));
    if (!(ids instanceof Int32Array))
      throw new ValueError(expected('SparseRows', 'an Int32Array', 'ids', ids));
    if (device === null && !(rows instanceof Float32Array) && !(rows instanceof Float64Array)) {
      throw new ValueError(expected('SparseRows', 'a Float32Array or Float64Array', 'rows', rows));
    }
    this.shape = shape;
    this.ids = ids;
    this.rows = rows;
    this.device = device;
    this.width = shape.slice(1).reduce((product, d) => product * d, 1);
    if (rows.length !== ids.length * this.width) {
      throw new ShapeError(
        expected(
          'SparseRows',
          `${ids.length * this.width} values (${ids.length} rows of ${this.width})`,
          'rows',
          rows.length,
        ),
      );
    }
    this.#checkIds();
  }

  /** Makes sparse rows with a copy of the first values of `source`. @internal */
  static copyOf(shape: Shape, ids: Int32Array, source: FloatArray, device: TensorDevice | null): SparseRows {
    const width = shape.slice(1).reduce((product, d) => product * d, 1);
    const rows = allocate(device, source, ids.length * width);
    copy(device, source, rows, ids.length * width);
    return new SparseRows(shape, ids, rows, device);
  }

  get dtype(): FloatDType {
    return this.rows instanceof Float64Array ? 'f64' : 'f32';
  }

  /** Returns the same gradient with ascending, distinct ids. */
  coalesce(): SparseRows {
    this.#checkIds();
    const { device, width } = this;
    const ids = new Int32Array(this.ids.length);
    const rows = allocate(device, this.rows, this.rows.length);
    const count = onDevice(device, () =>
      kernels().coalesceRows(this.ids, this.rows, ids, rows, this.ids.length, this.shape[0], width),
    );
    return new SparseRows(this.shape, ids.subarray(0, count), rows.subarray(0, count * width), device);
  }

  /** Concatenates two gradients. */
  concat(other: SparseRows): SparseRows {
    const ids = new Int32Array(this.ids.length + other.ids.length);
    ids.set(this.ids);
    ids.set(other.ids, this.ids.length);
    const [own, theirs] = [this.rows.length, other.rows.length];
    const rows = allocate(this.device, this.rows, own + theirs);
    copy(this.device, this.rows, rows, own);
    copy(this.device, other.rows, rows.subarray(own), theirs);
    return new SparseRows(this.shape, ids, rows, this.device);
  }

  /** Adds the rows to a dense gradient. */
  addTo(dense: FloatArray): void {
    this.#checkIds();
    onDevice(this.device, () =>
      kernels().scatterAddRows(this.ids, this.rows, dense, this.ids.length, this.shape[0], this.width),
    );
  }

  /** Releases memory of a device; does nothing on the CPU. */
  dispose(): void {
    if (this.device !== null) (this.rows as unknown as DeviceArray).release();
  }

  #checkIds(): void {
    const bad = onDevice(null, () => kernels().findOutOfRange(this.ids, this.ids.length, 0, this.shape[0]));
    if (bad < 0) return;
    throw new ValueError(
      expected(
        'SparseRows',
        `ids from 0 to ${this.shape[0] - 1}`,
        'ids',
        `${this.ids[bad]} at position ${bad}`,
      ),
    );
  }
}

function allocate(device: TensorDevice | null, like: FloatArray, length: number): FloatArray {
  if (device !== null) return device.allocate('f32', length) as unknown as FloatArray;
  return like instanceof Float64Array ? new Float64Array(length) : new Float32Array(length);
}

function copy(device: TensorDevice | null, from: FloatArray, to: FloatArray, length: number): void {
  if (device === null) to.set(from.length === length ? from : from.subarray(0, length));
  else if (length > 0)
    onDevice(device, () => kernels().copyStrided(from, to, 4, Int32Array.of(1, length, 1, 1)));
}
