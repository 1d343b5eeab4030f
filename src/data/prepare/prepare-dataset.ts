/**
 * Prepares datasets of the catalogue, by our names or Marius's (FB15K_237 is fb15k-237).
 *
 * Knowledge graphs keep their published splits. Graphs with classified nodes keep their published node split, or get a
 * seeded one (20 training and 30 validation nodes per class; half and a quarter of all nodes if a class has under 100).
 * Events are split at random.
 */
import { join } from 'node:path';
import { SparseMatrix } from '../../graph/index.js';
import { temporaryName } from '../../storage/temporary-name.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Random } from '../../util/philox.js';
import { type DatasetName, datasetNames } from '../catalogue.js';
import type { Dataset, NodeDataset } from '../dataset.js';
import { csvField } from '../formats/csv-text.js';
import { type LoadDatasetOptions, loadDataset } from '../load-dataset.js';
import type { NodeSplits } from '../node-data.js';
import { randomNodeSplit } from '../transforms.js';
import type { WordNet } from '../wordnet.js';
import { synsetText, textColumns } from '../wordnet-text.js';
import type { PreparedStats } from './dataset-yaml.js';
import {
  arraySource,
  type FeatureBlock,
  type GraphSource,
  type NodeTables,
  type OnPrepareProgress,
} from './graph-source.js';
import { NodeText } from './node-text.js';
import { buildFolder, checkTarget } from './output-folder.js';
import { writePrepared } from './write-prepared.js';

export interface PrepareDatasetOptions extends LoadDatasetOptions {
  /** Default: data/prepared/<name>, with -p<partitions> if there are several. */
  readonly outputDir?: string;
  /** Default 1. */
  readonly partitions?: number;
  readonly partitionedEval?: boolean;
  /** Default 1. */
  readonly seed?: number;
  /** Fractions of the edges for datasets without published splits. Default 0.9, 0.05, 0.05. */
  readonly split?: readonly number[];
  readonly sequentialTrainNodes?: boolean;
  /** Keep the numbers of the dataset. Default: a seeded permutation, with mapping files. */
  readonly noRemapIds?: boolean;
  readonly overwrite?: boolean;
  readonly progress?: OnPrepareProgress;
}

/** Returns the catalogue name for one of Marius's or ours; undefined if there is none. */
export function catalogueName(name: string): DatasetName | undefined {
  const ours = name.toLowerCase().replaceAll('_', '-');
  return datasetNames.find((known) => known === ours);
}

/** Returns the default folder of a prepared catalogue dataset, below the working directory; `train` uses it too. */
export function preparedFolder(name: DatasetName, partitions = 1): string {
  return join('data', 'prepared', partitions === 1 ? name : `${name}-p${partitions}`);
}

/**
 * Prepares a dataset of the catalogue.
 *
 * @example
 * await prepareDataset('FB15K_237', { outputDir: 'fb15k-237', partitions: 16 });
 */
export async function prepareDataset(
  name: string,
  options: PrepareDatasetOptions = {},
): Promise<PreparedStats> {
  checkOptionNames('prepareDataset', options, {
    root: true,
    download: true,
    mirror: true,
    outputDir: true,
    partitions: true,
    partitionedEval: true,
    seed: true,
    split: true,
    sequentialTrainNodes: true,
    noRemapIds: true,
    overwrite: true,
    progress: true,
  });
  const where = 'prepareDataset';
  const known = catalogueName(name);
  if (known === undefined)
    throw new ValueError(expected(where, `one of ${datasetNames.join(', ')}`, 'name', name));
  const outputDir = options.outputDir ?? preparedFolder(known, options.partitions);
  const seed = checkInteger(where, 'seed', options.seed ?? 1);
  checkTarget(where, outputDir, options.overwrite ?? false);
  const load = {
    ...(options.root === undefined ? {} : { root: options.root }),
    ...(options.download === undefined ? {} : { download: options.download }),
    ...(options.mirror === undefined ? {} : { mirror: options.mirror }),
  };
  const source = datasetSource(await loadDataset(known, load), seed);
  const hasSplits = source.splitSizes.length > 1 || source.nodes !== null;
  return buildFolder(
    temporaryName(outputDir),
    { where, outputDir, overwrite: options.overwrite ?? false },
    (folder) =>
      writePrepared(
        source,
        folder,
        {
          ...{ where, outputDir, seed, memoryBytes: 2 ** 26 },
          partitions: checkInteger(where, 'partitions', options.partitions ?? 1, 1, 2 ** 15),
          partitionedEval: options.partitionedEval ?? false,
          remap: !(options.noRemapIds ?? false),
          sequentialTrainNodes: options.sequentialTrainNodes ?? false,
          split: options.split ?? (hasSplits ? null : [0.9, 0.05, 0.05]),
        },
        options.progress ?? (() => {}),
      ),
  );
}

/** Returns a dataset in memory as a source. */
function datasetSource(dataset: Dataset, seed: number): GraphSource {
  switch (dataset.kind) {
    case 'facts':
      return arraySource({
        numNodes: dataset.entities.length,
        splits: [dataset.train, dataset.valid, dataset.test],
        nodeNames: dataset.entities,
        relationNames: dataset.relations,
        ...(isWordNet(dataset) ? wordNetFiles(dataset) : {}),
      });
    case 'events':
      return arraySource({
        numNodes: dataset.numNodes,
        splits: [
          { src: dataset.src, dst: dataset.dst, ...(dataset.type === null ? {} : { rel: dataset.type }) },
        ],
        nodeNames: dataset.names,
        relationNames: dataset.typeNames,
      });
    case 'entities':
      return arraySource({
        numNodes: dataset.entities.length,
        splits: [{ src: dataset.src, rel: dataset.rel, dst: dataset.dst }],
        nodeNames: dataset.entities,
        relationNames: dataset.relations,
        nodes: {
          features: null,
          labels: dataset.labels,
          numClasses: dataset.numClasses,
          classNames: dataset.classNames,
          splits: { ...dataset.splits, valid: new Int32Array(0) },
        },
      });
    case 'nodes': {
      const { src, dst } = dataset.graph.edges();
      return arraySource({
        numNodes: dataset.graph.numNodes,
        splits: [{ src, dst }],
        nodeNames: null,
        relationNames: null,
        nodes: nodeTables(dataset, seed),
      });
    }
  }
}

function isWordNet(dataset: Dataset): dataset is WordNet {
  return dataset.name === 'wordnet';
}

/** Returns the text of WordNet's synsets, and their glosses to show. */
function wordNetFiles(dataset: WordNet): { nodes: NodeTables; sideFiles: GraphSource['sideFiles'] } {
  const text = NodeText.build(textColumns, dataset.entities.length, (synset) => synsetText(dataset, synset));
  return {
    nodes: { features: null, labels: null, numClasses: 0, classNames: null, splits: null, text },
    sideFiles: { 'nodes/glosses.csv': glossLines(dataset) },
  };
}

/** Yields the gloss of each synset as lines `raw,gloss`. */
function* glossLines({ entities, glosses }: WordNet): Generator<string> {
  for (const [i, name] of entities.entries()) yield `${csvField(name, ',')},${csvField(glosses[i], ',')}\n`;
}

function nodeTables(dataset: NodeDataset, seed: number): NodeTables {
  const { labels, numClasses, classNames, features } = dataset;
  const sparse = features instanceof SparseMatrix;
  const width = sparse ? features.columns : features.shape[1];
  return {
    labels,
    numClasses,
    classNames: classNames ?? null,
    splits: dataset.splits ?? drawNodes(labels, numClasses, new Random(seed).split(4).nextUint32()),
    features: {
      width,
      blocks: () => (sparse ? sparseRows(features) : denseRows(features.array as Float32Array, width)),
    },
  };
}

/** Draws 20 + 30 nodes per class; in graphs too small for that, half of the nodes and a quarter. */
function drawNodes(labels: Int32Array, numClasses: number, seed: number): NodeSplits {
  const counts = new Int32Array(numClasses);
  for (const label of labels) if (label >= 0) counts[label]++;
  return counts.every((count) => count >= 100)
    ? randomNodeSplit(labels, { seed })
    : randomNodeSplit(labels, { seed, fractions: { train: 0.5, valid: 0.25 } });
}

const blockRows = 1024;

async function* denseRows(values: Float32Array, width: number): AsyncGenerator<FeatureBlock> {
  const rows = width === 0 ? 0 : values.length / width;
  for (let i = 0; i < rows; i += blockRows) {
    const nodes = range(i, Math.min(rows, i + blockRows));
    yield { nodes, values: values.subarray(i * width, (i + nodes.length) * width) };
  }
}

async function* sparseRows(features: SparseMatrix): AsyncGenerator<FeatureBlock> {
  for (let i = 0; i < features.rows; i += blockRows) {
    const nodes = range(i, Math.min(features.rows, i + blockRows));
    const dense = features.gatherRows(nodes).toDense();
    yield { nodes, values: dense.array as Float32Array };
    dense.dispose();
  }
}

function range(start: number, end: number): Int32Array {
  return Int32Array.from({ length: end - start }, (_, i) => start + i);
}
