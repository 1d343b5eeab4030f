/**
 * Rows of several tensors in one block of memory, tensor after tensor, so that they are sent in one message and are
 * still contiguous for kernels.
 */
import { kernels } from '../../native/index.js';
import { dtypes } from '../../tensor/dtype.js';
import { type Shape, Tensor } from '../../tensor/index.js';
import { sizeOf } from '../../tensor/shape.js';
import { InternalError } from '../../util/errors.js';
import type { CommArray } from '../comm/communicator.js';

export class PackedRows {
  /** One tensor per field: [rows, …]. */
  readonly fields: readonly Tensor[];
  readonly #block: Tensor;

  constructor(block: Tensor, fields: readonly Tensor[]) {
    this.#block = block;
    this.fields = fields;
  }

  /** Allocates uninitialised rows with the row shapes of `like`, which has one dtype. */
  static allocate(rows: number, like: readonly Tensor[]): PackedRows {
    const dtype = like[0].dtype;
    const widths = like.map((t) => sizeOf(t.shape.slice(1)));
    if (like.some((t) => t.dtype !== dtype))
      throw new InternalError('PackedRows: expected tensors of one dtype, got several');
    const block = Tensor.allocate(dtype, [rows * widths.reduce((sum, width) => sum + width, 0)]);
    let at = 0;
    const fields = like.map((t, i) => {
      const shape: Shape = [rows, ...t.shape.slice(1)];
      const field = block.view(shape, undefined, at);
      at += rows * widths[i];
      return field;
    });
    return new PackedRows(block, fields);
  }

  /** Gathers rows `ids` of contiguous tensors. */
  static gather(tensors: readonly Tensor[], ids: Int32Array): PackedRows {
    const rows = PackedRows.allocate(ids.length, tensors);
    for (const [i, t] of tensors.entries()) {
      const rowBytes = sizeOf(t.shape.slice(1)) * dtypes[t.dtype].bytes;
      kernels().gatherRows(t.array, ids, rows.fields[i].array, ids.length, rowBytes);
    }
    return rows;
  }

  get array(): CommArray {
    return this.#block.array as CommArray;
  }

  dispose(): void {
    for (const field of this.fields) field.dispose();
    this.#block.dispose();
  }

  /** Releases the block; the fields keep the memory alive. */
  disposeBlock(): void {
    this.#block.dispose();
  }
}
