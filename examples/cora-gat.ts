/**
 * Graph attention on Cora with the settings of the paper: 8 heads of 8, dropout 0.6 on features and attention, ELU.
 *   npm run example -- cora-gat [--seed 3] [--json]
 */
import { gnn, manualSeed, nn, trainNodeClassifier } from 'skein';
import { loadDataset, normalizeFeatures } from 'skein/data';
import { startExample } from './shared/report.js';

const run = startExample();
const data = await loadDataset('cora');
const features = normalizeFeatures(data.features);

manualSeed(run.seed);
const model = new gnn.GAT([features.shape[1], 8, data.numClasses], {
  heads: 8,
  dropout: 0.6,
  attentionDropout: 0.6,
});
const optimizer = new nn.Adam(model.parameters(), { lr: 0.005, weightDecay: 5e-4 });
run.done(
  await trainNodeClassifier({
    model,
    data: { ...data, features },
    optimizer,
    epochs: 1000,
    patience: 100,
    seed: run.seed,
    onEpoch: run.onEpoch,
  }),
);
