/**
 * The rows of a feature table on the host: a tensor, a typed array, or any row store (a file, another worker's memory).
 * Rows are returned as bytes with a given stride, so that they can be laid out as on the device.
 */
import { SparseMatrix } from '../../graph/index.js';
import { kernels, type TypedArray } from '../../native/index.js';
import type { RowArray, RowReader, RowStore } from '../../storage/row-store.js';
import { Tensor } from '../../tensor/index.js';
import { checkInteger, DTypeError, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';

/** Element types of features on a device. f16 is stored as Uint16Array. */
export type FeatureType = 'f32' | 'f16' | 'bf16' | 'i32' | 'u8';
export type FeatureArray = Float32Array | Uint16Array | Int32Array | Uint8Array;

/** A typed array with its shape [rows, width]. */
export interface FeatureMatrix {
  readonly data: FeatureArray;
  readonly shape: readonly [number, number];
  /** Required for f16 and bf16, which are both a Uint16Array. */
  readonly dtype?: FeatureType;
}

export type FeatureSource =
  | Tensor
  | FeatureMatrix
  | RowReader
  | RowReader<Float32Array>
  | RowReader<Int32Array>;

const kinds = {
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  i32: Int32Array,
  u8: Uint8Array,
} as const;

export function isFeatureType(value: unknown): value is FeatureType {
  return typeof value === 'string' && Object.hasOwn(kinds, value);
}

/** Returns an array of `length` elements, over the given memory or new. */
export function featureArray(dtype: FeatureType, length: number, memory?: ArrayBufferLike): FeatureArray {
  return memory === undefined ? new kinds[dtype](length) : new kinds[dtype](memory as ArrayBuffer, 0, length);
}

export interface ColdRows {
  readonly rows: number;
  readonly width: number;
  readonly dtype: FeatureType;
  readonly rowBytes: number;
  /** Writes row ids[i] to byte i · stride of `out`. Bytes between rows are unchanged or set to 0. */
  read(ids: Int32Array, out: Uint8Array, stride: number): Promise<void>;
  /** Overwrites rows; of equal ids the last wins. */
  write(ids: Int32Array, values: FeatureArray): Promise<void>;
  /** Whether written values may be rounded, so that they must be read back. */
  readonly rounds: boolean;
  /** The rows themselves if they are in memory. */
  readonly memory: FeatureArray | null;
}

const where = 'fromCpuTensor';

export function coldRows(source: FeatureSource): ColdRows {
  if (source instanceof Tensor) {
    if (source.shape.length !== 2)
      throw new ShapeError(expected(where, 'a tensor of shape [rows, width]', 'x', source.shape));
    const data = source.dataSync() as FeatureArray;
    return new MemoryRows({
      data,
      shape: [source.shape[0], source.shape[1]],
      dtype: source.dtype as FeatureType,
    });
  }
  if (typeof (source as RowReader)?.gather === 'function') return new StoreRows(source as RowReader);
  if (ArrayBuffer.isView((source as FeatureMatrix)?.data)) return new MemoryRows(source as FeatureMatrix);
  const advice = source instanceof SparseMatrix ? 'Pass its toDense().' : undefined;
  throw new ValueError(expected(where, 'a Tensor, { data, shape } or a row store', 'x', source, advice));
}

function typeOf(data: FeatureArray): FeatureType {
  if (data instanceof Float32Array) return 'f32';
  if (data instanceof Int32Array) return 'i32';
  if (data instanceof Uint8Array) return 'u8';
  const advice = 'Name the dtype of a Uint16Array: f16 or bf16.';
  throw new DTypeError(expected(where, 'Float32Array, Int32Array or Uint8Array', 'x', data, advice));
}

class MemoryRows implements ColdRows {
  readonly rows: number;
  readonly width: number;
  readonly dtype: FeatureType;
  readonly rowBytes: number;
  readonly rounds = false;
  readonly memory: FeatureArray;

  constructor({ data, shape, dtype }: FeatureMatrix) {
    this.dtype = dtype ?? typeOf(data);
    if (!Object.hasOwn(kinds, this.dtype) || !(data instanceof kinds[this.dtype]))
      throw new DTypeError(expected(where, 'f32, f16, bf16, i32 or u8 in an array of that type', 'x', data));
    if (!Array.isArray(shape) || shape.length !== 2)
      throw new ShapeError(expected(where, '[rows, width]', 'shape', shape));
    this.rows = checkInteger(where, 'shape[0]', shape[0]);
    this.width = checkInteger(where, 'shape[1]', shape[1]);
    if (data.length !== this.rows * this.width)
      throw new ShapeError(
        expected(where, `${this.rows * this.width} elements for [${shape}]`, 'x', data.length),
      );
    this.rowBytes = this.width * data.BYTES_PER_ELEMENT;
    this.memory = data;
  }

  read(ids: Int32Array, out: Uint8Array, stride: number): Promise<void> {
    kernels().gatherRowsStrided(this.memory as TypedArray, ids, out, ids.length, this.rowBytes, stride);
    return Promise.resolve();
  }

  write(ids: Int32Array, values: FeatureArray): Promise<void> {
    const { width } = this;
    for (let i = 0; i < ids.length; i++)
      this.memory.set(values.subarray(i * width, (i + 1) * width), ids[i] * width);
    return Promise.resolve();
  }
}

/** Rows of a store; half-precision stores return f32. */
class StoreRows implements ColdRows {
  readonly rows: number;
  readonly width: number;
  readonly dtype: FeatureType;
  readonly rowBytes: number;
  readonly rounds: boolean;
  readonly memory = null;
  readonly #store: RowReader;

  constructor(store: RowReader) {
    if (store.dtype === 'f64') {
      const advice = 'Devices have no f64; store the rows as f32.';
      throw new DTypeError(expected(where, 'a store of f32, f16, bf16 or i32', 'x', 'f64', advice));
    }
    this.#store = store;
    this.rows = store.rows;
    this.width = store.width;
    this.dtype = store.dtype === 'i32' ? 'i32' : 'f32';
    this.rounds = store.dtype === 'f16' || store.dtype === 'bf16';
    this.rowBytes = 4 * store.width;
  }

  /** Reads into private memory first: mapped memory may disappear with the device while the store still writes. */
  async read(ids: Int32Array, out: Uint8Array, stride: number): Promise<void> {
    const rows = await this.#store.gather(ids);
    this.#check(rows, ids.length);
    const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
    if (stride === this.rowBytes) out.set(bytes);
    else
      for (let i = 0; i < ids.length; i++)
        out.set(bytes.subarray(i * this.rowBytes, (i + 1) * this.rowBytes), i * stride);
  }

  /** Throws if rows are missing: their memory would keep its previous content. */
  #check(rows: RowArray, count: number): void {
    const kind = kinds[this.dtype];
    if (rows instanceof kind && rows.length === count * this.width) return;
    const what = `${kind.name}(${count * this.width}), ${count} rows of ${this.width},`;
    throw new ShapeError(expected('CGPUFeature', what, 'what the row store gathered', rows));
  }

  async write(ids: Int32Array, values: FeatureArray): Promise<void> {
    if (!('put' in this.#store))
      throw new StateError(
        'CGPUFeature.update: expected a store that can be written, got one that is only read.',
      );
    await (this.#store as RowStore).put(ids, values as RowArray);
  }
}
