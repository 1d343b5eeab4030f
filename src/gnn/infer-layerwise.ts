/**
 * Inference for all nodes of a graph without their neighbourhoods of several hops: one layer for all nodes, in batches
 * of destinations with all their edges, then the next. Memory is that of two layers' results for all nodes and of one
 * batch. The result equals the full forward in evaluation, bit for bit, because products and aggregations of a row do
 * not depend on the other rows that are computed with it.
 */
import { type Graph, inBlock } from '../graph/index.js';
import { onDevice } from '../tensor/device.js';
import { noGrad, scope, Tensor } from '../tensor/index.js';
import { copyInto } from '../tensor/ops/common.js';
import { gatherRows } from '../tensor/ops/rows.js';
import { unscoped } from '../tensor/scope.js';
import { checkInteger } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Features } from './input.js';
import type { EdgeData, LayeredModel } from './models/layered-model.js';

export interface InferOptions {
  /** Destinations per batch (default 4096). */
  readonly batchSize?: number;
  /** The `edgeData` of the model's `forward`. */
  readonly edgeData?: EdgeData;
}

/**
 * Returns the model's result for every node, outside the tape.
 *
 * @example
 * const logits = inferLayerwise(model, graph, x, { batchSize: 8192 });
 */
export function inferLayerwise(
  model: LayeredModel,
  graph: Graph,
  x: Features | null,
  options: InferOptions = {},
): Tensor {
  checkOptionNames('inferLayerwise', options, { batchSize: true, edgeData: true });
  const batchSize = checkInteger('inferLayerwise', 'batchSize', options.batchSize ?? 4096, 1);
  const modules = [...model.modules().values()];
  const training = modules.map((module) => module.training);
  model.eval();
  try {
    return noGrad(() => {
      const known: Tensor[] = [];
      let h = x;
      for (let i = 0; i < model.layers.length; i++) {
        const y = layerOfAll(model, i, graph, h, options.edgeData ?? null, batchSize);
        if (model.jump === null && i > 0) (h as Tensor).dispose();
        else known.push(y);
        h = y;
      }
      return model.jump === null ? (h as Tensor) : model.readout(known);
    });
  } finally {
    modules.forEach((module, i) => {
      module.training = training[i];
    });
  }
}

function layerOfAll(
  model: LayeredModel,
  i: number,
  graph: Graph,
  x: Features | null,
  edgeData: EdgeData,
  batchSize: number,
): Tensor {
  let all: Tensor | null = null;
  for (let start = 0; start < graph.numNodes || all === null; start += batchSize) {
    scope(() => {
      const end = Math.min(start + batchSize, graph.numNodes);
      const block = inBlock(
        graph,
        Int32Array.from({ length: end - start }, (_, k) => start + k),
      );
      const y = model.forwardLayer(i, block, rowsOf(x, block.srcIds as Int32Array), edgeData);
      all ??= unscoped(() => Tensor.allocate(y.dtype, [graph.numNodes, y.shape[1]], y.device));
      placeRows(y, all, start);
    });
  }
  return all as unknown as Tensor;
}

/** Copies rows to those from `start` on, on any device. */
function placeRows(rows: Tensor, all: Tensor, start: number): void {
  const { strides } = all;
  onDevice(all.device, () => copyInto(rows, all, strides, start * strides[0]));
}

function rowsOf(x: Features | null, ids: Int32Array): Features | null {
  if (x === null) return null;
  return x instanceof Tensor ? gatherRows(x, ids) : x.gatherRows(ids);
}
