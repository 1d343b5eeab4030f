/**
 * Reads a prepared directory: Marius's layout with our `skein` section in dataset.yaml, or the output of Marius (with int64
 * edge files too).
 *
 * `open` compares the length of each file with the counts and reads the small text files; contents are compared with their
 * CRC-32 when they are read, and `verify` does that for all files.
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
import { NodeText, TextVocabulary, textFiles } from './node-text.js';

export type PreparedSplit = 'train' | 'validation' | 'test';

/** A file of edge rows: `rows` times `columns` little-endian integers. */
export interface EdgeFile {
  readonly path: string;
  readonly rows: number;
  readonly columns: 2 | 3;
  readonly dtype: 'int32' | 'int64';
}

const splits: readonly PreparedSplit[] = ['train', 'validation', 'test'];

/** An opened prepared directory. */
export class PreparedDataset {
  readonly #edges = new Map<PreparedSplit, EdgeFile>();
  readonly #buckets = new Map<PreparedSplit, Float64Array>();

  #stats: PreparedStats;
  readonly #edgesChecked: Partial<Record<PreparedSplit, Promise<void>>> = {};
  #featuresChecked: Promise<void> | null = null;

  private constructor(
    readonly directory: string,
    stats: PreparedStats,
    /** null for a directory written by Marius. */
    readonly details: PreparedDetails | null,
  ) {
    this.#stats = stats;
  }

  /**
   * Opens a directory and checks that its files match each other.
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

  /** Whether nodes are split instead of edges: then all edges are training edges. */
  get hasNodeSplits(): boolean {
    return existsSync(this.#path('nodes/train_nodes.bin'));
  }

  /** Returns the edge file of a split; null if the split has none. */
  edgeFile(split: PreparedSplit): EdgeFile | null {
    return this.#edges.get(split) ?? null;
  }

  /** Returns the edges per bucket, row by row of the p × p table; null if the split is not sorted by bucket. */
  bucketSizes(split: PreparedSplit): Float64Array | null {
    return this.#buckets.get(split) ?? null;
  }

  /** Reads all edges of a split as rows [source, (relation,) destination]; none if the split has no file. */
  async readEdges(split: PreparedSplit): Promise<Int32Array> {
    const file = this.#edges.get(split);
    if (file === undefined) return new Int32Array(0);
    const bytes = await this.#read(edgeName(split));
    const values = file.dtype === 'int32' ? int32View(bytes) : narrowToInt32(bytes, file.path);
    this.#checkEdges(file, values);
    return values;
  }

  /** Reads the edges of a split and their weights once and compares them with their checksums, if recorded. */
  checkEdges(split: PreparedSplit): Promise<void> {
    const check = async (): Promise<void> => {
      for (const name of [edgeName(split), weightsName(split)])
        if (existsSync(this.#path(name))) await this.#checkContents(name);
    };
    this.#edgesChecked[split] ??= check();
    return this.#edgesChecked[split];
  }

  /** Returns the file of the edge weights of a split, f32 in order of the edges; null if there are none. */
  weightsFile(split: PreparedSplit): string | null {
    const path = this.#path(weightsName(split));
    return existsSync(path) ? path : null;
  }

  /** Reads the edge weights of a split, in order of the edges; null if there are none. */
  async readWeights(split: PreparedSplit): Promise<Float32Array | null> {
    const name = weightsName(split);
    if (!existsSync(this.#path(name))) return null;
    await this.#checkBytes(name, (this.edgeFile(split)?.rows ?? 0) * 4);
    const bytes = await this.#read(name);
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  /** Reads the nodes of a split; null if nodes are not split. */
  async readNodes(split: PreparedSplit): Promise<Int32Array | null> {
    const name = `nodes/${split}_nodes.bin`;
    if (!existsSync(this.#path(name))) return null;
    const nodes = int32View(await this.#read(name));
    this.#checkNodes(name, nodes);
    return nodes;
  }

  /**
   * Returns the file of node features, f32 rows in order of node; null if there is none. It may be larger than memory, so
   * only `checkFeatures` compares its contents with their checksum.
   */
  featuresFile(): { readonly path: string; readonly rows: number; readonly width: number } | null {
    if (!existsSync(this.#path('nodes/features.bin'))) return null;
    const { num_nodes, node_feature_dim } = this.stats;
    return { path: this.#path('nodes/features.bin'), rows: num_nodes, width: node_feature_dim };
  }

  /** Reads the features once and compares them with their checksum, if recorded. */
  checkFeatures(): Promise<void> {
    this.#featuresChecked ??= this.#checkContents('nodes/features.bin');
    return this.#featuresChecked;
  }

  /** Names of the text columns of the nodes; none without text. */
  get textColumns(): readonly string[] {
    return this.details?.text?.columns ?? [];
  }

  /** Sizes of the text of the nodes, on which TEXT layers depend; null without text. */
  get textSizes(): { readonly columns: number; readonly words: number } | null {
    const text = this.details?.text;
    return text === undefined ? null : { columns: text.columns.length, words: text.words };
  }

  /** Reads the words of all nodes; null without text columns. */
  async readText(): Promise<NodeText | null> {
    const sizes = this.textSizes;
    if (sizes === null) return null;
    const read = (name: string): Promise<Uint8Array> => this.#read(name);
    const path = this.#path(textFiles.vocabulary);
    const vocabulary = TextVocabulary.parse(new TextDecoder().decode(await read(textFiles.vocabulary)), path);
    const offsets = int32View(await read(textFiles.offsets));
    const words = int32View(await read(textFiles.words));
    const rows = this.stats.num_nodes * sizes.columns;
    if (vocabulary.words.length !== sizes.words || vocabulary.columns.length !== sizes.columns)
      this.#fail(textFiles.vocabulary, `${sizes.words} words`, vocabulary.words.length);
    if (offsets.length !== rows + 1 || offsets[rows] !== words.length)
      this.#fail(textFiles.offsets, `offsets of ${rows} rows of words`, offsets.length - 1);
    return new NodeText(vocabulary, offsets, words);
  }

  /** Reads the class of each node, −1 for none; null if there are no labels. */
  async readLabels(): Promise<Int32Array | null> {
    if (!existsSync(this.#path('nodes/labels.bin'))) return null;
    const labels = int32View(await this.#read('nodes/labels.bin'));
    const wrong = labels.findIndex((label) => label < -1 || label >= this.stats.num_classes);
    if (wrong >= 0)
      this.#fail('nodes/labels.bin', `classes from -1 to ${this.stats.num_classes - 1}`, labels[wrong]);
    return labels;
  }

  /** Reads the names of the nodes; the numbers themselves if ids were kept. */
  async nodeNames(): Promise<NameTable> {
    const names = await this.#names('nodes/node_mapping.txt', this.stats.num_nodes);
    return this.nodeTypes === null ? names : new TypedNames(names, this.nodeTypes);
  }

  /** Types of sources and destinations if these have separate ids; null if they share them. */
  get nodeTypes(): NodeTypes | null {
    return this.details?.node_types ?? null;
  }

  /** Reads the type of each node as an index into `nodeTypes`; null if there is one type. */
  async readNodeTypes(): Promise<Uint8Array | null> {
    if (this.nodeTypes === null) return null;
    await this.#checkBytes(nodeTypesFile, this.stats.num_nodes);
    const types = await this.#read(nodeTypesFile);
    const wrong = types.findIndex((type) => type > 1);
    if (wrong >= 0) this.#fail(nodeTypesFile, 'types 0 and 1', types[wrong]);
    return types;
  }

  /** Reads the encoding of the features from a node table; null if there was no table. */
  async nodeEncoding(): Promise<NodeEncoding | null> {
    const name = 'nodes/encoding.json';
    if (!existsSync(this.#path(name))) return null;
    const encoding = NodeEncoding.parse(new TextDecoder().decode(await this.#read(name)), this.#path(name));
    if (encoding.width !== this.stats.node_feature_dim)
      this.#fail(name, `columns that make ${this.stats.node_feature_dim} features`, encoding.width);
    return encoding;
  }

  /** Reads the names of the classes; the numbers themselves if classes are numbers. */
  classNames(): Promise<NameTable> {
    return this.#names('nodes/label_mapping.txt', Math.max(0, this.stats.num_classes));
  }

  relationNames(): Promise<NameTable> {
    return this.#names('edges/relation_mapping.txt', this.hasRelations ? this.stats.num_relations : 0);
  }

  /** Compares each file with its CRC-32, and the mapping files with the counts. */
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
      `${path}: expected ${what}, got ${String(got)}. The directory is damaged or incomplete, or its dataset.yaml belongs to another; prepare it again.`,
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

  /** Compares a file with its checksum, block by block. */
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
    // Marius records the training edges in both counts; if it split nodes, num_train counts nodes.
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

/** The four shapes of an edge row, which differ in length. */
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

/** Converts int64 values to int32. */
function narrowToInt32(bytes: Uint8Array, path: string): Int32Array {
  const words = int32View(bytes);
  const values = new Int32Array(words.length / 2);
  for (let i = 0; i < values.length; i++) {
    if (words[2 * i + 1] !== 0 || words[2 * i] < 0) {
      throw new FormatError(`${path}: expected ids below 2^31, got a larger or negative one at index ${i}.`, {
        path,
        index: i,
      });
    }
    values[i] = words[2 * i];
  }
  return values;
}
