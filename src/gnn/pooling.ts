/**
 * Pooling of nodes to one row per graph. Nodes of a graph are consecutive: graph g has rows offsets[g] …
 * offsets[g+1]−1, as in `GraphBatch`. A graph without nodes gets 0.
 */
import { Adjacency } from '../graph/index.js';
import { aggregate } from '../graph/ops/aggregate.js';
import { edgeSoftmax } from '../graph/ops/scores.js';
import { identity } from '../graph/ops/spmm.js';
import { type Layer, Module } from '../nn/index.js';
import { segmentReduce, type Tensor } from '../tensor/index.js';
import { formatShape } from '../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';

/** Returns the sum of the rows of each graph: [N, F] to [G, F]. */
export function globalSumPool(x: Tensor, offsets: Int32Array): Tensor {
  return segmentReduce(x, offsets, 'sum');
}

/** Returns the mean of the rows of each graph. */
export function globalMeanPool(x: Tensor, offsets: Int32Array): Tensor {
  return segmentReduce(x, offsets, 'mean');
}

/** Returns the maximum of each feature in each graph. */
export function globalMaxPool(x: Tensor, offsets: Int32Array): Tensor {
  return segmentReduce(x, offsets, 'max');
}

/**
 * Attention over the nodes of each graph (Li et al., ICLR 2016, eq. 7): Σ softmax(gate(x)) · nn(x), with the softmax
 * over the nodes of a graph. `gate` maps [N, F] to [N, 1]; without `nn` the rows themselves are summed.
 *
 * @example
 * const pool = new AttentionalPool(new Linear(64, 1));
 * const perGraph = pool.forward(h, batch.offsets); // [G, 64]
 */
export class AttentionalPool extends Module {
  readonly gate: Layer;
  readonly nn: Layer | null;

  constructor(gate: Layer, nn: Layer | null = null) {
    super();
    if (!(gate instanceof Module))
      throw new ValueError(expected('AttentionalPool', 'a module', 'gate', gate));
    this.gate = gate;
    this.nn = nn;
  }

  forward(x: Tensor, offsets: Int32Array): Tensor {
    const rows = x.shape[0];
    const scores = this.gate.forward(x);
    if (scores.rank !== 2 || scores.shape[0] !== rows || scores.shape[1] !== 1) {
      const got = `shape ${formatShape(scores.shape)}`;
      throw new ShapeError(expected('AttentionalPool', `shape [${rows}, 1]`, 'the result of gate', got));
    }
    if (offsets[offsets.length - 1] !== rows)
      throw new ShapeError(expected('AttentionalPool', `offsets from 0 to ${rows}`, 'offsets', offsets));
    // The nodes of a graph are sources of edges into it.
    const members = Adjacency.fromCsc(offsets, identity(rows).subarray(0, rows), rows);
    const weight = edgeSoftmax(members, scores);
    return aggregate(members, this.nn === null ? x : this.nn.forward(x), { weight }, null);
  }
}
