/** What `preprocess` is told: plain data that survives the way to another process, checked before that. */
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkNodeTypes } from '../formats/node-types.js';
import type { Column } from '../formats/text-layout.js';

/** Which columns of a file or a query are what. */
export interface EdgeColumns {
  /** By default `parquet` and `json` by the ending of the name (.parquet; .json, .jsonl, .ndjson), else `delimited`. */
  readonly format?: 'delimited' | 'parquet' | 'json';
  /**
   * Columns by name or by place from 0. Default: by their usual names in the header; else 0 and 1 of two columns, and 0,
   * 1 (type) and 2 of three.
   */
  readonly source?: Column;
  readonly target?: Column;
  readonly edgeType?: Column;
  readonly edgeWeight?: Column;
  /** Of delimited files; by default what the first lines show: tab, comma, semicolon, bar, or runs of blanks. */
  readonly delimiter?: string;
  /** Whether the first line of text names the columns, in all files; by default its look decides. */
  readonly header?: boolean;
  /** What starts a comment line at the head of a delimited file; default '#', '' for none. */
  readonly comment?: string;
}

export interface PreprocessOptions extends EdgeColumns {
  /** The directory to make. */
  readonly outputDir: string;
  /** One file to split, two (training, test) or three (training, validation, test). */
  readonly edges?: string | readonly string[];
  /** Instead of files: SQL that DuckDB runs, one query or one per part. */
  readonly query?: string | readonly string[];
  /** Statements to run before the query, such as `ATTACH 'x.duckdb'`. Extensions that are installed may be loaded. */
  readonly setup?: string;
  /** Shares of one file for training and test, or training, validation and test. */
  readonly split?: readonly number[];
  /** Default 1. */
  readonly partitions?: number;
  /** Sort validation and test edges by bucket too. */
  readonly partitionedEval?: boolean;
  /** Keep ids, which must be whole numbers. */
  readonly noRemapIds?: boolean;
  /** With `noRemapIds`: how many there are; by default the largest id + 1. */
  readonly numNodes?: number;
  readonly numRelations?: number;
  /** Training nodes get the lowest numbers. */
  readonly sequentialTrainNodes?: boolean;
  /** Default 1. */
  readonly seed?: number;
  /** Files of node ids that belong to the graph even without an edge: the first column, or an .npy of whole numbers. */
  readonly nodes?: string;
  /** Node features: .npy (row i is node i, or line i of `nodes`), or delimited with the id in the first column. */
  readonly nodeFeatures?: string;
  /** A table about nodes: its columns of numbers, categories, dates and booleans become features. */
  readonly nodeTable?: string;
  /** The type of the nodes of the table; by default the name of its column of ids or of the file decides. */
  readonly nodeTableType?: string;
  /** Of the table: the column of ids (default: named id, node, …, or the first), of classes, and those to leave out. */
  readonly idColumn?: Column;
  readonly labelColumn?: Column;
  readonly ignoreColumns?: readonly Column[];
  /**
   * One name: sources and destinations share their ids. Two: user 7 and item 7 are different nodes, called user:7 and
   * item:7. By default the names of the columns decide.
   */
  readonly nodeTypes?: readonly string[];
  /** Node classes: .npy likewise, or delimited with the id and the class in the first two columns. */
  readonly nodeLabels?: string;
  /** Files of the node ids of each part. */
  readonly trainNodes?: string;
  readonly validNodes?: string;
  readonly testNodes?: string;
  /** Or shares of the labelled nodes: training, validation, test. */
  /** Default with `labelColumn` and no split of edges: 0.6, 0.2, 0.2. */
  readonly nodeSplit?: readonly number[];
  readonly overwrite?: boolean;
  /** What the work may hold in memory, in bytes, beside 4 to 13 bytes per node; default 1 GiB, least 256 MiB. */
  readonly memoryLimit?: number;
  /** Of DuckDB; the result does not depend on it. */
  readonly threads?: number;
  /** Work in this process: no second to start another, but memory and crashes are the caller's. */
  readonly inProcess?: boolean;
}

const where = 'preprocess';

type Check = (name: string, value: unknown) => void;

const refuse = (what: string, name: string, value: unknown): never => {
  throw new ValueError(expected(where, what, name, value));
};
const text: Check = (name, value) => {
  if (typeof value !== 'string' || value === '') refuse('text', name, value);
};
const texts: Check = (name, value) => {
  const list = Array.isArray(value) ? value : [value];
  if (list.length < 1 || list.length > 3) refuse('1, 2 or 3 entries', name, value);
  for (const one of list) text(name, one);
};
const flag: Check = (name, value) => {
  if (typeof value !== 'boolean') refuse('true or false', name, value);
};
const column: Check = (name, value) => {
  if (typeof value !== 'string') checkInteger(where, name, value, 0, 2 ** 31 - 1);
};
const whole =
  (least: number, most = 2 ** 31 - 1): Check =>
  (name, value) => {
    checkInteger(where, name, value, least, most);
  };
const shares: Check = (name, value) => {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) refuse('2 or 3 shares', name, value);
  let sum = 0;
  for (const share of value as number[]) sum += checkNumber(where, `a fraction of ${name}`, share, 0, 1);
  if (Math.abs(sum - 1) > 1e-6)
    refuse('shares that add up to 1', name, `${(value as number[]).join(' + ')} = ${sum}`);
};

const checks: Readonly<Record<keyof PreprocessOptions, Check>> = {
  outputDir: text,
  edges: texts,
  query: texts,
  setup: text,
  format: (name, value) => {
    if (!['delimited', 'parquet', 'json'].includes(value as string))
      refuse('"delimited", "parquet" or "json"', name, value);
  },
  source: column,
  target: column,
  edgeType: column,
  edgeWeight: column,
  delimiter: text,
  header: flag,
  comment: (name, value) => {
    if (typeof value !== 'string') refuse('text', name, value);
  },
  split: shares,
  partitions: whole(1, 2 ** 15),
  partitionedEval: flag,
  noRemapIds: flag,
  numNodes: whole(1),
  numRelations: whole(1),
  sequentialTrainNodes: flag,
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  nodes: text,
  nodeFeatures: text,
  nodeTable: text,
  nodeTableType: text,
  idColumn: column,
  labelColumn: column,
  ignoreColumns: (name, value) => {
    if (!Array.isArray(value)) refuse('a list of columns', name, value);
    for (const one of value as unknown[]) column(name, one);
  },
  nodeTypes: (name, value) => checkNodeTypes(where, name, value),
  nodeLabels: text,
  trainNodes: text,
  validNodes: text,
  testNodes: text,
  nodeSplit: shares,
  overwrite: flag,
  memoryLimit: whole(2 ** 28, Number.MAX_SAFE_INTEGER),
  threads: whole(1, 1024),
  inProcess: flag,
};

/** Refuses unknown options, values outside their range, and options that contradict each other. */
export function checkPreprocessOptions(options: PreprocessOptions): void {
  if (typeof options !== 'object' || options === null) refuse('an object', 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name)) refuse(`one of ${Object.keys(checks).join(', ')}`, 'an option', name);
    if (value !== undefined) checks[name as keyof PreprocessOptions](name, value);
  }
  if (options.outputDir === undefined) refuse('a directory', 'outputDir', undefined);
  const files = listOf(options.edges).length;
  const queries = listOf(options.query).length;
  if (files > 0 === queries > 0)
    refuse('either files or queries', 'edges and query', `${files} and ${queries}`);
  if (options.split !== undefined && files + queries > 1)
    refuse('one file of edges to split', 'edges', `${files + queries} files`);
  if (options.numNodes !== undefined && !options.noRemapIds)
    refuse('noRemapIds too (ids that are replaced are counted)', 'numNodes', options.numNodes);
  if (options.noRemapIds && options.sequentialTrainNodes)
    refuse('ids that are replaced', 'sequentialTrainNodes', 'noRemapIds');
  checkNodeOptions(options, files + queries);
}

function checkNodeOptions(options: PreprocessOptions, inputs: number): void {
  const { nodeTable, labelColumn, nodeFeatures, nodeLabels } = options;
  if (nodeTable !== undefined && nodeFeatures !== undefined)
    refuse('either a table or features', 'nodeTable and nodeFeatures', `${nodeTable} and ${nodeFeatures}`);
  if (labelColumn !== undefined && nodeLabels !== undefined)
    refuse('classes from one place', 'labelColumn and nodeLabels', `${labelColumn} and ${nodeLabels}`);
  for (const name of ['nodeTableType', 'idColumn', 'labelColumn', 'ignoreColumns'] as const)
    if (options[name] !== undefined && nodeTable === undefined) refuse('nodeTable too', name, options[name]);
  if (options.nodeTypes?.length === 2 && options.noRemapIds)
    refuse('ids that are replaced, so that those of two types can be told apart', 'nodeTypes', 'noRemapIds');
  if (options.nodeSplit !== undefined && nodeLabels === undefined && labelColumn === undefined)
    refuse('nodeLabels or labelColumn too', 'nodeSplit', options.nodeSplit);
  const lists = [options.trainNodes, options.validNodes, options.testNodes];
  if (options.nodeSplit !== undefined && lists.some((list) => list !== undefined))
    refuse('either shares or files', 'nodeSplit', options.nodeSplit);
  if ((options.validNodes ?? options.testNodes) !== undefined && options.trainNodes === undefined)
    refuse('a file', 'trainNodes', undefined);
  const nodeParts = options.nodeSplit !== undefined || options.trainNodes !== undefined;
  if (nodeParts && (options.split !== undefined || inputs > 1))
    refuse('all edges in training when nodes are split', nodeParts ? 'edges' : 'split', inputs);
}

/** Classes of a table are for node classification unless edges are split: then nodes are split too. */
export function withDefaultSplit(options: PreprocessOptions): PreprocessOptions {
  const split = [options.nodeSplit, options.trainNodes, options.split].some((one) => one !== undefined);
  const several = listOf(options.edges).length + listOf(options.query).length > 1;
  if (options.labelColumn === undefined || split || several) return options;
  return { ...options, nodeSplit: [0.6, 0.2, 0.2] };
}

export function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value as T];
}
