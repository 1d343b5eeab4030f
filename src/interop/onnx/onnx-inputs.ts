/** Inputs of an exported model, by name, for a graph or the blocks of a sample, as views for `toOrt`. */
import { Block, type Graph, SparseMatrix } from '../../graph/index.js';
import type { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { TensorView } from '../tensor-view.js';

export interface OnnxInputOptions {
  /** Set for a model that was exported with `edgeWeight`. */
  readonly edgeWeight?: boolean;
  /** Features of the edges, by edge id; for layers with an `edgeDim`. */
  readonly edgeAttr?: Tensor;
}

/**
 * Returns the inputs of a model from `exportOnnx`. The view of a tensor holds its memory until it is released; a sparse
 * matrix is converted to a dense one.
 *
 * @param graphs a whole graph, or with `blocks` one block per layer, the outermost first.
 * @example
 * const inputs = onnxInputs(graph, features);
 * const feeds = Object.fromEntries(Object.entries(inputs).map(([name, view]) => [name, toOrt(ort, view)]));
 */
export function onnxInputs(
  graphs: Graph | readonly Block[],
  features: Tensor | SparseMatrix,
  options: OnnxInputOptions = {},
): Record<string, TensorView> {
  checkOptionNames('onnxInputs', options, { edgeWeight: true, edgeAttr: true });
  const x = TensorView.fromTensor(features instanceof SparseMatrix ? features.toDense() : features);
  const inputs: Record<string, TensorView> = { x };
  if (isBlocks(graphs)) {
    for (const [i, block] of graphs.entries()) {
      checkBlock(block, i);
      inputs[`edge_index_${i}`] = edgeIndex(block.adjacency.edges());
      inputs[`num_dst_${i}`] = TensorView.fromTyped(BigInt64Array.of(BigInt(block.numDstNodes)));
    }
    return inputs;
  }
  inputs['edge_index'] = edgeIndex(graphs.edges());
  if (options.edgeWeight === true) inputs['edge_weight'] = edgeWeight(graphs);
  if (options.edgeAttr !== undefined) inputs['edge_attr'] = TensorView.fromTensor(options.edgeAttr);
  return inputs;
}

function isBlocks(graphs: Graph | readonly Block[]): graphs is readonly Block[] {
  return Array.isArray(graphs);
}

function checkBlock(block: Block, i: number): void {
  if (!(block instanceof Block))
    throw new ValueError(expected('onnxInputs', 'a block', `graphs[${i}]`, block));
  if (block.dstOffset !== 0)
    throw new ValueError(
      expected(
        'onnxInputs',
        'a block whose destinations come first',
        `graphs[${i}]`,
        `them from row ${block.dstOffset}`,
      ),
    );
}

/** Returns the edges as [2, E] i64, sources first. */
function edgeIndex({ src, dst }: { readonly src: Int32Array; readonly dst: Int32Array }): TensorView {
  const ids = new BigInt64Array(2 * src.length);
  for (let e = 0; e < src.length; e++) {
    ids[e] = BigInt(src[e]);
    ids[src.length + e] = BigInt(dst[e]);
  }
  return TensorView.fromTyped(ids, [2, src.length]);
}

/** By edge id; 1 for every edge of a graph without weights. */
function edgeWeight(graph: Graph): TensorView {
  const slots = graph.positionWeights('f32');
  if (slots !== null) return TensorView.fromTensor(graph.toEdgeIds(slots));
  return TensorView.fromTyped(new Float32Array(graph.numEdges).fill(1));
}
