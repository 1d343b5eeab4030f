/**
 * Writes a graph source as a prepared directory: draws the split, renumbers, sorts by bucket, writes names and node tables,
 * computes checksums. Arrays in memory and out-of-core input share this path.
 *
 * Node and relation numbers are a seeded permutation of the order of first appearance, so the result depends on the input
 * and the seed only. Memory: 4 bytes per node (13 with `sequentialTrainNodes`), labels, and buffers of fixed size.
 */
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kernels } from '../../native/index.js';
import { FormatError, ValueError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import { type NodeTypes, typedName } from '../formats/node-types.js';
import { bytesOf, FileWriter, readBlocks, sealFile, writeAt } from './binary-file.js';
import { sortByBucket } from './bucket-sort.js';
import {
  type FileRecord,
  formatDatasetYaml,
  formatVersion,
  nodeTypesFile,
  type PreparedStats,
} from './dataset-yaml.js';
import type { EdgeBlock, GraphSource, OnPrepareProgress } from './graph-source.js';
import { mappingLine } from './mapping-file.js';
import type { NodeText } from './node-text.js';
import { SplitDraw, splitSizes } from './split-draw.js';
import { writeNodeTables } from './write-nodes.js';

export interface WriteOptions {
  /** Names the caller in messages. */
  readonly where: string;
  /** Directory recorded in dataset.yaml. */
  readonly outputDir: string;
  readonly seed: number;
  readonly partitions: number;
  readonly partitionedEval: boolean;
  readonly remap: boolean;
  readonly sequentialTrainNodes: boolean;
  /** Fractions of the one split of the source, or null to keep its splits. */
  readonly split: readonly number[] | null;
  readonly memoryBytes: number;
}

const splitNames = ['train', 'validation', 'test'] as const;
/** Streams of the seed, one per purpose. */
const streams = { nodes: 1, relations: 2, split: 3 } as const;

/** Writes all files of `source` into the empty `folder`. */
export async function writePrepared(
  source: GraphSource,
  folder: string,
  options: WriteOptions,
  progress: OnPrepareProgress,
): Promise<PreparedStats> {
  if (options.partitions > Math.max(1, source.numNodes)) {
    throw new ValueError(
      `${options.where}: expected at most one partition per node (${source.numNodes}) for the partitions, got ${options.partitions}.`,
    );
  }
  for (const name of ['edges', 'nodes', 'spool']) await mkdir(join(folder, name));
  const random = new Random(options.seed);
  const columns = source.numRelations > 0 ? 3 : 2;
  const relations = options.remap ? permutation(source.numRelations, random.split(streams.relations)) : null;

  const { sizes, marks } = await spoolEdges(source, folder, options, random.split(streams.split), progress);
  if (marks !== null && source.nodes?.splits != null) markOnly(marks, source.nodes.splits.train);
  const nodes = options.remap ? nodeOrder(source.numNodes, random.split(streams.nodes), marks) : null;
  await renumber(folder, sizes, columns, nodes, relations);
  await writeEdges(source, folder, sizes, columns, options, progress);
  await rm(join(folder, 'spool'), { recursive: true });

  if (nodes !== null) {
    await writeNames(join(folder, 'nodes/node_mapping.txt'), source.nodeNames(), nodes, progress);
    if (source.nodeTypes !== undefined) await writeTypes(folder, source, source.nodeTypes, nodes);
  }
  if (relations !== null && columns === 3)
    await writeNames(join(folder, 'edges/relation_mapping.txt'), source.relationNames(), relations, progress);
  if (source.nodes !== null) await writeNodeTables(source.nodes, source.numNodes, nodes, folder, progress);
  for (const [name, chunks] of Object.entries(source.sideFiles ?? {})) {
    const file = new FileWriter(join(folder, name));
    for (const chunk of chunks) file.writeText(chunk);
    file.close();
  }
  const stats = makeStats(source, sizes, options);
  await finish(folder, stats, columns, options, source, progress);
  return stats;
}

/** Writes the edges of each split to spool/, in the numbers of the source. Returns the sizes of the splits. */
async function spoolEdges(
  source: GraphSource,
  folder: string,
  options: WriteOptions,
  random: Random,
  progress: OnPrepareProgress,
): Promise<{ sizes: readonly number[]; marks: Uint8Array | null }> {
  const total = source.splitSizes.reduce((a, b) => a + b, 0);
  if (options.split !== null && source.splitSizes.length > 1) {
    throw new ValueError(
      `${options.where}: expected one edge file for split, got ${source.splitSizes.length}. Leave out one of them.`,
    );
  }
  const given = options.split === null ? source.splitSizes : splitSizes(options.where, total, options.split);
  // Two splits are training and test.
  const sizes = given.length === 2 ? [given[0], 0, given[1]] : [0, 1, 2].map((split) => given[split] ?? 0);
  const draw = options.split === null ? null : new SplitDraw(sizes, random);
  const marks = options.remap && options.sequentialTrainNodes ? new Uint8Array(source.numNodes) : null;
  const spools = splitNames.map((name) => new FileWriter(join(folder, `spool/${name}.bin`)));
  const weights = source.hasWeights
    ? splitNames.map((name) => new FileWriter(join(folder, `spool/${name}-weights.bin`)))
    : null;
  const writer = new SplitWriter(spools, weights, marks);
  let row = 0;
  const ends = [sizes[0], sizes[0] + sizes[1], total];
  for await (const block of source.blocks()) {
    const splitOf = (i: number): number => {
      if (draw !== null) return draw.next();
      const position = row + i;
      return position < ends[0] ? 0 : position < ends[1] ? 1 : 2;
    };
    writer.write(block, splitOf);
    row += block.count;
    progress({ stage: 'edges', done: row, total });
  }
  for (const file of [...spools, ...(weights ?? [])]) file.close();
  if (row !== total) throw new FormatError(`${options.where}: expected ${total} edges, got ${row}.`);
  return { sizes, marks };
}

/** Appends edges to the files of their splits, and marks nodes of training edges. */
class SplitWriter {
  readonly #rows: Int32Array[] = [];
  readonly #weights: Float32Array[] = [];

  constructor(
    readonly edges: readonly FileWriter[],
    readonly weights: readonly FileWriter[] | null,
    readonly marks: Uint8Array | null,
  ) {}

  write({ count, src, rel, dst, weight }: EdgeBlock, splitOf: (i: number) => number): void {
    const columns = rel === null ? 2 : 3;
    const { marks } = this;
    const filled = this.edges.map(() => 0);
    this.#reserve(count, columns);
    for (let i = 0; i < count; i++) {
      const split = splitOf(i);
      const to = this.#rows[split];
      let at = filled[split] * columns;
      to[at++] = src[i];
      if (rel !== null) to[at++] = rel[i];
      to[at] = dst[i];
      if (weight !== null) this.#weights[split][filled[split]] = weight[i];
      filled[split]++;
      if (marks !== null && split === 0) {
        marks[src[i]] = 1;
        marks[dst[i]] = 1;
      }
    }
    this.edges.forEach((file, split) => {
      file.write(bytesOf(this.#rows[split].subarray(0, filled[split] * columns)));
      this.weights?.[split].write(bytesOf(this.#weights[split].subarray(0, filled[split])));
    });
  }

  #reserve(count: number, columns: number): void {
    this.edges.forEach((_, split) => {
      if ((this.#rows[split]?.length ?? 0) >= count * columns) return;
      this.#rows[split] = new Int32Array(count * columns);
      this.#weights[split] = new Float32Array(count);
    });
  }
}

function permutation(n: number, random: Random): Int32Array {
  const order = new Int32Array(n);
  kernels().randomPermutation(order, n, random.key);
  return order;
}

/** Returns the new number of each node; marked nodes come first. */
function nodeOrder(n: number, random: Random, marks: Uint8Array | null): Int32Array {
  const order = permutation(n, random);
  if (marks === null) return order;
  // Keeps the order of the permutation within marked and unmarked nodes.
  const nodeAt = new Int32Array(n);
  for (let node = 0; node < n; node++) nodeAt[order[node]] = node;
  let next = 0;
  for (const wanted of [1, 0]) {
    for (let i = 0; i < n; i++) {
      if (marks[nodeAt[i]] === wanted) order[nodeAt[i]] = next++;
    }
  }
  return order;
}

/** Marks only these nodes: if nodes are split, training nodes come first, not the ends of training edges. */
function markOnly(marks: Uint8Array, nodes: Int32Array): void {
  marks.fill(0);
  for (const node of nodes) marks[node] = 1;
}

/** Replaces the numbers in the spool files. */
async function renumber(
  folder: string,
  sizes: readonly number[],
  columns: 2 | 3,
  nodes: Int32Array | null,
  relations: Int32Array | null,
): Promise<void> {
  if (nodes === null) return;
  for (const [split, name] of splitNames.entries()) {
    if (sizes[split] === 0) continue;
    const path = join(folder, `spool/${name}.bin`);
    const file = openSync(path, 'r+');
    try {
      let position = 0;
      for await (const block of readBlocks(path, columns << 20)) {
        const rows = new Int32Array(block.buffer, block.byteOffset, block.length / 4);
        for (let i = 0; i < rows.length; i += columns) {
          rows[i] = nodes[rows[i]];
          rows[i + columns - 1] = nodes[rows[i + columns - 1]];
          if (columns === 3 && relations !== null) rows[i + 1] = relations[rows[i + 1]];
        }
        writeAt(file, block, position);
        position += block.length;
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Moves the spool files to edges/, sorted by bucket if requested. */
async function writeEdges(
  source: GraphSource,
  folder: string,
  sizes: readonly number[],
  columns: 2 | 3,
  options: WriteOptions,
  progress: OnPrepareProgress,
): Promise<void> {
  const { partitions, partitionedEval, memoryBytes } = options;
  const isSorted = (split: number): boolean =>
    partitions > 1 && (split === 0 || partitionedEval) && sizes[split] > 0;
  const total = 2 * sizes.reduce((sum, size, split) => sum + (isSorted(split) ? size : 0), 0);
  let done = 0;
  for (const [split, name] of splitNames.entries()) {
    if (split > 0 && sizes[split] === 0) continue;
    const edges = join(folder, `spool/${name}.bin`);
    const weights = source.hasWeights ? join(folder, `spool/${name}-weights.bin`) : null;
    const outEdges = join(folder, `edges/${name}_edges.bin`);
    const outWeights = join(folder, `edges/${name}_edges_weights.bin`);
    if (!isSorted(split)) {
      await rename(edges, outEdges);
      if (weights !== null) await rename(weights, outWeights);
      continue;
    }
    const buckets = await sortByBucket({
      ...{
        edges,
        weights,
        columns,
        numNodes: source.numNodes,
        partitions,
        outEdges,
        outWeights,
        memoryBytes,
      },
      onRows: (rows) => {
        done += rows;
        progress({ stage: 'sort', done, total });
      },
    });
    await rm(edges);
    await writeFile(join(folder, `edges/${name}_partition_offsets.txt`), `${buckets.join('\n')}\n`);
  }
}

async function writeNames(
  path: string,
  names: AsyncIterable<readonly string[]> | null,
  numbers: Int32Array,
  progress: OnPrepareProgress,
): Promise<void> {
  if (names === null) return;
  const file = new FileWriter(path);
  let next = 0;
  for await (const block of names) {
    for (let i = 0; i < block.length; i += 4096) {
      let text = '';
      for (const name of block.slice(i, i + 4096)) text += mappingLine(name, numbers[next++]);
      file.writeText(text);
    }
    progress({ stage: 'names', done: next, total: numbers.length });
  }
  file.close();
  if (next !== numbers.length)
    throw new FormatError(`${path}: expected ${numbers.length} names, got ${next}.`);
}

/** Writes the type of each node as an index into the types. */
async function writeTypes(
  folder: string,
  source: GraphSource,
  [, second]: NodeTypes,
  numbers: Int32Array,
): Promise<void> {
  const types = new Uint8Array(numbers.length);
  let next = 0;
  for await (const block of source.nodeNames() ?? [])
    for (const name of block) types[numbers[next++]] = name.startsWith(typedName(second, '')) ? 1 : 0;
  await writeFile(join(folder, nodeTypesFile), types);
}

function makeStats(source: GraphSource, sizes: readonly number[], options: WriteOptions): PreparedStats {
  const { nodes } = source;
  const splits = nodes?.splits == null ? null : [nodes.splits.train, nodes.splits.valid, nodes.splits.test];
  const [num_train, num_valid, num_test] = splits?.map((split) => split.length) ?? sizes;
  if (splits === null && num_train === 0 && num_valid + num_test > 0)
    throw new ValueError(
      `preprocess: expected at least one training edge for split, got 0 of ${num_valid + num_test}. Give more edges, or a larger first fraction.`,
    );
  return {
    dataset_dir: options.outputDir,
    num_edges: sizes[0],
    num_nodes: source.numNodes,
    num_relations: Math.max(1, source.numRelations),
    ...{ num_train, num_valid, num_test },
    node_feature_dim: nodes?.features?.width ?? -1,
    rel_feature_dim: -1,
    num_classes: nodes?.labels == null ? -1 : nodes.numClasses,
    num_partitions: options.partitions,
  };
}

/** Computes the checksums of all files and writes dataset.yaml. */
async function finish(
  folder: string,
  stats: PreparedStats,
  columns: 2 | 3,
  options: WriteOptions,
  { nodeTypes, nodes }: Pick<GraphSource, 'nodeTypes' | 'nodes'>,
  progress: OnPrepareProgress,
): Promise<void> {
  const names = await listFiles(folder);
  const files: Record<string, FileRecord> = {};
  for (const [i, name] of names.entries()) {
    files[name] = await sealFile(join(folder, name));
    progress({ stage: 'checksums', done: i + 1, total: names.length });
  }
  const text = formatDatasetYaml(stats, {
    format_version: formatVersion,
    seed: options.seed,
    columns,
    num_partitions: options.partitions,
    partitioned_eval: options.partitionedEval,
    remapped: options.remap,
    ...(nodeTypes === undefined ? {} : { node_types: nodeTypes }),
    ...(nodes?.text == null ? {} : { text: describeText(nodes.text) }),
    files,
  });
  const path = join(folder, 'dataset.yaml');
  await writeFile(path, text);
  await sealFile(path);
}

function describeText({ vocabulary }: NodeText): { columns: readonly string[]; words: number } {
  return { columns: vocabulary.columns, words: vocabulary.words.length };
}

async function listFiles(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of ['edges', 'nodes']) {
    for (const name of (await readdir(join(folder, entry))).sort()) names.push(`${entry}/${name}`);
  }
  return names;
}
