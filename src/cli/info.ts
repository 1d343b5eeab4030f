/** The work of `skein info <path>`: says what a run, a checkpoint, a prepared dataset or a file of events is. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PreparedDataset, readTemporal } from '../data/index.js';
import {
  describeRun,
  describeTemporalRun,
  formatMetric,
  isRunDirectory,
  isTemporalRun,
  metricCell,
  Output,
  type RunDescription,
} from '../train/index.js';
import { StateError } from '../util/errors.js';

export async function infoCommand(path: string, json: boolean): Promise<void> {
  const output = new Output({ json });
  const directory = resolve(path);
  if (isRunDirectory(directory)) printRun(await describe(directory), output);
  else if (existsSync(join(directory, 'dataset.yaml'))) await printDataset(directory, output);
  else if (existsSync(join(directory, 'model.safetensors')) && isRunDirectory(dirname(directory)))
    await printCheckpoint(directory, output);
  else if (hasEvents(directory)) await printEvents(directory, output);
  else
    throw new StateError(
      `info: expected the directory of a run, a checkpoint or a prepared dataset, got ${path}. It has no full_config.yaml and no dataset.yaml.`,
    );
}

function describe(directory: string): Promise<RunDescription> {
  return isTemporalRun(directory) ? describeTemporalRun(directory) : describeRun(directory);
}

/** Whether a path is a file of events by its name, or a folder with one. */
export function hasEvents(path: string): boolean {
  if (!existsSync(path)) return false;
  if (!statSync(path).isDirectory()) return /\.(csv|txt|tsv|edges)(\.gz)?$/.test(path);
  return readdirSync(path).some((name) => /^(edges|ml_.*)\.csv(\.gz)?$/.test(name));
}

async function printEvents(path: string, output: Output): Promise<void> {
  const { name, events, numNodes, featureWidth, dstPool, bipartite, typeNames } = await readTemporal(path, {
    sort: true,
  });
  const { src, time } = events;
  const [first, last] = src.length === 0 ? [0, 0] : [time[0], time[src.length - 1]];
  output.text(`events ${name} (${path})`);
  output.text(`nodes       ${count(numNodes)}${bipartite ? ', sources and destinations apart' : ''}`);
  output.text(`events      ${count(src.length)} from ${first} to ${last}`);
  output.text(`pool        ${count(dstPool.length)} destinations`);
  if (featureWidth > 0) output.text(`features    ${featureWidth} an event`);
  if (typeNames !== null) output.text(`types       ${typeNames.slice(0, 8).join(', ')}`);
  const facts = {
    nodes: numNodes,
    events: src.length,
    destinations: dstPool.length,
    featureWidth,
    bipartite,
  };
  output.event('done', { kind: 'events', path, name, ...facts, first, last });
}

const count = (value: number): string => value.toLocaleString('en');

function printRun(run: RunDescription, output: Output): void {
  const state = run.finished
    ? 'finished'
    : run.checkpoints.length === 0
      ? 'no checkpoint yet'
      : 'not finished';
  output.text(`run ${run.directory} (${state})`);
  output.text(`task        ${run.task}`);
  output.text(`model       ${run.model}`);
  output.text(`dataset     ${run.dataset}${run.nodes > 0 ? `, ${count(run.nodes)} nodes` : ''}`);
  output.text(`epochs      ${run.epochs} of ${Math.max(run.epochs, run.plannedEpochs)}`);
  if (run.best !== null)
    output.text(`best        ${formatMetric(run.best.value)} on validation in epoch ${run.best.epoch}`);
  const saved = run.checkpoints.map(({ name, epoch }) => `${name === '' ? 'final' : name} (epoch ${epoch})`);
  if (saved.length > 0) output.text(`checkpoints ${saved.join(', ')}`);
  for (const [set, values] of Object.entries(run.metrics)) {
    const cells = Object.entries(values).map(([name, value]) => metricCell(name, value));
    output.text(`${set.padEnd(11)} ${cells.join('  ')}`);
  }
  output.event('done', { ...run });
}

async function printCheckpoint(directory: string, output: Output): Promise<void> {
  const run = await describe(dirname(directory));
  const name = basename(directory);
  const own = run.checkpoints.find((one) => one.name === name);
  output.text(`checkpoint ${directory} of epoch ${own?.epoch ?? '?'}`);
  output.text(`run         ${run.directory}, ${run.task}, ${run.model}`);
  output.event('done', {
    kind: 'checkpoint',
    directory,
    name,
    epoch: own?.epoch ?? null,
    run: run.directory,
  });
}

async function printDataset(directory: string, output: Output): Promise<void> {
  const dataset = await PreparedDataset.open(directory);
  const { stats } = dataset;
  const what = dataset.hasNodeSplits ? 'nodes' : 'edges';
  const lines: [string, string | null][] = [
    ['nodes', count(stats.num_nodes)],
    ['relations', dataset.hasRelations ? count(stats.num_relations) : null],
    ['edges', count(stats.num_edges)],
    ['training', `${count(Math.max(0, stats.num_train))} ${what}`],
    ['validation', stats.num_valid > 0 ? `${count(stats.num_valid)} ${what}` : 'none'],
    ['test', stats.num_test > 0 ? `${count(stats.num_test)} ${what}` : 'none'],
    ['features', stats.node_feature_dim > 0 ? `${stats.node_feature_dim} a node` : null],
    ['classes', stats.num_classes > 0 ? String(stats.num_classes) : null],
    ['partitions', stats.num_partitions > 1 ? String(stats.num_partitions) : null],
  ];
  const runs = readdirSync(directory).filter(
    (name) => /^model_\d+$/.test(name) && isRunDirectory(join(directory, name)),
  );
  output.text(`prepared dataset ${directory}${dataset.details === null ? ' (written by Marius)' : ''}`);
  for (const [name, value] of lines) if (value !== null) output.text(`${name.padEnd(11)} ${value}`);
  if (runs.length > 0) output.text(`runs        ${runs.join(', ')}`);
  output.event('done', { kind: 'dataset', directory, ...stats, runs });
}
