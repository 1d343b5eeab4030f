/**
 * Compresses rows for messages: half floats, or eight bits with a scale per row. The rounding error of a row is added
 * to the next row sent for the same operation (error feedback; Seide et al., Interspeech 2014), so that errors do not
 * accumulate over many steps.
 *
 * Rows are identified by the number of their operation since `beginStep`; without calls of it there is no feedback.
 * Both ends compute with the decoded values.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { dtypes } from '../../tensor/dtype.js';
import { Tensor } from '../../tensor/index.js';
import { sizeOf } from '../../tensor/shape.js';
import type { PackedRows } from './packed-rows.js';

export const compressions = ['none', 'f16', 'bf16', 'int8'] as const;
export type Compression = (typeof compressions)[number];

export class RowCodec {
  readonly kind: Exclude<Compression, 'none'>;
  readonly #residuals = new Map<string, FloatArray>();
  #operation = -1;

  constructor(kind: Exclude<Compression, 'none'>) {
    this.kind = kind;
  }

  /** Starts a step: errors of the previous step are added to its rows. */
  beginStep(): void {
    this.#operation = 0;
  }

  /** Returns a key for the rows of the next operation; null without feedback. */
  nextKey(): string | null {
    return this.#operation < 0 ? null : String(this.#operation++);
  }

  /** Allocates memory for the encoded form of rows with the shapes of `like`. */
  allocate(rows: number, like: readonly Tensor[]): Tensor {
    const bytes = like.reduce((sum, t) => sum + this.#bytes(rows, sizeOf(t.shape.slice(1))), 0);
    return Tensor.allocate('u8', [bytes]);
  }

  /** Encodes rows, which it may change; `key` identifies them in the next step. */
  encode(packed: PackedRows, key: string | null): Tensor {
    const { fields } = packed;
    const wire = this.allocate(fields[0].shape[0], fields);
    let at = 0;
    for (const [i, t] of fields.entries()) {
      const residual = key === null ? null : this.#residual(`${key}/${i}`, t);
      if (residual !== null) kernels().axpy(1, residual, t.floats, t.size);
      const part = wire.array.subarray(
        at,
        at + this.#bytes(t.shape[0], sizeOf(t.shape.slice(1))),
      ) as Uint8Array;
      this.#encodeField(t, part);
      if (residual !== null) {
        // v − decode(encode(v)), stored as the new residual.
        this.#decodeField(part, t.shape[0], residual, t.dtype);
        for (let k = 0; k < residual.length; k++) residual[k] = t.floats[k] - residual[k];
      }
      at += part.length;
    }
    return wire;
  }

  decode(wire: Tensor, into: PackedRows): void {
    let at = 0;
    for (const t of into.fields) {
      const bytes = this.#bytes(t.shape[0], sizeOf(t.shape.slice(1)));
      this.#decodeField(wire.array.subarray(at, at + bytes) as Uint8Array, t.shape[0], t.floats, t.dtype);
      at += bytes;
    }
  }

  /** Returns a multiple of four, so that every field is aligned. */
  #bytes(rows: number, width: number): number {
    const bytes = this.kind === 'int8' ? 4 * rows + rows * width : 2 * rows * width;
    return Math.ceil(bytes / 4) * 4;
  }

  #encodeField(t: Tensor, out: Uint8Array): void {
    if (this.kind !== 'int8') {
      kernels().cast(t.array, dtypes[t.dtype].code, halves(out, t.size), dtypes[this.kind].code, t.size);
      return;
    }
    const rows = t.shape[0];
    const width = rows === 0 ? 0 : t.size / rows;
    const scales = new Float32Array(out.buffer, out.byteOffset, rows);
    const values = new Int8Array(out.buffer, out.byteOffset + 4 * rows, t.size);
    const x = t.floats;
    for (let r = 0; r < rows; r++) {
      let most = 0;
      for (let k = r * width; k < (r + 1) * width; k++) most = Math.max(most, Math.abs(x[k]));
      scales[r] = most / 127;
      const scale = scales[r] > 0 ? 1 / scales[r] : 0;
      for (let k = r * width; k < (r + 1) * width; k++) values[k] = Math.round(x[k] * scale);
    }
  }

  #decodeField(wire: Uint8Array, rows: number, into: FloatArray, dtype: Tensor['dtype']): void {
    const n = into.length;
    if (this.kind !== 'int8') {
      kernels().cast(halves(wire, n), dtypes[this.kind].code, into, dtypes[dtype].code, n);
      return;
    }
    const width = rows === 0 ? 0 : n / rows;
    const scales = new Float32Array(wire.buffer, wire.byteOffset, rows);
    const values = new Int8Array(wire.buffer, wire.byteOffset + 4 * rows, n);
    for (let r = 0; r < rows; r++)
      for (let k = r * width; k < (r + 1) * width; k++) into[k] = values[k] * scales[r];
  }

  #residual(key: string, like: Tensor): FloatArray {
    let found = this.#residuals.get(key);
    if (found === undefined || found.length !== like.size) {
      found = like.dtype === 'f64' ? new Float64Array(like.size) : new Float32Array(like.size);
      this.#residuals.set(key, found);
    }
    return found;
  }
}

function halves(bytes: Uint8Array, n: number): Uint16Array {
  return new Uint16Array(bytes.buffer, bytes.byteOffset, n);
}
