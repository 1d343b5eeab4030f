/** The work of `skein partition`: reads a graph, partitions it, writes the partitions and prints the cut and the balance. */
import { existsSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { otherIdsAdvice } from '../data/formats/edge-list.js';
import { type DatasetName, datasetNames, loadDataset, PreparedDataset, readEdgeList } from '../data/index.js';
import { partitionData, partitionGraph, writePartitions } from '../dist/index.js';
import {
  describePartitions,
  isPartitionDirectory,
  type PartitionDirectory,
} from '../dist/partition/load-partition-data.js';
import {
  type GraphPartitioner,
  type PartitionBalance,
  partitionerBytes,
} from '../dist/partition/partition-graph.js';
import { type PartitionSource, partitionSource, preparedSource } from '../dist/partition/partition-source.js';
import { addSelfLoops, Graph, removeSelfLoops, toUndirected } from '../graph/index.js';
import { Tensor } from '../tensor/index.js';
import { loadConfig } from '../train/config/index.js';
import { loadPlugins } from '../train/plugins.js';
import { Output } from '../train/run/output.js';
import { openDataset } from '../train/tasks/graph/storage/open-dataset.js';
import { partitionDataset } from '../train/tasks/nodes/sharded/partition-dataset.js';
import { expected, ValueError } from '../util/errors.js';
import { formatBytes } from '../util/size.js';
import type { PluginOptions } from './options/options.js';

export interface PartitionCommand extends PluginOptions {
  readonly numPartitions: number;
  readonly output: string;
  readonly algorithm: string;
  readonly balance: string;
  readonly dropSelfLoops: boolean;
  readonly bidirected: boolean;
  readonly addSelfLoops: boolean;
  readonly name?: string;
  readonly seed: number;
  readonly json: boolean;
}

export async function partitionCommand(target: string, command: PartitionCommand): Promise<void> {
  const output = new Output({ json: command.json });
  await loadPlugins(command.plugin, 'partition');
  const start = performance.now();
  if (/\.ya?ml$/.test(target)) {
    output.stage('partitioning the graph of the run');
    printPartitions(await partitionRun(target, command), output);
    output.doneIn();
    return;
  }
  output.stage('reading the graph');
  const source = transformSource(await loadSource(target, command.algorithm), command);
  const { graph, nodeFeatures, edgeFeatures } = source;
  const name = command.name ?? source.name.replaceAll(/[^\w.-]/g, '_');
  const trainMask = nodeFeatures['train_mask'];
  const algorithm = command.algorithm as GraphPartitioner;
  output.stage(`partitioning ${count(graph.numNodes)} nodes and ${count(graph.numEdges)} edges`);
  const cut = partitionGraph(graph, {
    parts: command.numPartitions,
    algorithm,
    balance: parseBalance(command.balance, trainMask instanceof Tensor ? trainMask : null),
    seed: command.seed,
    ...(edgeFeatures['time'] instanceof Tensor ? { time: edgeFeatures['time'].dataSync() } : {}),
  });
  const split = partitionData(graph, cut, { nodeFeatures, edgeFeatures });
  output.stage('writing partitions');
  const { path } = await writePartitions(resolve(command.output), split, { name, method: algorithm });
  const seconds = Math.round(performance.now() - start) / 1000;
  const directory = await describePartitions(path);
  printPartitions(directory, output);
  const { nodeBalance, edgeBalance, trainBalance } = cut.stats;
  output.text(
    `balance     nodes ${ratio(nodeBalance)}, edges ${ratio(edgeBalance)}${trainBalance === null ? '' : `, training nodes ${ratio(trainBalance)}`} (largest over mean)`,
  );
  output.event('done', { kind: 'partitions', ...directory, nodeBalance, edgeBalance, trainBalance, seconds });
  output.doneIn();
}

/** Partitions the graph that a training run would partition at its start, for `distributed.partition_dir`. */
async function partitionRun(path: string, command: PartitionCommand): Promise<PartitionDirectory> {
  const { dropSelfLoops, bidirected, addSelfLoops: loops, balance, name } = command;
  if (dropSelfLoops || bidirected || loops || balance !== '' || name !== undefined)
    throw new ValueError(
      'partition: expected only --num-partitions, --algorithm and --output with a configuration, got other options. The graph is the one that the run trains on.',
    );
  const { config } = loadConfig(path);
  const directory = resolve(command.output);
  if (await isPartitionDirectory(directory))
    throw new ValueError(`partition: expected a directory without partitions, got ${directory}.`);
  const json = await partitionDataset(
    config,
    {
      partitions: command.numPartitions,
      partition_algorithm: command.algorithm as GraphPartitioner,
    },
    await openDataset(config),
    directory,
  );
  return describePartitions(json);
}

/** Prints the contents of a partition directory; `skein info` does too. */
export function printPartitions(directory: PartitionDirectory, output: Output): void {
  const { path, format, name, method, numParts, nodes, edges, parts, cutEdges, halo } = directory;
  const total = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((sum, n) => sum + n, 0);
  const types = (counts: Readonly<Record<string, number>>): string =>
    Object.keys(counts).length === 1
      ? ''
      : ` (${Object.entries(counts)
          .map(([type, n]) => `${type} ${count(n)}`)
          .join(', ')})`;
  output.text(`partitions ${path}${format === 'dgl' ? ' (written by DGL)' : ''}`);
  output.text(
    `graph       ${name}, ${numParts} partitions by ${method === '' ? 'an unknown method' : method}`,
  );
  output.text(`nodes       ${count(total(nodes))}${types(nodes)}`);
  output.text(`edges       ${count(total(edges))}${types(edges)}`);
  if (cutEdges !== null)
    output.text(`cut         ${count(cutEdges)} edges${percentage(cutEdges, total(edges))}`);
  parts.forEach((part, p) => {
    const rows = halo === null ? '' : `, ${count(halo[p])} rows to fetch`;
    output.text(
      `${`partition ${p}`.padEnd(11)} ${count(part.nodes)} nodes, ${count(part.edges)} edges${rows}, ${formatBytes(part.bytes)}`,
    );
  });
}

const count = (value: number): string => value.toLocaleString('en');
const ratio = (value: number): string => value.toFixed(3);
const percentage = (value: number, total: number): string =>
  total === 0 ? '' : ` (${((100 * value) / total).toFixed(1)} %)`;

async function loadSource(target: string, algorithm: string): Promise<PartitionSource> {
  if ((datasetNames as readonly string[]).includes(target))
    return partitionSource(await loadDataset(target as DatasetName));
  const path = resolve(target);
  const name = basename(path).replace(/(\.\w+)+$/, '');
  if (existsSync(join(path, 'dataset.yaml'))) return preparedSource(name, await PreparedDataset.open(path));
  if (!existsSync(path) || statSync(path).isDirectory())
    throw new ValueError(
      expected(
        'partition',
        'a known dataset, a prepared dataset or an edge file',
        'graph',
        target,
        `Known datasets: ${datasetNames.join(', ')}.`,
      ),
    );
  const { edges, weight } = await readEdgeList(path).catch((error: Error) => {
    const advice = `Number the nodes first: ${numberingCommands(target)}.`;
    error.message = error.message.replace(otherIdsAdvice, advice);
    throw error;
  });
  const { src, dst, numNodes } = edges;
  checkMemory(target, algorithm, numNodes, src.length);
  const options = weight === null ? { numNodes } : { numNodes, edgeWeight: weight };
  return { name, graph: Graph.fromEdges(src, dst, options), nodeFeatures: {}, edgeFeatures: {} };
}

const numberingCommands = (file: string): string =>
  `skein preprocess --edges ${file} --output-directory <directory>, then skein partition <directory>`;

/** Throws if the graph does not fit in memory. Ids are node numbers, so one large id makes a large graph of few edges. */
function checkMemory(target: string, algorithm: string, nodes: number, edges: number): void {
  const memory = totalmem();
  const [node, edge] = partitionerBytes(algorithm as GraphPartitioner);
  const needed = nodes * node + edges * edge;
  if (needed <= 0.9 * memory) return;
  const got = `about ${formatBytes(needed)} for ${count(nodes)} nodes (the largest id is ${nodes - 1}) and ${count(edges)} edges`;
  throw new ValueError(
    `partition: expected a graph that fits in memory (${formatBytes(memory)}), got ${got}. If ids have gaps, number the nodes first: ${numberingCommands(target)}.`,
    { path: target },
  );
}

/** Applies --drop-self-loops, --bidirected and --add-self-loops. */
function transformSource(source: PartitionSource, command: PartitionCommand): PartitionSource {
  const flags = { dropSelfLoops: removeSelfLoops, bidirected: toUndirected, addSelfLoops } as const;
  let { graph } = source;
  for (const [flag, change] of Object.entries(flags)) {
    if (!command[flag as keyof typeof flags]) continue;
    const fields = Object.keys(source.edgeFeatures);
    if (fields.length > 0)
      throw new ValueError(
        `partition: expected a graph without edge data for flags that change edges, got the field ${fields[0]}. Leave out --drop-self-loops, --bidirected and --add-self-loops.`,
      );
    graph = change(graph);
  }
  return { ...source, graph };
}

function parseBalance(list: string, trainMask: Tensor | null): PartitionBalance {
  const names = list.split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !['nodes', 'edges', 'train_mask'].includes(name));
  if (unknown !== undefined)
    throw new ValueError(expected('partition', 'nodes, edges or train_mask', '--balance', unknown));
  const balancesTraining = names.includes('train_mask');
  if (balancesTraining && trainMask === null)
    throw new ValueError(
      expected('partition', 'a dataset with training nodes', '--balance', 'train_mask', 'Leave it out.'),
    );
  return {
    ...(names.includes('edges') ? { edges: true } : {}),
    ...(balancesTraining && trainMask !== null ? { trainMask: trainMask.dataSync() } : {}),
  };
}
