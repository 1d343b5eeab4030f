/**
 * A two-layer GCN on PubMed, 19,717 papers on diabetes in 3 classes.
 *   npm run example -- pubmed-gcn [--seed 3] [--json]
 */
import { gnn, manualSeed, nn, trainNodeClassifier } from 'skein';
import { loadDataset, normalizeFeatures } from 'skein/data';
import { startExample } from './shared/report.js';

const run = startExample();
const data = await loadDataset('pubmed');
const features = normalizeFeatures(data.features);

manualSeed(run.seed);
const model = new gnn.GCN([features.shape[1], 16, data.numClasses], { dropout: 0.5 });
// Weight decay on the first layer only, as in the paper.
const [first, second] = model.layers;
const optimizer = new nn.Adam(
  [{ params: first.parameters(), weightDecay: 5e-4 }, { params: second.parameters() }],
  { lr: 0.01 },
);
run.done(
  await trainNodeClassifier({
    model,
    data: { ...data, features },
    optimizer,
    epochs: 200,
    seed: run.seed,
    onEpoch: run.onEpoch,
  }),
);
