/**
 * Helpers of several layers: initial values as in PyTorch Geometric, heads, and edge features.
 */
import type { MessageGraph } from '../../graph/index.js';
import { newParameter, parameterOptions, randomOf } from '../../nn/factory.js';
import { init, Linear, type ParameterOptions } from '../../nn/index.js';
import { add, concat, gatherRows, mean, mul, reshape, sum, Tensor } from '../../tensor/index.js';
import { formatShape } from '../../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';

/** Creates a linear map without bias and with a Glorot uniform weight. */
export function glorotLinear(inFeatures: number, outFeatures: number, options: ParameterOptions): Linear {
  const lin = new Linear(inFeatures, outFeatures, { ...parameterOptions(options), bias: false });
  init.glorotUniform(lin.weight, randomOf(options));
  return lin;
}

/** Creates a parameter uniform within ±√(6 / (rows + columns)) of the last two axes. */
export function glorotParameter(shape: readonly number[], options: ParameterOptions): Tensor {
  const bound = Math.sqrt(6 / (shape[shape.length - 2] + shape[shape.length - 1]));
  return newParameter(shape, options, (t) =>
    init.uniform(t, { ...randomOf(options), lo: -bound, hi: bound }),
  );
}

/** Reshapes [N, heads·D] to [N, heads, D]. */
export function splitHeads(x: Tensor, heads: number): Tensor {
  return reshape(x, [x.shape[0], heads, x.shape[1] / heads]);
}

/** Reshapes [N, heads, D] to [N, heads·D], or averages it to [N, D]; then adds the bias. */
export function joinHeads(x: Tensor, concatenated: boolean, bias: Tensor | null): Tensor {
  const [rows, heads, size] = x.shape;
  const joined = concatenated ? reshape(x, [rows, heads * size]) : mean(x, 1);
  return bias === null ? joined : add(joined, bias);
}

/** Returns Σ_d x[n, h, d] · a[h, d]: one score per row and head. */
export function headScores(x: Tensor, a: Tensor): Tensor {
  return sum(mul(x, a), 2);
}

/**
 * Returns the matrix [heads, in] that maps inputs of `weight` [heads·D, in] directly to the scores a · (weight · x).
 */
export function foldScores(weight: Tensor, a: Tensor): Tensor {
  const [heads, size] = a.shape;
  return sum(mul(reshape(weight, [heads, size, weight.shape[1]]), reshape(a, [heads, size, 1])), 1);
}

/** Checks that edge features are given exactly if the layer has a map for them; returns [E, edgeDim] or null. */
export function checkEdgeFeatures(
  layer: string,
  graph: MessageGraph,
  lin: Linear | null,
  edgeAttr: Tensor | null,
): Tensor | null {
  if (edgeAttr === null && lin === null) return null;
  if (lin === null)
    throw new ValueError(
      `${layer}: expected no edge features, got some. Set edgeDim in the layer's options.`,
    );
  const want = `shape [${graph.numEdges}, ${lin.inFeatures}] (edges, edgeDim)`;
  if (!(edgeAttr instanceof Tensor))
    throw new ValueError(expected(layer, `edge features of ${want}`, 'edgeAttr', edgeAttr));
  const [edges, width] = edgeAttr.shape;
  if (edgeAttr.rank !== 2 || edges !== graph.numEdges || width !== lin.inFeatures)
    throw new ShapeError(expected(layer, want, 'edgeAttr', `shape ${formatShape(edgeAttr.shape)}`));
  return edgeAttr;
}

/**
 * Returns edge features of `looped` = graph.withSelfLoops(), by edge position: an added loop has the mean of the
 * features of the edges into its node.
 */
export function loopedFeatures(graph: MessageGraph, looped: MessageGraph, edgeAttr: Tensor): Tensor {
  if (looped === graph || looped.addedLoops === null) return looped.toPositions(edgeAttr);
  const means = graph.aggregateEdges(graph.toPositions(edgeAttr), 'mean');
  return looped.toPositions(concat([edgeAttr, gatherRows(means, looped.addedLoops)], 0));
}
