/**
 * GraphSAGE on sampled neighbourhoods: Coauthor Physics (34,493 authors, 5 fields), 20 training authors per field. The
 * 8,415 keyword counts of each author stay sparse.
 *   npm run example -- physics-sage-sampled [--seed 3] [--json]
 */
import { gnn, manualSeed, nn, trainNodeClassifier } from 'skein';
import { loadDataset, normalizeFeatures, randomNodeSplit } from 'skein/data';
import { startExample } from './shared/report.js';

const run = startExample(5);
const data = await loadDataset('coauthor-physics');
const features = normalizeFeatures(data.features);
const splits = randomNodeSplit(data.labels, { trainPerClass: 20, validPerClass: 30, seed: run.seed });

manualSeed(run.seed);
const model = new gnn.GraphSAGE([features.shape[1], 64, data.numClasses], { dropout: 0.5 });
const optimizer = new nn.Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
run.done(
  await trainNodeClassifier({
    model,
    data: { ...data, features, splits },
    optimizer,
    epochs: 50,
    patience: 20,
    monitor: 'loss',
    sampling: { fanouts: [15, 10], batchSize: 50, seed: run.seed },
    seed: run.seed,
    onEpoch: run.onEpoch,
  }),
);
