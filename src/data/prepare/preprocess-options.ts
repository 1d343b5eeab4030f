/** Options of `preprocess`: plain data that can be sent to another process, checked before that. */
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkNodeTypes } from '../formats/node-types.js';
import {
  checkTableSource,
  type TableFormat,
  type TableSource,
  tableFormats,
} from '../formats/table-source.js';
import type { Column } from '../formats/text-layout.js';

/** Format and columns of an edge file or query. */
export interface EdgeColumns {
  /**
   * Format of edge files. Default: by the extension (.parquet; .json, .jsonl, .ndjson; .nt, .nq, .ttl, .trig; .graphml), else
   * `delimited`. Node files have the format of their extension.
   */
  readonly format?: TableFormat;
  /**
   * Columns by name or by index from 0. Default: by common names in the header; else 0 and 1 of two columns, and 0, 1 (type)
   * and 2 of three.
   */
  readonly source?: Column;
  readonly target?: Column;
  readonly edgeType?: Column;
  readonly edgeWeight?: Column;
  /** Delimiter of text files. Default: detected (tab, comma, semicolon, bar, or runs of blanks). */
  readonly delimiter?: string;
  /** Whether the first line of all text files names the columns. Default: detected. */
  readonly header?: boolean;
  /** Start of comment lines at the top of a text file; '' for none. Default '#'. */
  readonly comment?: string;
}

export interface PreprocessOptions extends EdgeColumns {
  /** The directory to write. */
  readonly outputDir: string;
  /** One file or query to split, two (training, test) or three (training, validation, test). */
  readonly edges?: TableSource | readonly TableSource[];
  /** Instead: SQL that DuckDB runs, one query or one per split. */
  readonly query?: string | readonly string[];
  /** Statements to run before the query, such as `ATTACH 'x.duckdb'`. They may load installed extensions. */
  readonly setup?: string;
  /** RDF: whether to keep statements whose object is a literal, such as a name or a number. Default true. */
  readonly literals?: boolean;
  /** Fractions of one file for training and test, or training, validation and test. */
  readonly split?: readonly number[];
  /** Default 1. */
  readonly partitions?: number;
  /** Sort validation and test edges by bucket too. */
  readonly partitionedEval?: boolean;
  /** Keep ids, which must be whole numbers. */
  readonly noRemapIds?: boolean;
  /** With `noRemapIds`: the number of nodes. Default: the largest id + 1. */
  readonly numNodes?: number;
  readonly numRelations?: number;
  /** Give training nodes the lowest numbers. */
  readonly sequentialTrainNodes?: boolean;
  /** Default 1. */
  readonly seed?: number;
  /** File of node ids, which may have no edges: the first column, or an .npy of whole numbers. */
  readonly nodes?: TableSource;
  /** Node features: .npy (row i is node i, or line i of `nodes`), or delimited with the id in the first column. */
  readonly nodeFeatures?: TableSource;
  /** Node table: its columns of numbers, categories, dates and booleans become features. */
  readonly nodeTable?: TableSource;
  /** Type of the nodes of the table. Default: from the name of its id column or of the file. */
  readonly nodeTableType?: string;
  /** Columns of the table: ids (default: named id, node, …, or the first), classes, and columns to ignore. */
  readonly idColumn?: Column;
  readonly labelColumn?: Column;
  readonly ignoreColumns?: readonly Column[];
  /** Columns of the table whose words TEXT layers read. */
  readonly textColumns?: readonly Column[];
  /**
   * One name: sources and destinations share ids. Two: user 7 and item 7 are different nodes, named user:7 and item:7.
   * Default: from the column names.
   */
  readonly nodeTypes?: readonly string[];
  /** Node classes: .npy as for features, or delimited with the id and the class in the first two columns. */
  readonly nodeLabels?: TableSource;
  /** Files of the node ids of each split. */
  readonly trainNodes?: TableSource;
  readonly validNodes?: TableSource;
  readonly testNodes?: TableSource;
  /**
   * Fractions of the labelled nodes instead: training, validation, test. Default with `labelColumn` and no split of edges:
   * 0.6, 0.2, 0.2.
   */
  readonly nodeSplit?: readonly number[];
  readonly overwrite?: boolean;
  /** Memory limit in bytes, in addition to 4 to 13 bytes per node. Default 1 GiB, minimum 256 MiB. */
  readonly memoryLimit?: number;
  /** Threads of DuckDB; the result does not depend on it. */
  readonly threads?: number;
  /** Work in this process: saves the second to start another, but memory and crashes affect the caller. */
  readonly inProcess?: boolean;
}

const where = 'preprocess';

type Check = (name: string, value: unknown) => void;

const reject = (what: string, name: string, value: unknown): never => {
  throw new ValueError(expected(where, what, name, value));
};
const text: Check = (name, value) => {
  if (typeof value !== 'string' || value === '') reject('text', name, value);
};
const texts: Check = (name, value) => {
  const list = Array.isArray(value) ? value : [value];
  if (list.length < 1 || list.length > 3) reject('1, 2 or 3 entries', name, value);
  for (const one of list) text(name, one);
};
const source: Check = (name, value) => checkTableSource(where, name, value);
const sources: Check = (name, value) => {
  const list = Array.isArray(value) ? value : [value];
  if (list.length < 1 || list.length > 3) reject('1, 2 or 3 entries', name, value);
  for (const one of list) source(name, one);
};
const flag: Check = (name, value) => {
  if (typeof value !== 'boolean') reject('true or false', name, value);
};
const column: Check = (name, value) => {
  if (typeof value !== 'string') checkInteger(where, name, value, 0, 2 ** 31 - 1);
};
const columns: Check = (name, value) => {
  if (!Array.isArray(value)) reject('a list of columns', name, value);
  for (const one of value as unknown[]) column(name, one);
};
const whole =
  (least: number, most = 2 ** 31 - 1): Check =>
  (name, value) => {
    checkInteger(where, name, value, least, most);
  };
const fractions: Check = (name, value) => {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) reject('2 or 3 fractions', name, value);
  let sum = 0;
  for (const one of value as number[]) sum += checkNumber(where, `a fraction of ${name}`, one, 0, 1);
  if (Math.abs(sum - 1) > 1e-6)
    reject('fractions that add up to 1', name, `${(value as number[]).join(' + ')} = ${sum}`);
};

const checks: Readonly<Record<keyof PreprocessOptions, Check>> = {
  outputDir: text,
  edges: sources,
  query: texts,
  setup: text,
  literals: flag,
  format: (name, value) => {
    if (!(tableFormats as readonly unknown[]).includes(value))
      reject(`one of ${tableFormats.join(', ')}`, name, value);
  },
  source: column,
  target: column,
  edgeType: column,
  edgeWeight: column,
  delimiter: text,
  header: flag,
  comment: (name, value) => {
    if (typeof value !== 'string') reject('text', name, value);
  },
  split: fractions,
  partitions: whole(1, 2 ** 15),
  partitionedEval: flag,
  noRemapIds: flag,
  numNodes: whole(1),
  numRelations: whole(1),
  sequentialTrainNodes: flag,
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  nodes: source,
  nodeFeatures: source,
  nodeTable: source,
  nodeTableType: text,
  idColumn: column,
  labelColumn: column,
  ignoreColumns: columns,
  textColumns: columns,
  nodeTypes: (name, value) => checkNodeTypes(where, name, value),
  nodeLabels: source,
  trainNodes: source,
  validNodes: source,
  testNodes: source,
  nodeSplit: fractions,
  overwrite: flag,
  memoryLimit: whole(2 ** 28, Number.MAX_SAFE_INTEGER),
  threads: whole(1, 1024),
  inProcess: flag,
};

/** Throws on unknown options, values outside their range, and contradictory options. */
export function checkPreprocessOptions(options: PreprocessOptions): void {
  if (typeof options !== 'object' || options === null) reject('an object', 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name)) reject(`one of ${Object.keys(checks).join(', ')}`, 'an option', name);
    if (value !== undefined) checks[name as keyof PreprocessOptions](name, value);
  }
  if (options.outputDir === undefined) reject('a directory', 'outputDir', undefined);
  const files = listOf(options.edges).length;
  const queries = listOf(options.query).length;
  if (files > 0 === queries > 0)
    reject('either files or queries', 'edges and query', `${files} and ${queries}`);
  if (options.split !== undefined && files + queries > 1)
    reject('one edge file to split', 'edges', `${files + queries} files`);
  if (options.numNodes !== undefined && !options.noRemapIds)
    reject('noRemapIds too (remapped ids are counted)', 'numNodes', options.numNodes);
  if (options.noRemapIds && options.sequentialTrainNodes)
    reject('remapped ids', 'sequentialTrainNodes', 'noRemapIds');
  checkNodeOptions(options, files + queries);
}

function checkNodeOptions(options: PreprocessOptions, inputs: number): void {
  const { nodeTable, labelColumn, nodeFeatures, nodeLabels } = options;
  if (nodeTable !== undefined && nodeFeatures !== undefined)
    reject('either a table or features', 'nodeTable and nodeFeatures', 'both');
  if (labelColumn !== undefined && nodeLabels !== undefined)
    reject('one source of classes', 'labelColumn and nodeLabels', 'both');
  for (const name of ['nodeTableType', 'idColumn', 'labelColumn', 'ignoreColumns', 'textColumns'] as const)
    if (options[name] !== undefined && nodeTable === undefined) reject('nodeTable too', name, options[name]);
  if (options.nodeTypes?.length === 2 && options.noRemapIds)
    reject('remapped ids, so that those of two types differ', 'nodeTypes', 'noRemapIds');
  if (options.nodeSplit !== undefined && nodeLabels === undefined && labelColumn === undefined)
    reject('nodeLabels or labelColumn too', 'nodeSplit', options.nodeSplit);
  const lists = [options.trainNodes, options.validNodes, options.testNodes];
  if (options.nodeSplit !== undefined && lists.some((list) => list !== undefined))
    reject('either fractions or files', 'nodeSplit', options.nodeSplit);
  if ((options.validNodes ?? options.testNodes) !== undefined && options.trainNodes === undefined)
    reject('a file', 'trainNodes', undefined);
  const splitsNodes = options.nodeSplit !== undefined || options.trainNodes !== undefined;
  if (splitsNodes && (options.split !== undefined || inputs > 1))
    reject('all edges in training if nodes are split', splitsNodes ? 'edges' : 'split', inputs);
}

/** Adds the default node split if a table has classes and edges are not split, which means node classification. */
export function withDefaultSplit(options: PreprocessOptions): PreprocessOptions {
  const split = [options.nodeSplit, options.trainNodes, options.split].some((one) => one !== undefined);
  const several = listOf(options.edges).length + listOf(options.query).length > 1;
  if (options.labelColumn === undefined || split || several) return options;
  return { ...options, nodeSplit: [0.6, 0.2, 0.2] };
}

export function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value as T];
}
