/**
 * A graph in layers, as encoders walk through it: `block` is what the current layer passes messages on, and
 * `prepareForNextLayer` goes to the next. A DENSE sample is one, a graph spread over workers is another.
 */
import type { MessageGraph } from '../graph/index.js';
import type { Tensor } from '../tensor/index.js';

export interface LayerGraph {
  /** Layers that are still to run. */
  readonly numLayers: number;
  /** Rows that the current layer takes. */
  readonly numRows: number;
  /** Must run once before layers do. */
  performMap(): LayerGraph;
  prepareForNextLayer(): LayerGraph;
  block(): MessageGraph;
  /** The relation of each edge of the block, by edge id; null in a graph without relations. */
  blockRelations(): Int32Array | null;
  /** Rows of `x`, which belong to the first layer's nodes, of the nodes that the current layer computes. */
  computedRows(x: Tensor): Tensor;
}
