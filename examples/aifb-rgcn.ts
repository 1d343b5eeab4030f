/**
 * A relational GCN that finds the research group of 36 people in the RDF graph of an institute (AIFB): 8,285 entities,
 * 45 relations, no features.
 *   npm run example -- aifb-rgcn [--seed 3] [--json]
 */
import { Graph, gnn, manualSeed, nn, trainNodeClassifier } from 'skein';
import { loadDataset } from 'skein/data';
import { startExample } from './shared/report.js';

const run = startExample(10);
const data = await loadDataset('aifb');

// Every fact also in reverse, as a separate relation.
const count = data.relations.length;
const numNodes = data.entities.length;
const graph = Graph.fromEdges([...data.src, ...data.dst], [...data.dst, ...data.src], { numNodes });
const edgeData = Int32Array.of(...data.rel, ...data.rel.map((r) => r + count));

manualSeed(run.seed);
const model = new gnn.RGCN([numNodes, 16, data.numClasses], { relations: 2 * count });
const optimizer = new nn.Adam(model.parameters(), { lr: 0.01 });
run.done(
  await trainNodeClassifier({
    model,
    // There are few labels, so all of them train: a fixed number of epochs and no validation, as in the paper.
    data: { ...data, graph, edgeData, features: null, splits: { ...data.splits, valid: new Int32Array(0) } },
    optimizer,
    epochs: 50,
    seed: run.seed,
    onEpoch: run.onEpoch,
  }),
);
