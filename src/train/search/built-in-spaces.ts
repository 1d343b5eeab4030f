/** Built-in spaces, from the settings with which published models of knowledge graphs were found. */
import { ValueError } from '../../util/errors.js';

const rates = ['model.dense_optimizer.options.learning_rate', 'model.sparse_optimizer.options.learning_rate'];
const optimizers = ['model.dense_optimizer', 'model.sparse_optimizer'];
const inits = ['model.encoder.layers[0][0].init', 'model.decoder.options.relation_init'];
const initKeys = (name: string): string[] => inits.map((key) => `${key}.${name}`);

/** ComplEx and its like with the penalty N3, trained against all entities. */
const kg = {
  'model.regularizer.type': ['N3'],
  'model.regularizer.coef': { log: [0.003, 0.3] },
  rate: { keys: rates, values: [0.05, 0.1, 0.2] },
  'model.relation_prediction.weight': [0, 0.05, 0.125, 0.5, 1, 4],
  'training.batch_size': [100, 250, 500, 1000],
  'training.max_answers': { values: [4, 16, -1], when: 'training.form == ONE_VS_ALL' },
  'model.loss.options.label_smoothing': { values: [0, 0.1], when: 'training.form != NEGATIVES' },
};

/** Dropout in place of a penalty. Ranges of dropout begin below zero, so that some trials have none. */
const dropout = {
  'model.regularizer': [{ type: 'NONE' }],
  'model.decoder.options.entity_dropout': { range: [-0.1, 0.5], min: 0 },
  'model.decoder.options.relation_dropout': { range: [-0.1, 0.5], min: 0 },
  optimizer: { keys: optimizers, values: [{ type: 'ADAGRAD' }, { type: 'ADAM' }] },
  adagrad_rate: { keys: rates, log: [0.05, 1], when: 'model.sparse_optimizer.type == ADAGRAD' },
  adam_rate: { keys: rates, log: [0.0002, 0.003], when: 'model.sparse_optimizer.type == ADAM' },
  // Whole sections: options of another type would be rejected.
  init: { keys: inits, values: [{ type: 'NORMAL' }, { type: 'UNIFORM' }, { type: 'GLOROT_NORMAL' }] },
  init_std: { keys: initKeys('options.std'), log: [0.001, 1], when: `${inits[0]}.type == NORMAL` },
  init_low: { keys: initKeys('options.low'), range: [-1, -0.2], when: `${inits[0]}.type == UNIFORM` },
  init_high: { keys: initKeys('options.high'), values: [1], when: `${inits[0]}.type == UNIFORM` },
  'training.learning_rate_schedule': [{ type: 'PLATEAU', factor: 0.95 }],
  'training.learning_rate_schedule.patience': { range: [1, 9], integer: true },
  'model.decoder.options.inverse_edges': [true, false],
};

const builtIn: Readonly<Record<string, object>> = {
  kg,
  'kg-dropout': dropout,
  'kg-large': {
    ...dropout,
    'training.negative_sampling.negatives_per_positive': {
      ...{ log: [500, 10_000], integer: true },
      when: 'training.form == NEGATIVES',
    },
  },
};

export const builtInSpaces: readonly string[] = Object.keys(builtIn);

/** Returns the values of a built-in space. */
export function builtInSpace(name: string): unknown {
  if (Object.hasOwn(builtIn, name)) return builtIn[name];
  throw new ValueError(
    `search: expected a file or one of ${builtInSpaces.join(', ')} for the space, got ${JSON.stringify(name)}.`,
  );
}
