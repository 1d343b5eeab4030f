/**
 * The edges of one layer in host memory, as PyTorch Geometric and GammaGL write them, ready for other learning
 * libraries.
 *
 * Edge e leads from node `row[e]` to node `col[e]` of the batch. Both are contiguous in one array, so that their [2, E]
 * form needs no copy.
 *
 * @example
 * const { edgeIndex, size } = adj.toTfjs(tf);
 */
import { TensorView } from '../../interop/index.js';
import { type AdjViews, ConvertibleAdj } from './convertible-adj.js';

export class Adj extends ConvertibleAdj {
  /** Source row of each edge. */
  readonly row: Int32Array;
  /** Destination row of each edge. */
  readonly col: Int32Array;
  /** Edge id in the graph of each edge. */
  readonly eId: Int32Array;
  override readonly size: readonly [number, number];
  readonly #views: AdjViews;

  constructor(row: Int32Array, col: Int32Array, eId: Int32Array, size: readonly [number, number]) {
    super();
    const both = new Int32Array(2 * row.length);
    both.set(row);
    both.set(col, row.length);
    this.row = both.subarray(0, row.length);
    this.col = both.subarray(row.length);
    this.eId = eId;
    this.size = size;
    this.#views = {
      edgeIndex: TensorView.fromTyped(both, [2, row.length]),
      eId: TensorView.fromTyped(eId),
    };
  }

  get numEdges(): number {
    return this.row.length;
  }

  /** [2, E]: sources, then destinations. */
  get edgeIndex(): TensorView {
    return this.#views.edgeIndex;
  }

  /** Ends the use of `edgeIndex`; the arrays are garbage-collected. */
  override release(): void {
    this.#views.edgeIndex.release();
    this.#views.eId.release();
  }

  protected override views(): AdjViews {
    return this.#views;
  }
}
