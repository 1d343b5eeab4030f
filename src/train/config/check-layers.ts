/** Checks the encoder's stages: widths of consecutive stages match, samplers match GNN stages, the last stage has one layer. */
import { getConvType, hopsOfStage } from '../../gnn/conv/conv-registry.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { EncoderConfig, LayerConfig, SkeinConfig } from './types.js';

const where = 'model.encoder.layers';
const isInput = (layer: LayerConfig): boolean => ['EMBEDDING', 'FEATURE', 'TEXT'].includes(layer.type);

export function checkEncoder({ model, training }: SkeinConfig): ConfigProblem[] {
  const { encoder } = model;
  const { layers } = encoder;
  if (layers.length === 0)
    return [
      problem(where, 'at least one stage', [], 'Start with a stage [{ type: EMBEDDING, output_dim: 50 }].'),
    ];
  const problems: ConfigProblem[] = [];
  for (const [i, stage] of layers.entries()) {
    if (stage.length === 0)
      problems.push(problem([...base, i], 'at least one layer', [], 'Remove the empty stage or fill it.'));
    for (const [j, layer] of stage.entries())
      problems.push(...checkLayer(encoder, layer, i, j), ...checkInit(layer, [...base, i, j]));
    if (i > 0 && problems.length === 0) problems.push(...checkStage(encoder, i));
  }
  problems.push(...equalInputs(layers));
  const last = layers[layers.length - 1];
  if (last.length > 1)
    problems.push(
      problem(
        [...base, layers.length - 1],
        'one layer in the last stage',
        `${last.length} layers`,
        joinAdvice,
      ),
    );
  return [...problems, ...checkSampling(encoder, training.full_batch)];
}

const base = ['model', 'encoder', 'layers'] as const;
const joinAdvice = 'Join them with a stage [{ type: REDUCTION, options: { type: CONCAT } }].';

function checkLayer(encoder: EncoderConfig, layer: LayerConfig, i: number, j: number): ConfigProblem[] {
  const path = [...base, i, j];
  if (isInput(layer)) {
    if (layer.input_dim !== -1)
      return [
        problem(
          [...path, 'input_dim'],
          `no input_dim of an ${layer.type} layer`,
          layer.input_dim,
          'Remove the key.',
        ),
      ];
    return layer.output_dim < 1 ? [noWidth(path, layer)] : [];
  }
  if (i === 0) {
    const advice = 'Put the input before it, for example [{ type: EMBEDDING, output_dim: 50 }].';
    return [problem([...path, 'type'], 'EMBEDDING, FEATURE or TEXT in the first stage', layer.type, advice)];
  }
  if (layer.output_dim < 1) return [noWidth(path, layer)];
  const before = encoder.layers[i - 1];
  if (layer.type === 'GNN') {
    if (before[j] === undefined) {
      const advice =
        'A GNN layer reads the layer at its own index in the previous stage; add a layer there, or reduce the stage.';
      return [problem(path, `a layer ${j} in stage ${i - 1}`, `${before.length} layers there`, advice)];
    }
    if (layer.input_dim !== before[j].output_dim) {
      const advice = `Set it to ${before[j].output_dim}, or remove the key.`;
      const what = `the output_dim ${before[j].output_dim} of ${where}[${i - 1}][${j}]`;
      return [problem([...path, 'input_dim'], what, layer.input_dim, advice)];
    }
    return checkConv(layer, path);
  }
  if (layer.type === 'REDUCTION' && layer.options.type === 'SUM') {
    const odd = before.findIndex(({ output_dim }) => output_dim !== layer.output_dim);
    if (odd < 0) return [];
    const what = `the output_dim ${layer.output_dim} of the sum`;
    return [
      problem(
        [...base, i - 1, odd, 'output_dim'],
        what,
        before[odd].output_dim,
        'SUM adds rows of one width; make them equal.',
      ),
    ];
  }
  if (layer.type === 'REDUCTION' && layer.options.type === 'CONCAT' && layer.output_dim !== layer.input_dim) {
    const advice = 'CONCAT keeps all columns; set output_dim to the input width, or use LINEAR.';
    return [problem([...path, 'output_dim'], `the input width ${layer.input_dim}`, layer.output_dim, advice)];
  }
  return [];
}

/** Checks that the bounds of uniform initial values are in order. */
function checkInit(layer: LayerConfig, path: readonly (string | number)[]): ConfigProblem[] {
  return (['init', 'bias_init'] as const).flatMap((key) => {
    const { type, options } = layer[key];
    if (type !== 'UNIFORM' || options.low < options.high) return [];
    const advice = 'Values are drawn between low and high; swap them, or use CONSTANT.';
    return [
      problem([...path, key, 'options', 'high'], `a number above low ${options.low}`, options.high, advice),
    ];
  });
}

function noWidth(path: readonly (string | number)[], layer: LayerConfig): ConfigProblem {
  const got = layer.output_dim === -1 ? undefined : layer.output_dim;
  const advice = `Set the output width of the ${layer.type} layer, for example output_dim: 50.`;
  return problem([...path, 'output_dim'], 'a whole number of at least 1', got, advice);
}

/** Runs the check of the layer type on the layer's options and widths. */
function checkConv(layer: LayerConfig, path: readonly (string | number)[]): ConfigProblem[] {
  if (layer.type !== 'GNN') return [];
  const record = getConvType(layer.options.type);
  const found = record.check?.(layer.options as never, layer.output_dim, layer.input_dim) ?? null;
  return found === null
    ? []
    : [problem([...path, 'output_dim'], found.expected, layer.output_dim, found.advice)];
}

/** Checks that the input widths of a stage add up to the output widths of the previous stage. */
function checkStage({ layers }: EncoderConfig, i: number): ConfigProblem[] {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const given = sum(layers[i - 1].map((layer) => layer.output_dim));
  const taken = sum(layers[i].map((layer) => Math.max(layer.input_dim, 0)));
  const path = [...base, i];
  if (
    layers[i].some((layer) => layer.type === 'REDUCTION' || layer.type === 'DENSE') &&
    layers[i].length > 1
  ) {
    const advice =
      'REDUCTION and DENSE read all outputs of the previous stage; put them in a separate stage.';
    return [problem(path, 'one layer in the stage', `${layers[i].length} layers`, advice)];
  }
  const far = layers[i].filter(({ type }) => type === 'GNN').map((layer) => hopsOfStage([layer]));
  const odd = far.findIndex((hops) => hops !== far[0]);
  if (odd >= 0) {
    const advice = 'Layers of one stage run in parallel and must have the same number of hops.';
    return [problem(path, `graph layers of ${far[0]} hops`, `one of ${far[odd]}`, advice)];
  }
  if (given === taken) return [];
  const advice = `The input_dim of stage ${i} must add up to the output_dim of stage ${i - 1}.`;
  return [problem(path, `layers that read ${given} columns`, `${taken} columns`, advice)];
}

/** Checks that layers of one input type have the same width: they read the same table. */
function equalInputs(layers: EncoderConfig['layers']): ConfigProblem[] {
  return (['EMBEDDING', 'FEATURE'] as const).flatMap((type) => {
    const inputs = layers.flatMap((stage, i) =>
      stage.flatMap((layer, j) => (layer.type === type ? [{ i, j, width: layer.output_dim }] : [])),
    );
    const odd = inputs.find(({ width }) => width !== inputs[0].width);
    if (odd === undefined) return [];
    const what = `the same output_dim ${inputs[0].width} in all ${type} layers`;
    return [problem([...base, odd.i, odd.j, 'output_dim'], what, odd.width, 'Make them equal.')];
  });
}

function checkSampling(encoder: EncoderConfig, fullBatch: boolean): ConfigProblem[] {
  const stages = encoder.layers.reduce((sum, stage) => sum + hopsOfStage(stage), 0);
  const problems: ConfigProblem[] = [];
  for (const key of ['train_neighbor_sampling', 'eval_neighbor_sampling'] as const) {
    const count = encoder[key].length;
    if (count === stages || (count === 0 && (fullBatch || key === 'eval_neighbor_sampling'))) continue;
    const advice = stages === 0 ? 'Remove them.' : 'Write for example { type: ALL } for each stage.';
    const what = `${stages} ${stages === 1 ? 'entry' : 'entries'}, one per GNN stage,`;
    problems.push(problem(`model.encoder.${key}`, what, `${count}`, advice));
  }
  if (stages > 0 && !encoder.use_incoming_nbrs && !encoder.use_outgoing_nbrs) {
    const advice = 'Without neighbours a GNN layer has nothing to read.';
    problems.push(
      problem('model.encoder.use_incoming_nbrs', 'true for this or use_outgoing_nbrs', false, advice),
    );
  }
  return problems;
}

/** Returns whether a layer of the encoder reads the text of nodes. */
export function usesText({ model }: Pick<SkeinConfig, 'model'>): boolean {
  return model.encoder.layers.flat().some(({ type }) => type === 'TEXT');
}

/** Returns whether a layer of the encoder uses edge weights. */
export function usesEdgeWeights({ model }: Pick<SkeinConfig, 'model'>): boolean {
  return model.encoder.layers
    .flat()
    .some((layer) => layer.type === 'GNN' && getConvType(layer.options.type).weighsEdges === true);
}
