/** Combinations of loss, penalty, dropout and form that make no sense: the error names both keys. */
import { expect, it } from 'vitest';
import { resolveConfig } from './load.js';

const base = {
  model: {
    learning_task: 'LINK_PREDICTION',
    encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
    decoder: { type: 'DISTMULT' },
  },
  storage: { dataset: { dataset_dir: 'data' } },
};
const resolve = (overrides: readonly string[]) => resolveConfig(base, overrides).config;

it.each([
  [
    ['--model.regularizer={type: LP, coef: 0.1, weighted: false}'],
    /true with training\.form NEGATIVES for model\.regularizer\.weighted/,
  ],
  [
    ['--model.regularizer={type: N3, coef: 0.1, weighted: false}', '--training.form=ONE_VS_ALL'],
    /true with model\.regularizer\.type N3 for model\.regularizer\.weighted/,
  ],
  [
    ['--model.decoder.options={entity_dropout: 0.2, edge_decoder_method: CORRUPT_REL}'],
    /0 with model\.decoder\.options\.edge_decoder_method CORRUPT_REL for model\.decoder\.options\.entity_dropout/,
  ],
  [
    ['--model.loss.options.label_smoothing=0.1'],
    /0 with training\.form NEGATIVES for model\.loss\.options\.label_smoothing/,
  ],
  [
    ['--training.form=ONE_VS_ALL', '--model.loss.type=RANKING'],
    /BCE_WITH_LOGITS, MSE with training\.form ONE_VS_ALL for model\.loss\.type, got "?RANKING/,
  ],
  [
    ['--training.form=ONE_VS_ALL', '--training.filter_known=true', '--model.loss.type=MSE'],
    /SOFTMAX_CE or CROSS_ENTROPY with training\.filter_known for model\.loss\.type, got "MSE"/,
  ],
  [
    ['--training.form=K_VS_ALL', '--model.loss={type: BCE_WITH_LOGITS, options: {negatives: MEAN}}'],
    /SUM with training\.form K_VS_ALL for model\.loss\.options\.negatives/,
  ],
  [
    ['--training.form=K_VS_ALL', '--model.decoder={type: TRANSE, options: {comparator: L1}}'],
    /one of DOT, COSINE, SQUARED_L2 with training\.form K_VS_ALL for model\.decoder\.options\.comparator/,
  ],
  [
    ['--model.relation_prediction.weight=1', '--model.decoder.type=TRANSE'],
    /0 with model\.decoder\.type TRANSE and comparator L2 for model\.relation_prediction\.weight/,
  ],
  [['--model.decoder.options.relation_init.type=NORMALL'], /relation_init.*Did you mean NORMAL\?/s],
])('%s', (overrides, message) => {
  expect(() => resolve(overrides)).toThrow(message);
});

it('the weight of relations is that of entities unless it is given', () => {
  const of = (text: string) => resolve([`--model.regularizer=${text}`]).model.regularizer;
  expect(of('{type: N3, coef: 0.1}').relation_coef).toBe(0.1);
  expect(of('{type: N3, coef: 0.1, relation_coef: 0}').relation_coef).toBe(0);
});
