/**
 * Rewrites older spellings to the current ones before the schema is applied: the option names of Marius's API document
 * (`training_sampling.neighbor_sampling_strategy`, `evaluation.filtered_evaluation`, …) and the files of its first release
 * (flat layer lists, `model.embeddings.dimension`, `dataset.base_directory`). Each gives a note that names the new key.
 */
import { isTree, type Tree } from '../../util/schema/key-path.js';

type Note = (message: string) => void;

/** Changes `tree` in place. If both the old and the new key are given, the old one stays and the schema rejects it. */
export function modernise(tree: Tree, note: Note): void {
  const dataset = child(child(tree, 'storage'), 'dataset');
  rename(dataset, 'base_directory', 'dataset_dir', 'storage.dataset', note);
  rename(dataset, 'feature_dim', 'node_feature_dim', 'storage.dataset', note);
  const model = child(tree, 'model');
  const encoder = child(model, 'encoder');
  if (model !== undefined && encoder !== undefined) {
    rewriteFlatLayers(model, encoder, note);
    renameMisspeltWidths(encoder, note);
    moveSamplerDirections(encoder, note);
    if ('optimizer' in encoder && !('dense_optimizer' in model)) {
      model['dense_optimizer'] = encoder['optimizer'];
      delete encoder['optimizer'];
      note('model.encoder.optimizer: read as model.dense_optimizer.');
    }
    moveSamplingSection(tree, encoder, 'training_sampling', 'train_neighbor_sampling', note);
    moveSamplingSection(tree, encoder, 'evaluation_sampling', 'eval_neighbor_sampling', note);
    dropLayerCount(model, encoder, note);
  }
  const evaluation = child(tree, 'evaluation');
  if (evaluation !== undefined && 'filtered_evaluation' in evaluation) {
    const negatives = isTree(evaluation['negative_sampling']) ? evaluation['negative_sampling'] : {};
    if (!('filtered' in negatives)) {
      evaluation['negative_sampling'] = { ...negatives, filtered: evaluation['filtered_evaluation'] };
      delete evaluation['filtered_evaluation'];
      note('evaluation.filtered_evaluation: read as evaluation.negative_sampling.filtered.');
    }
  }
}

function child(tree: Tree | undefined, key: string): Tree | undefined {
  const value = tree?.[key];
  return isTree(value) ? value : undefined;
}

function rename(tree: Tree | undefined, from: string, to: string, where: string, note: Note): void {
  if (tree === undefined || !(from in tree) || to in tree) return;
  tree[to] = tree[from];
  delete tree[from];
  note(`${where}.${from}: read as ${where}.${to}.`);
}

/** Renames `ouptut_dim`, which some files of Marius have. */
function renameMisspeltWidths(encoder: Tree, note: Note): void {
  const stages = Array.isArray(encoder['layers']) ? encoder['layers'] : [];
  for (const [i, stage] of stages.entries())
    for (const [j, layer] of (Array.isArray(stage) ? stage : []).entries())
      if (isTree(layer)) rename(layer, 'ouptut_dim', 'output_dim', `model.encoder.layers[${i}][${j}]`, note);
}

const isGnn = (layer: unknown): boolean => isTree(layer) && layer['type'] === 'GNN';
const gnnStages = (encoder: Tree): number => {
  const stages = encoder['layers'];
  return Array.isArray(stages)
    ? stages.filter((stage) => Array.isArray(stage) && stage.some(isGnn)).length
    : 0;
};

/** Moves a sampling section of the API document, which has one strategy for all layers, to the encoder. */
function moveSamplingSection(tree: Tree, encoder: Tree, name: string, target: string, note: Note): void {
  const old = child(tree, name);
  if (old === undefined || target in encoder) return;
  const { neighbor_sampling_strategy: strategy = 'ALL', max_neighbors_size: most, ...unknown } = old;
  if (Object.keys(unknown).length > 0) return;
  // The schema rejects values that are not strings.
  const type = typeof strategy === 'string' ? strategy.toUpperCase() : strategy;
  const options = type === 'UNIFORM' && most !== undefined ? { options: { max_neighbors: most } } : {};
  encoder[target] = Array.from({ length: gnnStages(encoder) }, () => ({ type, ...structuredClone(options) }));
  delete tree[name];
  note(`${name}: read as model.encoder.${target}, the same for every GNN stage.`);
}

/** Drops `model.num_layers` if it equals the number of GNN stages. */
function dropLayerCount(model: Tree, encoder: Tree, note: Note): void {
  if (!('num_layers' in model) || model['num_layers'] !== gnnStages(encoder)) return;
  delete model['num_layers'];
  note('model.num_layers: equals the number of GNN stages in model.encoder.layers; remove the key.');
}

/** Moves the directions, which old files have in each sampler, to the encoder if they are all equal. */
function moveSamplerDirections(encoder: Tree, note: Note): void {
  const lists = [encoder['train_neighbor_sampling'], encoder['eval_neighbor_sampling']];
  const samplers = lists.flatMap((list) => (Array.isArray(list) ? list.filter(isTree) : []));
  for (const key of ['use_incoming_nbrs', 'use_outgoing_nbrs']) {
    const values = new Set(samplers.filter((sampler) => key in sampler).map((sampler) => sampler[key]));
    if (values.size !== 1 || (key in encoder && !values.has(encoder[key]))) continue;
    encoder[key] = [...values][0];
    for (const sampler of samplers) delete sampler[key];
    note(`model.encoder.train_neighbor_sampling[…].${key}: read as model.encoder.${key}.`);
  }
}

const oldLayerTypes = ['GRAPH_SAGE', 'GAT', 'GCN', 'RGCN'];

/** Rewrites the layers of the first release: a flat list of GNN layers with samplers inside and an implied input layer. */
function rewriteFlatLayers(model: Tree, encoder: Tree, note: Note): void {
  const layers = encoder['layers'];
  const isOld = (layer: unknown): layer is Tree =>
    isTree(layer) && typeof layer['type'] === 'string' && oldLayerTypes.includes(layer['type'].toUpperCase());
  if (!Array.isArray(layers) || layers.length === 0 || !layers.every(isOld)) return;
  const train: unknown[] = [];
  const evaluate: unknown[] = [];
  const stages = layers.map((layer) => {
    const { type, options, train_neighbor_sampling, eval_neighbor_sampling, ...rest } = layer;
    train.push(train_neighbor_sampling ?? { type: 'ALL' });
    evaluate.push(eval_neighbor_sampling ?? train_neighbor_sampling ?? { type: 'ALL' });
    const { input_dim, output_dim, ...own } = isTree(options) ? options : {};
    return [{ type: 'GNN', input_dim, output_dim, ...rest, options: { type, ...own } }];
  });
  const table = child(model, 'embeddings');
  const { dimension, ...tableRest } = table ?? {};
  const first =
    table === undefined
      ? { type: 'FEATURE', output_dim: stages[0][0].input_dim }
      : { type: 'EMBEDDING', output_dim: dimension, ...tableRest };
  delete model['embeddings'];
  encoder['layers'] = [[first], ...stages];
  encoder['train_neighbor_sampling'] ??= train;
  encoder['eval_neighbor_sampling'] ??= evaluate;
  note(
    `model.encoder.layers: a flat list, read as a stage of ${table === undefined ? 'FEATURE' : 'EMBEDDING'} and one stage per layer.`,
  );
}
