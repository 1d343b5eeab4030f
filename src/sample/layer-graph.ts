/**
 * A graph in layers, as encoders process it: the current layer passes messages on `block`, and `prepareForNextLayer`
 * moves to the next. Implemented by DENSE samples and by distributed graphs.
 */
import type { MessageGraph } from '../graph/index.js';
import type { Tensor } from '../tensor/index.js';

export interface LayerGraph {
  /** Number of layers still to run. */
  readonly numLayers: number;
  /** Number of input rows of the current layer. */
  readonly numRows: number;
  /** Must be called once before layers run. */
  performMap(): LayerGraph;
  prepareForNextLayer(): LayerGraph;
  block(): MessageGraph;
  /** Returns the relation of each edge of the block, by edge id; null in a graph without relations. */
  blockRelations(): Int32Array | null;
  /** Returns, from rows `x` of the first layer's nodes, those of the nodes that the current layer computes. */
  computedRows(x: Tensor): Tensor;
}
