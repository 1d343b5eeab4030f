/** The work of `skein info <path>`: describes a run, a checkpoint, a packed model, a search, a configuration, a prepared dataset, partitions or an event file. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PreparedDataset, readTemporal, type TemporalData } from '../data/index.js';
import { countEdges } from '../data/prepare/dataset-yaml.js';
import { checkEventColumns } from '../data/temporal/read-temporal.js';
import { describePartitions, isPartitionDirectory } from '../dist/partition/load-partition-data.js';
import { describeConfigFile, describeRun, type RunDescription } from '../train/describe-run.js';
import { isRunDirectory } from '../train/find-run.js';
import { Output } from '../train/index.js';
import { formatMetric, type MetricValues, metricCell } from '../train/run/reporter.js';
import { baselineNote } from '../train/run/training-advice.js';
import { isPackedRun, withRunDirectory } from '../train/run/unpacked-run.js';
import { describeSearch, isSearchDirectory } from '../train/search/describe-search.js';
import { streamOptionsOf } from '../train/tasks/events/stream-options.js';
import { StateError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { compareNaturally } from '../util/natural-order.js';
import { formatSize } from '../util/size.js';
import { printPartitions } from './partition.js';

/** `overrides` are configuration keys that control how an event file is read. */
export async function infoCommand(
  path: string,
  json: boolean,
  overrides: readonly string[] = [],
): Promise<void> {
  const output = new Output({ json });
  const directory = resolve(path);
  if (overrides.length > 0 && !hasEvents(directory))
    throw new ValueError(
      `info: expected an event file with --${overrides[0]}, got ${directory}. Leave the key out.`,
    );
  if (isPackedRun(directory)) await printPacked(directory, output);
  else if (isRunDirectory(directory)) printRun(await describeRun(directory), output);
  else if (existsSync(join(directory, 'dataset.yaml'))) await printDataset(directory, output);
  else if (existsSync(join(directory, 'model.safetensors')) && isRunDirectory(dirname(directory)))
    await printCheckpoint(directory, output);
  else if (await isPartitionDirectory(directory)) {
    const partitions = await describePartitions(directory);
    printPartitions(partitions, output);
    output.event('done', { kind: 'partitions', ...partitions });
  } else if (isSearchDirectory(directory)) printSearch(directory, output);
  else if (/\.ya?ml$/.test(directory) && existsSync(directory)) printConfiguration(directory, output);
  else if (hasEvents(directory)) await printEvents(directory, output, overrides);
  else throw notDescribed(directory);
}

/** Returns the error for a path that is nothing that `info` describes. */
function notDescribed(path: string): StateError {
  const what =
    'the directory of a run, a checkpoint, a search, a prepared dataset or partitions, a packed model, a configuration or an event file';
  if (!existsSync(path))
    return new StateError(`info: expected ${what}, got ${path}, which does not exist. Check the path.`);
  if (existsSync(join(path, 'stream.json')))
    return new StateError(
      `info: expected ${what}, got ${path}, which is the state of a stream. Open it with "${invocation()} serve <run> --state ${path}" and ask for GET /status.`,
    );
  return new StateError(
    `info: expected ${what}, got ${path}. It has no full_config.yaml, no dataset.yaml, no search.yaml, no description of partitions and no event file (.csv, .txt, .tsv), and is not a packed model (.tgz) or a configuration (.yaml).`,
  );
}

/** Returns whether a path is, by its name, an event file or a folder with one. */
export function hasEvents(path: string): boolean {
  if (!existsSync(path)) return false;
  if (!statSync(path).isDirectory())
    return /\.(csv|txt|tsv|edges)(\.gz)?$|\.(parquet|jsonl|ndjson)$/.test(path);
  // Prepared datasets and runs have text files that are not event files.
  const names = readdirSync(path);
  if (names.includes('dataset.yaml') || names.includes('full_config.yaml')) return false;
  return names.some((name) => /\.(csv|txt|tsv|edges)(\.gz)?$/.test(name));
}

async function printEvents(path: string, output: Output, overrides: readonly string[]): Promise<void> {
  const options = streamOptionsOf(path, overrides);
  await checkEventColumns(path, options);
  const data = await readTemporal(path, { ...options, sort: true });
  const { name, events, numNodes, nodes, featureWidth, dstPool, bipartite, typeNames } = data;
  const { featureNames = [], leftOut = [], stepsBack = 0, labels } = data;
  const { src, time } = events;
  const [first, last] = src.length === 0 ? [0, 0] : [time[0], time[src.length - 1]];
  output.text(`events ${name} (${path})`);
  output.text(`nodes       ${count(numNodes)}${bipartite ? ', bipartite' : ''}`);
  output.text(`events      ${count(src.length)} from ${first} to ${last}`);
  output.text(`pool        ${count(dstPool.length)} destinations`);
  if (numNodes > 0) output.text(`ids         ${describeIds(data)}`);
  if (featureWidth > 0)
    output.text(
      `features    ${featureWidth} per event${featureNames.length > 0 ? ` (${abbreviate(featureNames)})` : ''}`,
    );
  if (labels !== null) output.text('labels      one per event');
  if (typeNames !== null) output.text(`types       ${abbreviate(typeNames)}`);
  if (leftOut.length > 0) output.text(`ignored     ${abbreviate(leftOut)}`);
  if (stepsBack > 0)
    output.text(
      `order       ${count(stepsBack)} events are earlier than the preceding one: train with --dataset.sort=true`,
    );
  const facts = {
    nodes: numNodes,
    events: src.length,
    destinations: dstPool.length,
    featureWidth,
    bipartite,
    ids: nodes.kind,
    sorted: stepsBack === 0,
    ...(featureNames.length > 0 ? { featureNames } : {}),
    ...(leftOut.length > 0 ? { leftOut } : {}),
  };
  output.event('done', { kind: 'events', path, name, ...facts, first, last });
}

/** Describes the node ids of the file. */
function describeIds({ nodes, numNodes }: TemporalData): string {
  const example = `${nodes.nameOf(0)} to ${nodes.nameOf(numNodes - 1)}`;
  switch (nodes.kind) {
    case 'same':
    case 'shifted':
      return `numbers from ${example}`;
    case 'ids':
      return 'numbers with gaps, numbered by first appearance';
    case 'names':
      return 'text, numbered by first appearance';
    case 'sides': {
      const kinds = new Set(nodes.sides?.map(({ kind }) => kind));
      const numbered = kinds.has('ids') || kinds.has('names') ? ', numbered by first appearance' : '';
      return `separate for sources and destinations${numbered}`;
    }
  }
}

function abbreviate(names: readonly string[]): string {
  return `${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}`;
}

const count = (value: number): string => value.toLocaleString('en');

/** Describes the run that was packed, under the name of the file: where it is unpacked is of no use to the reader. */
async function printPacked(file: string, output: Output): Promise<void> {
  const run = await withRunDirectory(file, describeRun);
  // The dataset is a part of the file; where it was unpacked is gone.
  const described = { ...run, directory: file, datasetFound: null };
  printRun(described, output, { packed: true, bytes: statSync(file).size });
}

/** @param packed fields of `--json` about the archive that the run is in */
function printRun(
  run: RunDescription,
  output: Output,
  packed?: { readonly packed: true; readonly bytes: number },
): void {
  const state = run.finished
    ? 'finished'
    : run.checkpoints.length === 0
      ? 'no checkpoint yet'
      : 'not finished';
  output.text(
    packed === undefined
      ? `run ${run.directory} (${state})`
      : `packed model ${run.directory} (${formatSize(packed.bytes)})`,
  );
  output.text(`task        ${run.task}`);
  output.text(`model       ${run.model}`);
  // The dataset of a packed model is a folder of the archive, whose name says nothing.
  const facts = [
    ...(packed === undefined ? [datasetPlace(run)] : []),
    ...(run.nodes > 0 ? [`${count(run.nodes)} nodes`] : []),
  ];
  if (facts.length > 0) output.text(`dataset     ${facts.join(', ')}`);
  output.text(`epochs      ${run.epochs} of ${Math.max(run.epochs, run.plannedEpochs)}`);
  if (run.best !== null)
    output.text(
      `best        ${run.best.metric === null ? '' : `${run.best.metric} `}${formatMetric(run.best.value)} on validation in epoch ${run.best.epoch}`,
    );
  const saved = run.checkpoints.map(({ name, epoch }) => `${name === '' ? 'final' : name} (epoch ${epoch})`);
  if (saved.length > 0 && packed === undefined) output.text(`checkpoints ${saved.join(', ')}`);
  if (packed === undefined && run.opened !== null && run.opened.name !== '')
    output.text(`used        ${run.opened.name} (epoch ${run.opened.epoch}), by eval, query and predict`);
  for (const [set, values] of Object.entries(run.metrics)) output.text(`${set.padEnd(11)} ${cells(values)}`);
  for (const one of run.baselines)
    output.text(`${'baseline'.padEnd(11)} ${cells(one.metrics)}  ${baselineNote(one, itemsOf(run))}`);
  output.event('done', { ...run, ...packed });
}

function printSearch(directory: string, output: Output): void {
  const search = describeSearch(directory);
  const { keys, trials, trained, failed, best } = search;
  output.text(`search ${directory} (${best === null ? 'not finished' : 'finished'})`);
  output.text(`space       ${abbreviate(keys)}`);
  output.text(`trials      ${trained} of ${trials} trained${failed === 0 ? '' : `, ${failed} failed`}`);
  if (best === null) output.text(`resume      ${invocation()} search ${directory}`);
  else output.text(`best        ${best.path}. ${best.summary}`);
  output.event('done', { ...search });
}

function printConfiguration(path: string, output: Output): void {
  const config = describeConfigFile(path);
  const { task, model, dataset, plannedEpochs, directory } = config;
  output.text(`configuration ${path}`);
  output.text(`task        ${task}`);
  output.text(`model       ${model}`);
  output.text(`dataset     ${dataset}`);
  output.text(`epochs      ${plannedEpochs}`);
  if (directory !== null && isRunDirectory(directory))
    output.text(`run         ${directory}: ${invocation()} info ${directory}`);
  else output.text(`run         none yet: ${invocation()} train ${path}`);
  output.event('done', { ...config });
}

/** Returns the dataset of a run, and what commands use if it is gone. */
function datasetPlace({ directory, dataset, datasetFound: found }: RunDescription): string {
  if (found === null) return `${dataset} (not found)`;
  if (resolve(found) === resolve(dataset) || found === dataset) return dataset;
  const used = found === join(resolve(directory), 'dataset') ? "the run's own folder dataset" : found;
  return `${dataset} (no longer there; commands use ${used})`;
}

const cells = (values: MetricValues): string =>
  Object.entries(values)
    .map(([name, value]) => metricCell(name, value))
    .join('  ');

/** Returns what a run evaluates. */
function itemsOf({ task }: RunDescription): string {
  if (task === 'NODE_CLASSIFICATION') return 'nodes';
  return task === 'LINK_PREDICTION' ? 'edges' : 'events';
}

async function printCheckpoint(directory: string, output: Output): Promise<void> {
  const run = await describeRun(dirname(directory));
  const name = basename(directory);
  const checkpoint = run.checkpoints.find((one) => one.name === name);
  output.text(`checkpoint ${directory} of epoch ${checkpoint?.epoch ?? '?'}`);
  output.text(`run         ${run.directory}, ${run.task}, ${run.model}`);
  output.event('done', {
    kind: 'checkpoint',
    directory,
    name,
    epoch: checkpoint?.epoch ?? null,
    run: run.directory,
  });
}

/** Returns the number of nodes of each type as text; null if there is one type. */
async function describeTypes(dataset: PreparedDataset): Promise<string | null> {
  const { nodeTypes } = dataset;
  const types = await dataset.readNodeTypes();
  if (nodeTypes === null || types === null) return null;
  const counts = nodeTypes.map((_, index) => types.reduce((sum, type) => sum + (type === index ? 1 : 0), 0));
  return nodeTypes.map((type, i) => `${type} (${count(counts[i])})`).join(', ');
}

async function printDataset(directory: string, output: Output): Promise<void> {
  const dataset = await PreparedDataset.open(directory);
  const { stats } = dataset;
  const what = dataset.hasNodeSplits ? 'nodes' : 'edges';
  const lines: [string, string | null][] = [
    ['nodes', count(stats.num_nodes)],
    ['relations', dataset.hasRelations ? count(stats.num_relations) : null],
    ['node types', await describeTypes(dataset)],
    ['edges', count(countEdges(stats, dataset.hasNodeSplits))],
    ['training', `${count(Math.max(0, stats.num_train))} ${what}`],
    ['validation', stats.num_valid > 0 ? `${count(stats.num_valid)} ${what}` : 'none'],
    ['test', stats.num_test > 0 ? `${count(stats.num_test)} ${what}` : 'none'],
    ['features', stats.node_feature_dim > 0 ? `${stats.node_feature_dim} per node` : null],
    ['classes', stats.num_classes > 0 ? String(stats.num_classes) : null],
    ['partitions', stats.num_partitions > 1 ? String(stats.num_partitions) : null],
  ];
  const runs = readdirSync(directory)
    .filter((name) => /^model_\d+$/.test(name) && isRunDirectory(join(directory, name)))
    .sort(compareNaturally);
  output.text(`prepared dataset ${directory}${dataset.details === null ? ' (written by Marius)' : ''}`);
  for (const [name, value] of lines) if (value !== null) output.text(`${name.padEnd(11)} ${value}`);
  if (runs.length > 0) output.text(`runs        ${runs.join(', ')}`);
  output.event('done', { kind: 'dataset', directory, ...stats, runs });
}
