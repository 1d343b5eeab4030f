/** Trained rows in an array of this process. */
import { asyncKernels } from '../native/index.js';
import { fromTypedArray, type Tensor } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import { checkInteger, DTypeError, expected, ValueError } from '../util/errors.js';
import { MemoryStore } from './memory-store.js';
import { checkIds, countRows } from './row-store.js';
import {
  AllResident,
  hostGradient,
  type Residency,
  type RowGradient,
  type Tile,
  type TrainedRows,
} from './trained-rows.js';

/** Updates rows by gradients; called once per step. */
export type RowUpdate = (values: Float32Array, ids: Int32Array, gradient: Float32Array) => void;

/**
 * Trained rows in memory, updated by a function.
 *
 * @example
 * const embeddings = new MemoryEmbeddings(values, 64, (values, ids, gradient) => { … });
 */
export class MemoryEmbeddings extends MemoryStore implements TrainedRows {
  readonly optimizer = null;
  readonly device = null;
  readonly residency: Residency;
  readonly #update: RowUpdate;

  /** @param values the rows, which training changes in place. */
  constructor(values: Float32Array, width: number, update: RowUpdate) {
    super(values, { rows: rowsIn(values, width, update), width });
    this.residency = new AllResident(this.rows);
    this.#update = update;
  }

  resident(ids: Int32Array): Tensor {
    return asTensor(this.gatherSync(ids), this.width);
  }

  residentView(): Tensor {
    return asTensor(this.data(), this.width);
  }

  async residentAsync(ids: Int32Array): Promise<Tensor> {
    checkIds('MemoryEmbeddings', ids, this.rows);
    const out = new Float32Array(ids.length * this.width);
    await asyncKernels.gatherRows(this.data(), ids, out, ids.length, this.width * 4);
    return asTensor(out, this.width);
  }

  update(ids: Int32Array, gradient: RowGradient): void {
    checkIds('MemoryEmbeddings', ids, this.rows);
    this.#update(this.data(), ids, hostGradient('MemoryEmbeddings', gradient, ids.length, this.width));
  }

  async *tiles(): AsyncIterable<Tile> {
    yield { start: 0, count: this.rows, rows: this.data() };
  }
}

function rowsIn(values: unknown, width: number, update: unknown): number {
  const where = 'MemoryEmbeddings';
  if (!(values instanceof Float32Array))
    throw new DTypeError(expected(where, 'a Float32Array', 'values', values));
  if (typeof update !== 'function') throw new ValueError(expected(where, 'a function', 'update', update));
  return countRows(where, values, checkInteger(where, 'width', width, 1));
}

/** Makes a tensor [rows, width] that no scope disposes. */
export function asTensor(rows: Float32Array, width: number): Tensor {
  return unscoped(() => fromTypedArray(rows, [rows.length / width, width]));
}
