/** Small graphs and configurations for tests of the commands that read runs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preprocess } from '../../data/index.js';
import { Random } from '../../util/philox.js';

/** 100 nodes e0 …, 1000 edges, 10 relations r0 …: relation k leads about 3k + 1 further. */
function writeEdges(path: string): void {
  const random = new Random(7);
  const lines = new Set<string>();
  while (lines.size < 1000) {
    const [from, kind] = [random.nextInt(100), random.nextInt(10)];
    lines.add(`e${from}\tr${kind}\te${(from + 1 + 3 * kind + random.nextInt(3)) % 100}\n`);
  }
  writeFileSync(path, [...lines].join(''));
}

const linksConfig = (folder: string, directory: string, model: string, storage = ''): string => `model:
  random_seed: 3
  learning_task: LINK_PREDICTION
  encoder: { layers: [[{ type: EMBEDDING, output_dim: 16 }]] }
  decoder: { type: ${model} }
  loss: { type: SOFTMAX_CE }
storage:
  model_dir: ${join(folder, directory)}
  dataset: { dataset_dir: ${join(folder, storage === '' ? 'graph' : 'graph-p4')} }
${storage}
training: { batch_size: 100, num_epochs: 4, negative_sampling: { negatives_per_positive: 20 }, checkpoint: { interval: 2 } }
evaluation: { negative_sampling: { filtered: true } }
`;

/** A class for each node, near in features to its class; edges mostly within classes. */
function writeNodes(folder: string): void {
  const random = new Random(11);
  const ids = Array.from({ length: 100 }, (_, i) => i);
  const classOf = (i: number): number => i % 3;
  const lines = (of: (i: number) => string): string => ids.map((i) => `n${i},${of(i)}\n`).join('');
  writeFileSync(
    join(folder, 'labels.csv'),
    lines((i) => ['red', 'green', 'blue'][classOf(i)]),
  );
  const near = (i: number, j: number): number => (j === classOf(i) ? 1 : 0) + random.nextFloat() / 4;
  writeFileSync(
    join(folder, 'features.csv'),
    lines((i) => [0, 1, 2, 3].map((j) => near(i, j).toFixed(4)).join(',')),
  );
  const edges = ids.flatMap((i) => [3, 6, 10].map((step) => `n${i},n${(i + step) % 100}\n`));
  writeFileSync(join(folder, 'node-edges.csv'), edges.join(''));
}

const layer = (out: number): string =>
  `[{ type: GNN, options: { type: GRAPH_SAGE, aggregator: MEAN }, input_dim: 4, output_dim: ${out} }]`;

/** The configuration of a model over the features and edges of nodes. */
export const nodesConfig = (folder: string, task: string, decoder: string, out: number): string => `model:
  random_seed: 5
  learning_task: ${task}
  encoder:
    train_neighbor_sampling: [{ type: ALL }]
    layers: [[{ type: FEATURE, output_dim: 4 }], ${layer(out)}]
  decoder: { type: ${decoder} }
  loss: { type: ${task === 'NODE_CLASSIFICATION' ? 'CROSS_ENTROPY' : 'SOFTMAX_CE'} }
  dense_optimizer: { type: ADAM, options: { learning_rate: 0.05 } }
storage:
  dataset: { dataset_dir: ${join(folder, 'nodes')} }
  export_encoded_nodes: true
training: { batch_size: 20, num_epochs: 15, negative_sampling: { negatives_per_positive: 5 } }
`;

/** Prepares graph, graph-p4 (four partitions) and nodes; writes links.yaml, buffered.yaml and nodes.yaml. */
export async function writeRunFiles(folder: string): Promise<void> {
  const at = (name: string): string => join(folder, name);
  writeEdges(at('edges.tsv'));
  const shared = { edges: at('edges.tsv'), split: [0.9, 0.05, 0.05], inProcess: true };
  await preprocess({ ...shared, outputDir: at('graph') });
  writeFileSync(at('links.yaml'), linksConfig(folder, 'run', 'DISTMULT'));
  await preprocess({ ...shared, outputDir: at('graph-p4'), partitions: 4 });
  const buffer = '{ type: PARTITION_BUFFER, options: { num_partitions: 4, buffer_capacity: 2 } }';
  writeFileSync(at('buffered.yaml'), linksConfig(folder, 'buffered', 'COMPLEX', `  embeddings: ${buffer}`));
  writeNodes(folder);
  await preprocess({
    ...{ outputDir: at('nodes'), edges: at('node-edges.csv'), inProcess: true },
    ...{ nodeFeatures: at('features.csv'), nodeLabels: at('labels.csv'), nodeSplit: [0.5, 0.2, 0.3] },
  });
  writeFileSync(at('nodes.yaml'), nodesConfig(folder, 'NODE_CLASSIFICATION', 'NODE', 3));
}
