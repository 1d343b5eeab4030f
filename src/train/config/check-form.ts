/** Checks the keys that one-against-all training (`training.form`) combines with. */
import { comparators } from '../../gnn/decoders/comparator.js';
import { noGrad, scope, zeros } from '../../tensor/index.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

export function checkForm(config: SkeinConfig): ConfigProblem[] {
  const { model, training } = config;
  const { form } = training;
  if (form === 'NEGATIVES') return [];
  const wrong = (key: string, expected: string, got: unknown, advice: string): ConfigProblem =>
    problem(key, `${expected} with training.form ${form}`, got, advice);
  if (model.decoder.type === 'NODE')
    return [
      wrong(
        'model.learning_task',
        'LINK_PREDICTION',
        model.learning_task,
        'Only edges have queries; remove the form.',
      ),
    ];
  const problems: ConfigProblem[] = [];
  const { edge_decoder_method: method } = model.decoder.options;
  if (method !== 'CORRUPT_NODE') {
    const advice = 'Each query is compared with all nodes; remove the method, or the form.';
    problems.push(wrong('model.decoder.options.edge_decoder_method', 'CORRUPT_NODE', method, advice));
  }
  for (const [i, stage] of model.encoder.layers.entries())
    for (const [j, { type }] of stage.entries())
      if (type === 'GNN') {
        const advice =
          'Every step would encode all nodes; use form: NEGATIVES, or an encoder without GNN layers.';
        problems.push(wrong(`model.encoder.layers[${i}][${j}].type`, 'no GNN layer', type, advice));
      }
  if ('subsampling' in model.loss.options && model.loss.options.subsampling === true) {
    const advice = 'It weights edges; remove it, or use form: NEGATIVES.';
    problems.push(wrong('model.loss.options.subsampling', 'false', true, advice));
  }
  if (form === 'K_VS_ALL' && training.filter_known)
    problems.push(
      wrong(
        'training.filter_known',
        'false',
        true,
        'All answers of a query are trained together; remove it.',
      ),
    );
  return [...problems, ...checkScores(config), ...checkBuffer(config)];
}

const softmax = ['SOFTMAX_CE', 'CROSS_ENTROPY'];
const losses = [...softmax, 'BCE_WITH_LOGITS', 'MSE'];

/** Scores of a query with all nodes are products of matrices, and their loss has a kernel. */
function checkScores({ model: { decoder, loss }, training }: SkeinConfig): ConfigProblem[] {
  const { form, filter_known: filters } = training;
  const problems: ConfigProblem[] = [];
  if (decoder.type !== 'NODE') {
    const { comparator } = decoder.options;
    const products = (Object.keys(comparators) as (keyof typeof comparators)[]).filter(hasProducts);
    if (!products.includes(comparator)) {
      const what = `one of ${products.join(', ')} with training.form ${form}`;
      const advice =
        'Scores against all nodes are products of matrices; use one of these, or form: NEGATIVES.';
      problems.push(problem('model.decoder.options.comparator', what, comparator, advice));
    }
  }
  if (!losses.includes(loss.type)) {
    const what = `one of ${losses.join(', ')} with training.form ${form}`;
    problems.push(problem('model.loss.type', what, loss.type, 'Use one of these, or form: NEGATIVES.'));
  } else if (filters && !softmax.includes(loss.type)) {
    const advice = 'Answers compete in a softmax only; remove filter_known.';
    const what = `${softmax.join(' or ')} with training.filter_known`;
    problems.push(problem('model.loss.type', what, loss.type, advice));
  }
  if ('negatives' in loss.options && loss.options.negatives !== 'SUM') {
    const advice = 'All nodes are candidates; remove the key.';
    const what = `SUM with training.form ${form}`;
    problems.push(problem('model.loss.options.negatives', what, loss.options.negatives, advice));
  }
  return problems;
}

/** Whether a comparator's scores are products, which it answers for any rows. */
function hasProducts(name: keyof typeof comparators): boolean {
  return noGrad(() => scope(() => comparators[name]().products(zeros([1, 2]), zeros([1, 2])) !== null));
}

/** Nodes on disk cannot be compared with, and answers there are not known. */
function checkBuffer({ storage, training }: SkeinConfig): ConfigProblem[] {
  const table = (['embeddings', 'features'] as const).find(
    (name) => storage[name].type === 'PARTITION_BUFFER',
  );
  if (table === undefined) return [];
  const { form, candidates, filter_known: filters } = training;
  const key = `storage.${table}.type`;
  const problems: ConfigProblem[] = [];
  if (candidates === 'ALL') {
    const advice = 'Nodes on disk cannot be compared with; remove the key, or use HOST_MEMORY.';
    problems.push(
      problem('training.candidates', `RESIDENT with ${key} PARTITION_BUFFER`, candidates, advice),
    );
  }
  const needsAll = form === 'K_VS_ALL' ? 'training.form K_VS_ALL' : filters ? 'training.filter_known' : null;
  if (needsAll !== null) {
    const advice = 'Answers on disk are not known; use HOST_MEMORY, or ONE_VS_ALL without filter_known.';
    problems.push(problem(key, `HOST_MEMORY with ${needsAll}`, 'PARTITION_BUFFER', advice));
  }
  return problems;
}
