/**
 * Datasets as graphs to partition, with fields under the names that SAR's examples use: features, labels (−1 unknown),
 * train_mask, val_mask and test_mask of nodes; relation, time and features of edges. Facts and events to be predicted
 * are not part of the graph.
 */
import type { Dataset } from '../../data/dataset.js';
import { type NodeDataset, type PreparedDataset, relationalGraph } from '../../data/index.js';
import { Graph } from '../../graph/index.js';
import { readWholeFile } from '../../storage/atomic-file.js';
import { fromTypedArray } from '../../tensor/index.js';
import { FormatError } from '../../util/errors.js';
import type { FeatureRows } from './partitioned-graph.js';

export interface PartitionSource {
  readonly name: string;
  readonly graph: Graph;
  readonly nodeFeatures: Readonly<Record<string, FeatureRows>>;
  readonly edgeFeatures: Readonly<Record<string, FeatureRows>>;
}

export function partitionSource(dataset: Dataset): PartitionSource {
  const { name } = dataset;
  switch (dataset.kind) {
    case 'nodes':
      return { name, graph: dataset.graph, nodeFeatures: nodeDatasetFields(dataset), edgeFeatures: {} };
    case 'facts': {
      const { entities, relations, train } = dataset;
      const { graph, edgeType } = relationalGraph({ entities, relations, ...train });
      return { name, graph, nodeFeatures: {}, edgeFeatures: { relation: fromTypedArray(edgeType.slice()) } };
    }
    case 'entities': {
      const { graph, edgeType } = relationalGraph(dataset);
      const { labels, splits } = dataset;
      return {
        name,
        graph,
        nodeFeatures: {
          labels: fromTypedArray(labels.slice()),
          train_mask: mask(splits.train, labels.length),
          test_mask: mask(splits.test, labels.length),
        },
        edgeFeatures: { relation: fromTypedArray(edgeType.slice()) },
      };
    }
    case 'events': {
      const { numNodes, src, dst, time, features, featureWidth } = dataset;
      const graph = Graph.fromEdges(src, dst, { numNodes });
      const edgeFeatures: Record<string, FeatureRows> = { time: fromTypedArray(time.slice()) };
      if (features !== null)
        edgeFeatures['features'] = fromTypedArray(features.slice(), [src.length, featureWidth]);
      return { name, graph, nodeFeatures: {}, edgeFeatures };
    }
  }
}

/** Returns the fields of a dataset with node labels. */
function nodeDatasetFields({ features, labels, splits }: NodeDataset): Record<string, FeatureRows> {
  const masks: Record<string, FeatureRows> =
    splits === null
      ? {}
      : {
          train_mask: mask(splits.train, labels.length),
          val_mask: mask(splits.valid, labels.length),
          test_mask: mask(splits.test, labels.length),
        };
  return { features, labels: fromTypedArray(labels.slice()), ...masks };
}

/** Returns the training edges and the node fields of a dataset prepared by `skein preprocess`. */
export async function preparedSource(name: string, dataset: PreparedDataset): Promise<PartitionSource> {
  const { num_nodes: numNodes } = dataset.stats;
  const width = dataset.numColumns;
  const rows = await dataset.readEdges('train');
  const column = (c: number): Int32Array =>
    Int32Array.from({ length: rows.length / width }, (_, i) => rows[i * width + c]);
  const edgeWeight = await dataset.readWeights('train');
  const options = edgeWeight === null ? { numNodes } : { numNodes, edgeWeight };
  const nodeFeatures: Record<string, FeatureRows> = {};
  const file = dataset.featuresFile();
  if (file !== null) {
    await dataset.checkFeatures();
    const bytes = await readWholeFile(file.path);
    if (bytes.length !== file.rows * file.width * 4)
      throw new FormatError(
        `${file.path}: expected ${file.rows * file.width * 4} bytes, got ${bytes.length}. Prepare the dataset again.`,
        { path: file.path },
      );
    nodeFeatures['features'] = fromTypedArray(new Float32Array(bytes.buffer, 0, file.rows * file.width), [
      file.rows,
      file.width,
    ]);
  }
  const labels = await dataset.readLabels();
  if (labels !== null) nodeFeatures['labels'] = fromTypedArray(labels);
  for (const [field, split] of [
    ['train_mask', 'train'],
    ['val_mask', 'validation'],
    ['test_mask', 'test'],
  ] as const) {
    const nodes = await dataset.readNodes(split);
    if (nodes !== null) nodeFeatures[field] = mask(nodes, numNodes);
  }
  return {
    name,
    graph: Graph.fromEdges(column(0), column(width - 1), options),
    nodeFeatures,
    edgeFeatures: width === 3 ? { relation: fromTypedArray(column(1)) } : {},
  };
}

function mask(ids: Int32Array, count: number): FeatureRows {
  const flags = new Uint8Array(count);
  for (const v of ids) flags[v] = 1;
  return fromTypedArray(flags);
}
