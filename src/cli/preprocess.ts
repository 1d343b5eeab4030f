/** The work of `skein preprocess`: translates its options into those of the library, and prints progress and results. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PreprocessOptions } from '../data/index.js';
import type { PreparedStats } from '../data/prepare/dataset-yaml.js';
import { countEdges } from '../data/prepare/dataset-yaml.js';
import type { EdgeColumns } from '../data/prepare/preprocess-options.js';
import { Output } from '../train/run/output.js';
import { prepareProgress } from '../train/run/prepare-progress.js';
import { ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { nearest } from '../util/nearest.js';
import { rethrowWithOptionNames } from './options/option-names.js';
import { type HeaderOptions, parseColumn, resolveHeader } from './options/options.js';
import { onStopSignals } from './stop-signals.js';

export interface PreprocessCommand extends HeaderOptions {
  readonly outputDirectory?: string;
  readonly dataset?: string;
  readonly edges?: readonly string[];
  readonly query?: readonly string[];
  readonly database?: string;
  readonly nodeQuery?: string;
  readonly literals: boolean;
  readonly setup?: string;
  readonly format?: string;
  readonly delim?: string;
  readonly comment: string;
  readonly srcColumn?: string;
  readonly dstColumn?: string;
  readonly edgeTypeColumn?: string;
  readonly edgeWeightColumn?: string;
  readonly datasetSplit?: readonly number[];
  readonly numPartitions: number;
  readonly partitionedEval: boolean;
  readonly remapIds: boolean;
  readonly numNodes?: number;
  readonly numRelations?: number;
  readonly sequentialTrainNodes: boolean;
  readonly nodeTypes?: readonly string[];
  readonly nodes?: string;
  readonly nodeTable?: string;
  readonly idColumn?: string;
  readonly labelColumn?: string;
  readonly ignoreColumns?: readonly string[];
  readonly textColumns?: readonly string[];
  readonly nodeFeatures?: string;
  readonly nodeLabels?: string;
  readonly trainNodes?: string;
  readonly validNodes?: string;
  readonly testNodes?: string;
  readonly nodeSplit?: readonly number[];
  readonly memoryLimit?: number;
  readonly threads?: number;
  readonly overwrite: boolean;
  readonly download: boolean;
  readonly spark: boolean;
  readonly seed: number;
  readonly json: boolean;
}

export async function preprocessCommand(command: PreprocessCommand): Promise<void> {
  const output = new Output({ json: command.json });
  if (command.spark) output.warn('--spark has no effect: every graph is prepared out of core.');
  const started = performance.now();
  const known = command.dataset !== undefined && command.dataset.toLowerCase() !== 'custom';
  const stats = await (known ? prepareKnown(command, output) : prepareFiles(command, output)).catch(
    rethrowWithOptionNames,
  );
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  report(stats, output, seconds);
}

async function prepareKnown(command: PreprocessCommand, output: Output): Promise<PreparedStats> {
  const { datasetNames } = await import('../data/catalogue.js');
  const { catalogueName, prepareDataset } = await import('../data/prepare/prepare-dataset.js');
  if (command.edges !== undefined || command.query !== undefined)
    throw new ValueError(`preprocess: expected --dataset or edges, got both. Leave out one of them.`);
  const { dataset = '' } = command;
  if (catalogueName(dataset) === undefined) {
    const close = nearest(dataset, datasetNames);
    const names =
      close === undefined ? `Known datasets: ${datasetNames.join(', ')}.` : `Did you mean ${close}?`;
    throw new ValueError(
      `preprocess: expected a known dataset for --dataset, got ${JSON.stringify(dataset)}. ${names} For other graphs give the files: --edges FILE --output-directory DIRECTORY.`,
    );
  }
  return prepareDataset(dataset, {
    ...(command.outputDirectory === undefined ? {} : { outputDir: command.outputDirectory }),
    ...(command.datasetSplit === undefined ? {} : { split: command.datasetSplit }),
    partitions: command.numPartitions,
    partitionedEval: command.partitionedEval,
    seed: command.seed,
    sequentialTrainNodes: command.sequentialTrainNodes,
    noRemapIds: !command.remapIds,
    overwrite: command.overwrite,
    download: command.download,
    progress: prepareProgress(output),
  });
}

async function prepareFiles(command: PreprocessCommand, output: Output): Promise<PreparedStats> {
  const { preprocess } = await import('../data/index.js');
  if (command.outputDirectory === undefined)
    throw new ValueError('preprocess: expected a directory for --output-directory, got none.');
  const controller = new AbortController();
  const options = toLibraryOptions(command, command.outputDirectory);
  const onNote = (note: string): void => {
    output.note(note);
    output.event('note', { note });
  };
  return onStopSignals(
    () => controller.abort(),
    () => preprocess(options, prepareProgress(output), { signal: controller.signal, onNote }),
  );
}

/** Returns the options of the library, without those that are not given. */
function toLibraryOptions(command: PreprocessCommand, outputDir: string): PreprocessOptions {
  const given = {
    outputDir,
    ...edgeSources(command),
    literals: command.literals,
    setup: command.setup,
    format: command.format as EdgeColumns['format'],
    delimiter: command.delim?.replaceAll('\\t', '\t'),
    header: resolveHeader('preprocess', command),
    comment: command.comment,
    source: column(command.srcColumn),
    target: column(command.dstColumn),
    edgeType: column(command.edgeTypeColumn),
    edgeWeight: column(command.edgeWeightColumn),
    split: command.datasetSplit,
    partitions: command.numPartitions,
    partitionedEval: command.partitionedEval,
    noRemapIds: !command.remapIds,
    numNodes: command.numNodes,
    numRelations: command.numRelations,
    sequentialTrainNodes: command.sequentialTrainNodes,
    nodeTypes: command.nodeTypes,
    nodes: command.nodes,
    ...nodeTableSource(command),
    idColumn: column(command.idColumn),
    labelColumn: column(command.labelColumn),
    ignoreColumns: command.ignoreColumns?.map(parseColumn),
    textColumns: command.textColumns?.map(parseColumn),
    nodeFeatures: command.nodeFeatures,
    nodeLabels: command.nodeLabels,
    trainNodes: command.trainNodes,
    validNodes: command.validNodes,
    testNodes: command.testNodes,
    nodeSplit: command.nodeSplit,
    memoryLimit: command.memoryLimit,
    threads: command.threads,
    overwrite: command.overwrite,
    seed: command.seed,
  };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as unknown as PreprocessOptions;
}

/** Returns the edges: files, or queries of the database. */
function edgeSources({
  edges,
  query,
  database,
}: PreprocessCommand): Pick<PreprocessOptions, 'edges' | 'query'> {
  if (database === undefined) return { ...(edges && { edges }), ...(query && { query }) };
  if (query === undefined)
    throw new ValueError('preprocess: expected --query with --database, got none. Write --query "SELECT …".');
  if (edges !== undefined) throw new ValueError('preprocess: expected --edges or --query, got both.');
  return { edges: query.map((text) => ({ database, query: text })) };
}

function nodeTableSource({
  nodeTable,
  nodeQuery,
  database,
}: PreprocessCommand): Pick<PreprocessOptions, 'nodeTable' | 'nodeTableType'> {
  if (nodeQuery === undefined) return parseNodeTable(nodeTable);
  if (nodeTable !== undefined)
    throw new ValueError('preprocess: expected --node-table or --node-query, got both.');
  return { nodeTable: { query: nodeQuery, ...(database === undefined ? {} : { database }) } };
}

/** Parses `customer=customers.csv` as the table of one node type, unless a file of that name exists. */
function parseNodeTable(given: string | undefined): Pick<PreprocessOptions, 'nodeTable' | 'nodeTableType'> {
  const [, nodeTableType, nodeTable] = /^([^\s:,"=/\\]+)=(.+)$/.exec(given ?? '') ?? [];
  if (nodeTable === undefined || existsSync(given as string))
    return given === undefined ? {} : { nodeTable: given };
  return { nodeTable, nodeTableType };
}

function column(text: string | undefined): string | number | undefined {
  return text === undefined ? undefined : parseColumn(text);
}

function report(
  stats: PreparedStats & { readonly peakRssBytes?: number },
  output: Output,
  seconds: number,
): void {
  const { peakRssBytes, ...counts } = stats;
  const edges = countEdges(stats, existsSync(join(stats.dataset_dir, 'nodes/train_nodes.bin')));
  const lines = [
    `prepared ${stats.dataset_dir} in ${seconds} s`,
    `nodes ${stats.num_nodes}, relations ${stats.num_relations}, edges ${edges}, partitions ${stats.num_partitions}`,
    `training ${stats.num_train}, validation ${stats.num_valid}, test ${stats.num_test}`,
    ...(stats.num_classes > 0
      ? [
          `classes ${stats.num_classes}, features ${stats.node_feature_dim > 0 ? stats.node_feature_dim : 'none'}`,
        ]
      : []),
    ...(stats.num_valid <= 0 && stats.num_test <= 0
      ? [
          'no validation and no test set: training will report no metrics (split with --dataset-split 0.9 0.05 0.05)',
        ]
      : []),
    `next: ${invocation()} config ${stats.dataset_dir}`,
  ];
  for (const line of lines) output.text(line);
  if (stats.num_train === 0) {
    output.warn(
      'the training set has no nodes, so "skein train" will reject this dataset. Make it larger with --node-split or --train-nodes.',
    );
  }
  output.event('done', {
    ...counts,
    seconds,
    ...(peakRssBytes === undefined ? {} : { peak_rss_mb: Math.round(peakRssBytes / 2 ** 20) }),
  });
}
