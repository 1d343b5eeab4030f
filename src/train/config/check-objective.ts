/** Checks what training minimises: loss, penalties, dropout and relation prediction, by task and decoder. */
import { comparators } from '../../gnn/decoders/comparator.js';
import { decoderRegistry } from '../../gnn/decoders/decoders.js';
import { noGrad, scope, zeros } from '../../tensor/index.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { EdgeDecoderConfig, SkeinConfig } from './types.js';

export function checkObjective(config: SkeinConfig): ConfigProblem[] {
  const { decoder } = config.model;
  const problems = [...checkRegularizer(config), ...checkSmoothing(config)];
  if (decoder.type === 'NODE') return [...problems, ...checkNoRelations(config)];
  return [...problems, ...checkDropout(decoder), ...checkRelationPrediction(config, decoder)];
}

function checkRegularizer({ model, training }: SkeinConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { type, coef, relation_coef: relationCoef, weighted } = model.regularizer;
  const key = (name: string): string => `model.regularizer.${name}`;
  const penalisesRelations = type === 'N3' || type === 'LP';
  if (type === 'NONE' && (coef > 0 || relationCoef > 0))
    problems.push(
      problem(key('type'), 'NORM, N3 or LP with a coef', type, 'Set the type, or remove the coef.'),
    );
  if (type !== 'NONE' && coef === 0 && !(penalisesRelations && relationCoef > 0))
    problems.push(problem(key('coef'), 'a number above 0', 0, 'Write for example coef: 1.0e-6.'));
  if (type === 'LP' && model.learning_task === 'NODE_CLASSIFICATION') {
    const what = 'NONE, NORM or N3 with model.learning_task NODE_CLASSIFICATION';
    problems.push(problem(key('type'), what, type, 'LP penalises the ends of edges; use weight_decay.'));
  }
  if (!weighted && type !== 'LP') {
    const what = `true with ${key('type')} ${type}`;
    problems.push(problem(key('weighted'), what, false, 'Only LP has it; remove the key.'));
  } else if (!weighted && training.form === 'NEGATIVES') {
    const advice = 'A batch of negatives trains the rows it uses only; remove the key.';
    problems.push(problem(key('weighted'), 'true with training.form NEGATIVES', false, advice));
  }
  return problems;
}

function checkSmoothing({ model: { loss }, training }: SkeinConfig): ConfigProblem[] {
  const smoothing = 'label_smoothing' in loss.options ? loss.options.label_smoothing : 0;
  if (smoothing === 0 || training.form !== 'NEGATIVES') return [];
  const advice = 'Only queries against all nodes have smoothed labels; remove one of the two.';
  return [problem('model.loss.options.label_smoothing', '0 with training.form NEGATIVES', smoothing, advice)];
}

function checkDropout({ options }: EdgeDecoderConfig): ConfigProblem[] {
  const { edge_decoder_method: method, entity_dropout: entities, relation_dropout: relations } = options;
  if (method === 'CORRUPT_NODE') return [];
  const what = `0 with model.decoder.options.edge_decoder_method ${method}`;
  return Object.entries({ entity_dropout: entities, relation_dropout: relations }).flatMap(([key, p]) =>
    p === 0
      ? []
      : [
          problem(
            `model.decoder.options.${key}`,
            what,
            p,
            'Only CORRUPT_NODE has it; remove one of the two.',
          ),
        ],
  );
}

function checkRelationPrediction(
  { model }: SkeinConfig,
  { type, options }: EdgeDecoderConfig,
): ConfigProblem[] {
  const { weight } = model.relation_prediction;
  if (weight === 0) return [];
  const { operator } = decoderRegistry.get(type);
  const comparator = comparators[options.comparator]();
  const isProduct =
    comparator.comparison === 'dot' &&
    noGrad(() => scope(() => operator.relationQuery(zeros([1, 2]), zeros([1, 2]), comparator) !== null));
  if (isProduct) return [];
  const what = `0 with model.decoder.type ${type} and comparator ${options.comparator}`;
  const advice = 'Relations are predicted by dot products; use DISTMULT or COMPLEX with DOT, or remove it.';
  return [problem('model.relation_prediction.weight', what, weight, advice)];
}

function checkNoRelations({ model }: SkeinConfig): ConfigProblem[] {
  const { weight } = model.relation_prediction;
  if (weight === 0) return [];
  const what = `0 with model.learning_task ${model.learning_task}`;
  return [problem('model.relation_prediction.weight', what, weight, 'Only edges have relations; remove it.')];
}
