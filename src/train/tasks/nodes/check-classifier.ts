/** Checks of the arguments of `trainNodeClassifier`, before anything is trained. */
import { LayeredModel } from '../../../gnn/index.js';
import { Graph, SparseMatrix } from '../../../graph/index.js';
import { Module } from '../../../nn/index.js';
import { Tensor } from '../../../tensor/index.js';
import { toInt32 } from '../../../tensor/ops/common.js';
import { checkInteger, expected, ValueError } from '../../../util/errors.js';
import type {
  NodeClassificationData,
  NodeClassifierOptions,
  NodeModel,
  NodeSplits,
} from './node-classifier.js';

export function layered(model: NodeModel): LayeredModel {
  if (model instanceof LayeredModel) return model;
  throw new ValueError(
    expected(
      'trainNodeClassifier',
      'a LayeredModel (GCN, GraphSAGE, GAT, …)',
      'model',
      model,
      'Sampled training runs a model block by block; train others on the whole graph, or loop over a NodeLoader.',
    ),
  );
}

export function splitsOf(data: NodeClassificationData): NodeSplits {
  if (data.splits !== null) return data.splits;
  throw new ValueError(
    'trainNodeClassifier: expected data with splits, got null. Make one with randomNodeSplit(labels, …).',
  );
}

/** Returns the options with labels and splits as Int32Arrays; throws if they do not fit together. */
export function checked(options: NodeClassifierOptions): NodeClassifierOptions {
  const where = 'trainNodeClassifier';
  if (!(options?.model instanceof Module))
    throw new ValueError(expected(where, 'a module', 'model', options?.model));
  if (!(options.data?.graph instanceof Graph))
    throw new ValueError(expected(where, 'a Graph', 'data.graph', options.data?.graph));
  const { epochs = 200, patience = Infinity, monitor = 'accuracy' } = options;
  checkInteger(where, 'epochs', epochs, 1);
  checkInteger(where, 'data.numClasses', options.data.numClasses, 1);
  if (options.sampling !== undefined) layered(options.model);
  if (patience !== Infinity) checkInteger(where, 'patience', patience, 1);
  if (monitor !== 'accuracy' && monitor !== 'loss')
    throw new ValueError(expected(where, "'accuracy' or 'loss'", 'monitor', monitor));
  const labels = toInt32(where, 'labels', options.data.labels);
  const { train, valid, test } = splitsOf(options.data);
  const splits = {
    train: toInt32(where, 'splits.train', train),
    valid: toInt32(where, 'splits.valid', valid),
    test: toInt32(where, 'splits.test', test),
  };
  const data = { ...options.data, labels, splits };
  checkData(where, data);
  return { ...options, data };
}

function checkData(where: string, data: NodeClassificationData & { readonly splits: NodeSplits }): void {
  const { features, labels, splits, numClasses } = data;
  const nodes = data.graph.numNodes;
  if (features !== null && !(features instanceof Tensor) && !(features instanceof SparseMatrix))
    throw new ValueError(expected(where, 'a tensor, a SparseMatrix or null', 'features', features));
  if (features !== null && features.shape[0] !== nodes)
    throw new ValueError(expected(where, `${nodes} rows (one per node)`, 'features', features.shape[0]));
  if (features instanceof Tensor) checkFinite(where, features);
  if (labels.length !== nodes)
    throw new ValueError(expected(where, `${nodes} labels`, 'labels', labels.length));
  const part = new Map<number, string>();
  for (const [name, ids] of Object.entries(splits) as [string, Int32Array][]) {
    for (const [i, id] of ids.entries()) {
      if (id < 0 || id >= nodes) {
        const got = `${id} at position ${i}`;
        throw new ValueError(expected(where, `node ids from 0 to ${nodes - 1}`, `splits.${name}`, got));
      }
      if (part.has(id)) {
        const got = `node ${id} at position ${i}, which is in ${part.get(id)} already`;
        throw new ValueError(expected(where, 'every node once over all splits', `splits.${name}`, got));
      }
      part.set(id, name);
      if (labels[id] < 0 || labels[id] >= numClasses) {
        const got = `${labels[id]} for node ${id} of ${name}`;
        throw new ValueError(expected(where, `labels from 0 to ${numClasses - 1}`, 'labels', got));
      }
    }
  }
  if (splits.train.length === 0)
    throw new ValueError(expected(where, 'at least one node', 'splits.train', 'none'));
}

function checkFinite(where: string, features: Tensor): void {
  const values = features.dataSync();
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) continue;
    const width = features.shape[1];
    const at = `${values[i]} in row ${Math.floor(i / width)}, column ${i % width}`;
    throw new ValueError(expected(where, 'finite numbers', 'features', at));
  }
}
