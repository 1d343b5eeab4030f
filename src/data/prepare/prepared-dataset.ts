/**
 * Reads a prepared directory: Marius's layout with our `skein` section in dataset.yaml, or Marius's own output (int64 edge
 * files too).
 *
 * `open` compares the length of every file with the counts and reads the small text files; content is compared with its
 * CRC-32 when it is read, and `verify` does that for all files.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import { readWholeFile } from '../../storage/atomic-file.js';
import { FormatError, StorageError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { NodeTypes } from '../formats/node-types.js';
import { checksumOf, digits } from './binary-file.js';
import { nodeTypesFile, type PreparedDetails, type PreparedStats, parseDatasetYaml } from './dataset-yaml.js';
import { IdentityNames, MappedNames, type NameTable, TypedNames } from './name-table.js';
import { NodeEncoding } from './node-encoding.js';

export type PreparedSplit = 'train' | 'validation' | 'test';

/** A file of edge rows: `rows` times `columns` little-endian integers. */
export interface EdgeFile {
  readonly path: string;
  readonly rows: number;
  readonly columns: 2 | 3;
  readonly dtype: 'int32' | 'int64';
}

const splits: readonly PreparedSplit[] = ['train', 'validation', 'test'];

/** A prepared directory that has been opened. */
export class PreparedDataset {
  readonly #edges = new Map<PreparedSplit, EdgeFile>();
  readonly #buckets = new Map<PreparedSplit, Float64Array>();

  #stats: PreparedStats;
  readonly #edgesChecked: Partial<Record<PreparedSplit, Promise<void>>> = {};
  #featuresChecked: Promise<void> | null = null;

  private constructor(
    readonly directory: string,
    stats: PreparedStats,
    /** null for a directory of Marius's own. */
    readonly details: PreparedDetails | null,
  ) {
    this.#stats = stats;
  }

  /**
   * Opens a directory and checks that its files fit together.
   *
   * @example
   * const data = await PreparedDataset.open('data/fb15k-237-prepared');
   * const edges = await data.readEdges('train'); // [source, relation, destination, source, …]
   */
  static async open(dir: string, options: { readonly verify?: boolean } = {}): Promise<PreparedDataset> {
    checkOptionNames('PreparedDataset.open', options, { verify: true });
    const directory = resolve(dir);
    const path = join(directory, 'dataset.yaml');
    if (!existsSync(path)) {
      throw new StorageError(
        `PreparedDataset: expected dataset.yaml in ${directory}, got none. Run "${invocation()} preprocess" with this output directory.`,
        { path },
      );
    }
    const text = new TextDecoder().decode(await readWholeFile(path));
    const { stats, details } = parseDatasetYaml(text, path, directory);
    const dataset = new PreparedDataset(directory, stats, details);
    for (const [name, { bytes }] of Object.entries(details?.files ?? {}))
      await dataset.#checkBytes(name, bytes);
    for (const split of splits) await dataset.#openEdges(split);
    for (const split of splits) await dataset.#openBuckets(split);
    await dataset.#checkNodeFiles();
    if (options.verify === true) await dataset.verify();
    return dataset;
  }

  get stats(): PreparedStats {
    return this.#stats;
  }

  get numColumns(): 2 | 3 {
    return this.#edges.get('train')?.columns ?? 2;
  }

  get hasRelations(): boolean {
    return this.numColumns === 3;
  }

  /** Whether nodes are classified: then the parts are of nodes, and all edges are training edges. */
  get hasNodeSplits(): boolean {
    return existsSync(this.#path('nodes/train_nodes.bin'));
  }

  /** The file of a part's edges; null when the part has none. */
  edgeFile(split: PreparedSplit): EdgeFile | null {
    return this.#edges.get(split) ?? null;
  }

  /** Edges per bucket, row by row of the p × p table; null when the part is not sorted by bucket. */
  bucketSizes(split: PreparedSplit): Float64Array | null {
    return this.#buckets.get(split) ?? null;
  }

  /** All edges of a part as rows [source, (relation,) destination]; none when the part has no file. */
  async readEdges(split: PreparedSplit): Promise<Int32Array> {
    const file = this.#edges.get(split);
    if (file === undefined) return new Int32Array(0);
    const bytes = await this.#read(edgeName(split));
    const values = file.dtype === 'int32' ? int32View(bytes) : narrowed(bytes, file.path);
    this.#checkEdges(file, values);
    return values;
  }

  /** Reads a part's edges and their weights once and compares them with their checksums, where there are some. */
  checkEdges(split: PreparedSplit): Promise<void> {
    const check = async (): Promise<void> => {
      for (const name of [edgeName(split), weightsName(split)])
        if (existsSync(this.#path(name))) await this.#checkContents(name);
    };
    this.#edgesChecked[split] ??= check();
    return this.#edgesChecked[split];
  }

  /** The file of the weights of a part's edges, f32 in their order; null when there are none. */
  weightsFile(split: PreparedSplit): string | null {
    const path = this.#path(weightsName(split));
    return existsSync(path) ? path : null;
  }

  /** Weights of a part's edges, in their order; null when there are none. */
  async readWeights(split: PreparedSplit): Promise<Float32Array | null> {
    const name = weightsName(split);
    if (!existsSync(this.#path(name))) return null;
    await this.#checkBytes(name, (this.edgeFile(split)?.rows ?? 0) * 4);
    const bytes = await this.#read(name);
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  /** Nodes of a part; null when nodes are not split. */
  async readNodes(split: PreparedSplit): Promise<Int32Array | null> {
    const name = `nodes/${split}_nodes.bin`;
    if (!existsSync(this.#path(name))) return null;
    const nodes = int32View(await this.#read(name));
    this.#checkNodes(name, nodes);
    return nodes;
  }

  /**
   * The file of node features, f32 rows in order of node; null when there is none. It may be larger than memory, so its contents
   * are compared with their checksum by `checkFeatures` alone.
   */
  featuresFile(): { readonly path: string; readonly rows: number; readonly width: number } | null {
    if (!existsSync(this.#path('nodes/features.bin'))) return null;
    const { num_nodes, node_feature_dim } = this.stats;
    return { path: this.#path('nodes/features.bin'), rows: num_nodes, width: node_feature_dim };
  }

  /** Reads the features once and compares them with their checksum, where preprocessing recorded one. */
  checkFeatures(): Promise<void> {
    this.#featuresChecked ??= this.#checkContents('nodes/features.bin');
    return this.#featuresChecked;
  }

  /** The class of each node, −1 for none; null when there are no labels. */
  async readLabels(): Promise<Int32Array | null> {
    if (!existsSync(this.#path('nodes/labels.bin'))) return null;
    const labels = int32View(await this.#read('nodes/labels.bin'));
    const wrong = labels.findIndex((label) => label < -1 || label >= this.stats.num_classes);
    if (wrong >= 0)
      this.#fail('nodes/labels.bin', `classes from -1 to ${this.stats.num_classes - 1}`, labels[wrong]);
    return labels;
  }

  /** Names of the nodes; the numbers themselves when ids were not replaced. */
  async nodeNames(): Promise<NameTable> {
    const names = await this.#names('nodes/node_mapping.txt', this.stats.num_nodes);
    return this.nodeTypes === null ? names : new TypedNames(names, this.nodeTypes);
  }

  /** Types of sources and of destinations, where these have ids of their own; null where they share them. */
  get nodeTypes(): NodeTypes | null {
    return this.details?.node_types ?? null;
  }

  /** The place of each node's type in `nodeTypes`; null when there is one type. */
  async readNodeTypes(): Promise<Uint8Array | null> {
    if (this.nodeTypes === null) return null;
    await this.#checkBytes(nodeTypesFile, this.stats.num_nodes);
    const types = await this.#read(nodeTypesFile);
    const wrong = types.findIndex((type) => type > 1);
    if (wrong >= 0) this.#fail(nodeTypesFile, 'types 0 and 1', types[wrong]);
    return types;
  }

  /** How the features were made from a table of nodes; null when they were not. */
  async nodeEncoding(): Promise<NodeEncoding | null> {
    const name = 'nodes/encoding.json';
    if (!existsSync(this.#path(name))) return null;
    const encoding = NodeEncoding.parse(new TextDecoder().decode(await this.#read(name)), this.#path(name));
    if (encoding.width !== this.stats.node_feature_dim)
      this.#fail(name, `columns that make ${this.stats.node_feature_dim} features`, encoding.width);
    return encoding;
  }

  /** Names of the classes; the numbers themselves when classes came as numbers. */
  classNames(): Promise<NameTable> {
    return this.#names('nodes/label_mapping.txt', Math.max(0, this.stats.num_classes));
  }

  relationNames(): Promise<NameTable> {
    return this.#names('edges/relation_mapping.txt', this.hasRelations ? this.stats.num_relations : 0);
  }

  /** Reads every file and compares it with its CRC-32; also the mapping files with the counts. */
  async verify(): Promise<void> {
    for (const name of Object.keys(this.details?.files ?? {})) await this.#checkContents(name);
    await this.nodeNames();
    await this.relationNames();
  }

  #path(name: string): string {
    return join(this.directory, ...name.split('/'));
  }

  #fail(name: string, what: string, got: unknown): never {
    const path = this.#path(name);
    throw new FormatError(
      `${path}: expected ${what}, got ${String(got)}. The directory is damaged or incomplete, or its dataset.yaml is that of another; prepare it again.`,
      { path },
    );
  }

  async #checkBytes(name: string, bytes: number): Promise<void> {
    let size = 0;
    try {
      size = (await stat(this.#path(name))).size;
    } catch {
      this.#fail(name, `a file of ${bytes} bytes`, 'no file');
    }
    if (size !== bytes) this.#fail(name, `${bytes} bytes`, size);
  }

  #checkCrc(name: string, got: string, wanted: string): void {
    if (got !== wanted) this.#fail(name, `the checksum ${wanted}`, got);
  }

  /** Compares a file with its checksum, piece by piece. */
  async #checkContents(name: string): Promise<void> {
    const record = this.details?.files[name];
    if (record === undefined) return;
    this.#checkCrc(name, await checksumOf(this.#path(name)), record.crc32);
  }

  async #read(name: string): Promise<Uint8Array> {
    const bytes = await readWholeFile(this.#path(name));
    const record = this.details?.files[name];
    if (record !== undefined) this.#checkCrc(name, digits(crc32(bytes)), record.crc32);
    return bytes;
  }

  async #openEdges(split: PreparedSplit): Promise<void> {
    const name = edgeName(split);
    const path = this.#path(name);
    const { num_edges, num_train, num_valid, num_test } = this.stats;
    const nodes = this.hasNodeSplits;
    const evaluation = nodes ? 0 : Math.max(0, split === 'validation' ? num_valid : num_test);
    // Marius counts training edges twice; where it split nodes, num_train counts those.
    const rows = split === 'train' ? Math.max(num_edges, nodes ? 0 : num_train) : evaluation;
    if (!existsSync(path)) {
      if (rows > 0 || split === 'train') this.#fail(name, `a file of ${rows} edges`, 'no file');
      return;
    }
    const { size } = await stat(path);
    if (rows === 0) {
      if (size > 0) this.#fail(name, 'no edges', `${size} bytes`);
      const columns = this.details?.columns ?? (this.stats.num_relations > 1 ? 3 : 2);
      this.#edges.set(split, { path, rows, columns, dtype: 'int32' });
      return;
    }
    const shape = edgeShapes.find(
      ({ columns, bytes }) =>
        size === rows * columns * bytes && columns === (this.details?.columns ?? columns),
    );
    if (shape === undefined)
      return this.#fail(name, `${rows} edges of 2 or 3 numbers of 4 or 8 bytes`, `${size} bytes`);
    const { columns, bytes } = shape;
    this.#edges.set(split, { path, rows, columns, dtype: bytes === 4 ? 'int32' : 'int64' });
  }

  async #openBuckets(split: PreparedSplit): Promise<void> {
    const name = `edges/${split}_partition_offsets.txt`;
    if (!existsSync(this.#path(name))) {
      const wanted = this.stats.num_partitions > 1 && (split === 'train' || this.details?.partitioned_eval);
      if (wanted && this.#edges.has(split)) this.#fail(name, 'the sizes of the edge buckets', 'no file');
      return;
    }
    const lines = new TextDecoder().decode(await this.#read(name)).split(/\r?\n/);
    if (lines.at(-1) === '') lines.pop();
    const side = this.details?.num_partitions ?? Math.round(Math.sqrt(lines.length));
    if (lines.length !== side * side)
      this.#fail(name, this.details === null ? 'p² lines' : `${side * side} lines`, lines.length);
    const sizes = Float64Array.from(lines, (line, i) =>
      /^\d{1,15}$/.test(line) ? Number(line) : this.#fail(name, `a whole number in line ${i + 1}`, line),
    );
    const sum = sizes.reduce((total, size) => total + size, 0);
    const rows = this.#edges.get(split)?.rows ?? 0;
    if (sum !== rows) this.#fail(name, `bucket sizes that add up to ${rows} edges`, sum);
    this.#buckets.set(split, sizes);
    if (this.details === null) this.#stats = { ...this.stats, num_partitions: side };
  }

  async #checkNodeFiles(): Promise<void> {
    const { num_nodes, node_feature_dim, num_train, num_valid, num_test } = this.stats;
    const has = (name: string): boolean => existsSync(this.#path(name));
    if (node_feature_dim > 0 || has('nodes/features.bin'))
      await this.#checkBytes('nodes/features.bin', num_nodes * Math.max(0, node_feature_dim) * 4);
    if (has('nodes/labels.bin')) await this.#checkBytes('nodes/labels.bin', num_nodes * 4);
    for (const [split, rows] of [
      ['train', num_train],
      ['validation', num_valid],
      ['test', num_test],
    ] as const) {
      const name = `nodes/${split}_nodes.bin`;
      if (has(name)) await this.#checkBytes(name, Math.max(0, rows) * 4);
    }
  }

  async #names(name: string, size: number): Promise<NameTable> {
    if (!existsSync(this.#path(name))) return new IdentityNames(size);
    return MappedNames.parse(await this.#read(name), this.#path(name), size);
  }

  #checkEdges({ path, columns }: EdgeFile, values: Int32Array): void {
    const { num_nodes, num_relations } = this.stats;
    for (let i = 0; i < values.length; i++) {
      const limit = columns === 3 && i % 3 === 1 ? num_relations : num_nodes;
      if (values[i] >>> 0 < limit) continue;
      throw new FormatError(
        `${path}: expected ids from 0 to ${limit - 1}, got ${values[i]} in row ${Math.floor(i / columns)}.`,
        { path, row: Math.floor(i / columns) },
      );
    }
  }

  #checkNodes(name: string, nodes: Int32Array): void {
    const wrong = nodes.findIndex((id) => id < 0 || id >= this.stats.num_nodes);
    if (wrong >= 0) this.#fail(name, `ids from 0 to ${this.stats.num_nodes - 1}`, nodes[wrong]);
  }
}

/** The four shapes of an edge row; no two have the same length. */
const edgeShapes = [
  { columns: 2, bytes: 4 },
  { columns: 3, bytes: 4 },
  { columns: 2, bytes: 8 },
  { columns: 3, bytes: 8 },
] as const;

function weightsName(split: PreparedSplit): string {
  return `edges/${split}_edges_weights.bin`;
}

function edgeName(split: PreparedSplit): string {
  return `edges/${split}_edges.bin`;
}

function int32View(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
}

/** int64 values as int32. */
function narrowed(bytes: Uint8Array, path: string): Int32Array {
  const words = int32View(bytes);
  const values = new Int32Array(words.length / 2);
  for (let i = 0; i < values.length; i++) {
    if (words[2 * i + 1] !== 0 || words[2 * i] < 0) {
      throw new FormatError(
        `${path}: expected ids below 2^31, got a larger or negative one at number ${i}.`,
        {
          path,
          index: i,
        },
      );
    }
    values[i] = words[2 * i];
  }
  return values;
}
