/**
 * The edges of one layer in host memory, as PyTorch Geometric and GammaGL write them, ready for other learning libraries.
 *
 * Edge e leads from node `row[e]` to node `col[e]` of the batch; `size` = [sources, destinations]. `row` and `col` lie one
 * after the other in one array, so that their [2, E] form is no copy.
 */
import { TensorView } from '../../interop/index.js';

export class Adj {
  readonly row: Int32Array;
  readonly col: Int32Array;
  /** The edge of the graph behind each edge. */
  readonly eId: Int32Array;
  readonly size: readonly [number, number];
  readonly #both: Int32Array;

  constructor(row: Int32Array, col: Int32Array, eId: Int32Array, size: readonly [number, number]) {
    const both = new Int32Array(2 * row.length);
    both.set(row);
    both.set(col, row.length);
    this.#both = both;
    this.row = both.subarray(0, row.length);
    this.col = both.subarray(row.length);
    this.eId = eId;
    this.size = size;
  }

  get numEdges(): number {
    return this.row.length;
  }

  /** [2, E]: sources, then destinations. */
  get edgeIndex(): TensorView {
    return TensorView.fromTyped(this.#both, [2, this.numEdges]);
  }
}
