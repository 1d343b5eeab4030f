/** Statistics of the dataset that a configuration names, as far as they are known without preparing it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PreparedDataset } from '../../data/index.js';
import { ConfigError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { nearest } from '../../util/nearest.js';
import { type DatasetFacts, factsOf } from './check-dataset.js';

/** Returns the facts of `dataset`: a prepared directory, or a dataset name of ours or of Marius. */
export async function datasetFacts(dataset: string): Promise<DatasetFacts> {
  // Imported on demand: checking a file needs neither datasets nor kernels.
  const { catalogue, datasetNames, PreparedDataset } = await import('../../data/index.js');
  const { catalogueName, preparedFolder } = await import('../../data/prepare/prepare-dataset.js');
  if (existsSync(join(dataset, 'dataset.yaml'))) return preparedFacts(await PreparedDataset.open(dataset));
  const name = catalogueName(dataset);
  if (name === undefined) {
    const close = nearest(dataset, datasetNames);
    const names =
      close === undefined ? `Known datasets: ${datasetNames.join(', ')}.` : `Did you mean ${close}?`;
    const own = `Prepare a custom graph first: "${invocation()} preprocess --edges FILE --output-directory ${dataset}".`;
    throw new ConfigError(
      `config: expected a prepared directory or a known dataset for dataset, got ${JSON.stringify(dataset)}. ${names} ${own}`,
    );
  }
  const prepared = preparedFolder(name);
  if (existsSync(join(prepared, 'dataset.yaml'))) return preparedFacts(await PreparedDataset.open(prepared));
  const { counts } = catalogue[name];
  return {
    num_nodes: counts['nodes'] ?? counts['entities'] ?? -1,
    num_relations: counts['relations'] ?? 1,
    num_train: counts['train'] ?? counts['edges'] ?? counts['facts'] ?? counts['events'] ?? -1,
    node_feature_dim: counts['features'] ?? -1,
    num_classes: counts['classes'] ?? -1,
  };
}

async function preparedFacts(dataset: PreparedDataset): Promise<DatasetFacts> {
  return { ...factsOf(dataset), is_bipartite: await isBipartite(dataset) };
}

/** Edges that are read to find out whether heads and tails are different nodes. */
const mostRead = 2 ** 24;

/** Returns whether a graph has one relation, and heads and tails that are different nodes. */
async function isBipartite(dataset: PreparedDataset): Promise<boolean> {
  const { num_relations: relations, num_nodes: nodes } = dataset.stats;
  if (relations > 1) return false;
  if (dataset.nodeTypes !== null) return true;
  const { rows = 0, columns = 2 } = dataset.edgeFile('train') ?? {};
  if (rows === 0 || rows > mostRead) return false;
  const edges = await dataset.readEdges('train');
  const ends = new Uint8Array(nodes);
  for (let i = 0; i < edges.length; i += columns) ends[edges[i]] = 1;
  for (let i = columns - 1; i < edges.length; i += columns) if (ends[edges[i]] === 1) return false;
  return true;
}
