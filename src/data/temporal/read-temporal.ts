/**
 * `readTemporal`: a stream of events from the files that others use (event-files.ts lists them). What comes back is in
 * order of time, with node numbers from 0 without gaps of the format's own: TGN's padding node 0 and its padding rows are
 * left out, and JODIE's items follow its users.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { mismatch } from '../check.js';
import { checkNodeTypes, shareTextIds } from '../formats/node-types.js';
import { readNpz } from '../formats/npz.js';
import { checkColumns, csvLayout, type EventColumnNames } from './csv-layout.js';
import type { EventColumns } from './event-columns.js';
import {
  type EventFile,
  type FileHead,
  findEventFile,
  headOf,
  namedLayout,
  type TemporalFormat,
} from './event-files.js';
import { namedNodes, shiftedNodes, sidedNodes } from './event-nodes.js';
import {
  type ColumnRole,
  type OnReadProgress,
  readEventTable,
  type TableLayout,
  WordIds,
} from './event-table.js';
import { type FeatureMatrix, findFeatures, pickRows } from './feature-files.js';
import { makeTemporalData } from './make-temporal-data.js';
import { largestOf, nodesOf, numberNodes } from './node-numbers.js';
import { sortByTime } from './sort-by-time.js';
import type { NodeLabels, TemporalData } from './temporal-data.js';

export interface ReadTemporalOptions {
  /** Found by the first line when absent. */
  readonly format?: TemporalFormat;
  /** What the columns of delimited text are (csv), where their names do not say it. */
  readonly columns?: EventColumnNames;
  /** Whether the first line of delimited text (csv) names its columns; by default its look decides. */
  readonly header?: boolean;
  /**
   * One name: both columns share their ids. Two, such as user and item: each has ids of its own. By default the names of
   * the columns decide, as in `preprocess`.
   */
  readonly nodeTypes?: readonly string[];
  /** Is told what was decided about the header and the columns. */
  readonly onNote?: (note: string) => void;
  /** Sort events whose times go back; without it they are an error. Equal times keep the order of the file. */
  readonly sort?: boolean;
  /** At least this many nodes, where some have no event. */
  readonly numNodes?: number;
  /** Default: the name of the file, or of the folder for TGL's edges.csv. */
  readonly name?: string;
  /** Called about every megabyte. */
  readonly onProgress?: OnReadProgress;
}

interface Source {
  readonly path: string;
  readonly name: string;
  readonly options: ReadTemporalOptions;
}

/**
 * Reads a file of events, or the folder that has one.
 *
 * @example
 * const { events, numNodes } = await readTemporal('data/wikipedia.csv');
 * const graph = new TemporalGraph(events, { numNodes });
 */
export async function readTemporal(path: string, options: ReadTemporalOptions = {}): Promise<TemporalData> {
  checkOptionNames('readTemporal', options, {
    format: true,
    columns: true,
    header: true,
    nodeTypes: true,
    onNote: true,
    sort: true,
    numNodes: true,
    name: true,
    onProgress: true,
  });
  if (typeof path !== 'string') throw new ValueError(expected('readTemporal', 'a path', 'path', path));
  if (options.numNodes !== undefined)
    checkInteger('readTemporal', 'numNodes', options.numNodes, 0, 2 ** 31 - 2);
  const { path: file, format, header } = await findFile(path, options);
  const stem = basename(file).replace(/\.(csv|txt|tsv|edges)?(\.gz)?$/, '');
  const usual =
    format === 'tgl' && stem === 'edges' ? basename(dirname(resolve(file))) : stem.replace(/^ml_/, '');
  const source = { path: file, name: options.name ?? usual, options };
  const unsorted = options.sort ?? false;
  switch (format) {
    case 'jodie': {
      const roles = ['src', 'dst', 'time', 'label'] as const;
      const layout = { path: file, delimiter: 'comma', roles, features: true, unsorted } as const;
      // The header is the only line that starts with a word.
      return readJodie(source, { ...layout, skip: /^\s*\d/.test(header.text) ? 0 : header.line });
    }
    case 'tgn': {
      const roles = { u: 'src', i: 'dst', ts: 'time', label: 'label', idx: 'id' } as const;
      return readTgn(
        source,
        namedLayout(file, header, roles, { required: ['u', 'i', 'ts', 'idx'], unsorted }),
      );
    }
    case 'tgl': {
      const roles = { '': 'id', src: 'src', dst: 'dst', time: 'time', ext_roll: 'part' } as const;
      return readTgl(
        source,
        namedLayout(file, header, roles, { required: ['src', 'dst', 'time'], unsorted }),
      );
    }
    case 'snap': {
      const delimiter = header.text.includes(',') ? 'comma' : 'blank';
      const fields = header.text.trim().split(delimiter === 'comma' ? ',' : /\s+/);
      const roles: ColumnRole[] = ['src', 'dst', 'time', ...(fields.length > 3 ? (['type'] as const) : [])];
      const skip = Math.max(0, header.line - 1);
      if (fields.length > 4) tooMany(file, header.line, fields.length);
      return readSnap(source, { path: file, delimiter, roles, skip, unsorted });
    }
    case 'csv':
      return readCsv(source, header);
  }
}

/** Refuses a file whose columns cannot be found, after a look at its first lines. */
export async function checkEventColumns(path: string, options: ReadTemporalOptions): Promise<void> {
  const { path: file, format, header } = await findFile(path, options);
  if (format === 'csv' && header.line > 0) csvLayout(file, header, options);
}

function findFile(path: string, { columns, nodeTypes, format }: ReadTemporalOptions): Promise<EventFile> {
  if (columns !== undefined) checkColumns(columns);
  if (nodeTypes !== undefined) checkNodeTypes('readTemporal', 'nodeTypes', nodeTypes);
  if (columns !== undefined && format !== undefined && format !== 'csv')
    throw new ValueError(expected('readTemporal', 'csv beside columns', 'format', format));
  return findEventFile(path, columns === undefined ? format : 'csv');
}

function tooMany(path: string, line: number, count: number): never {
  throw new FormatError(
    `${path}:${line}: expected the columns src dst time [type], got ${count} columns. Say what they are: format: 'csv' with columns (--dataset.format=csv, --dataset.columns.src=… and so on).`,
    { path, line },
  );
}

async function readColumns({ options }: Source, layout: TableLayout): Promise<EventColumns> {
  const columns = await readEventTable(layout, options.onProgress);
  if (options.sort === true) sortByTime(columns);
  return columns;
}

/** What is said of a file beside its events. */
function remarks({ stepsBack }: EventColumns): { stepsBack?: number } {
  return stepsBack === 0 ? {} : { stepsBack };
}

/** Ids of events where the file has them, or where sorting moved events from their places. */
function idsOf({ id }: EventColumns): { ids?: Int32Array } {
  return id === null ? {} : { ids: id };
}

/** The number of nodes that the options ask for, if it is enough. */
function atLeast({ path, options }: Source, numNodes: number): number {
  if (options.numNodes !== undefined && options.numNodes < numNodes)
    mismatch(path, `at most ${options.numNodes} nodes`, numNodes);
  return options.numNodes ?? numNodes;
}

async function readJodie(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, label, featureWidth, features } = columns;
  const { src, dst, ...named } = usersAndItems(source, columns);
  const events = { src, dst, time, ...idsOf(columns), ...(featureWidth > 0 ? { features } : {}) };
  const parts = { name: source.name, events, featureWidth, labels: label, ...named, ...remarks(columns) };
  return makeTemporalData(parts);
}

async function readCsv(source: Source, head: FileHead): Promise<TemporalData> {
  const { path, options } = source;
  if (head.line === 0)
    return makeTemporalData({ name: source.name, ...noEvents(), numNodes: atLeast(source, 0) });
  const layout = csvLayout(path, head, options);
  const { delimiter, roles, names, hasHeader } = layout;
  let { sided } = layout;
  const table = (words: boolean): TableLayout => ({
    ...{ path, delimiter, roles, unsorted: options.sort ?? false, free: { names, words, sided } },
    skip: hasHeader ? head.line : head.line - 1,
  });
  let words = false;
  let columns = await readColumns(source, table(false)).catch((error: unknown) => {
    if (!(error instanceof WordIds)) throw error;
    words = true;
    return readColumns(source, table(true));
  });
  if (words && sided && options.nodeTypes === undefined && sameWords(columns)) {
    sided = false;
    columns = await readColumns(source, table(true));
  }
  const { label, type, featureWidth, features, time } = columns;
  const { src, dst, ...named } = words
    ? wordNodes(source, columns, sided)
    : numberedNodes(source, columns, sided);
  const events = {
    ...{ src, dst, time, ...idsOf(columns), ...(type === null ? {} : { types: type }) },
    ...(featureWidth > 0 ? { features } : {}),
  };
  const called = (role: ColumnRole): string[] => names.filter((name, i) => roles[i] === role && name !== '');
  return makeTemporalData({
    ...{ name: source.name, events, featureWidth, labels: label, ...named, ...remarks(columns) },
    ...{ typeNames: type === null ? null : columns.typeNames },
    ...(featureWidth > 0 && hasHeader ? { featureNames: called('feature') } : {}),
    ...(called('skip').length > 0 ? { leftOut: called('skip') } : {}),
  });
}

/** Whether words stand in both columns so often that they are the same nodes. */
function sameWords({ srcWords, dstWords }: EventColumns): boolean {
  const targets = new Set(dstWords.list);
  const shared = srcWords.list.filter((word) => targets.has(word) && !/^\d+$/.test(word)).length;
  return shareTextIds(shared, Math.min(srcWords.list.length, dstWords.list.length));
}

function noEvents(): Pick<TemporalData, 'events'> {
  return { events: { src: new Int32Array(0), dst: new Int32Array(0), time: new Float64Array(0) } };
}

type NumberedEvents = Pick<TemporalData, 'numNodes' | 'nodes'> &
  Pick<TemporalData['events'], 'src' | 'dst'> &
  Partial<Pick<TemporalData, 'names' | 'nodeIds'>>;

/** Ids that are words have numbers already; those of destinations may start after the sources. */
function wordNodes(source: Source, columns: EventColumns, sided: boolean): NumberedEvents {
  const { src, srcWords, dstWords } = columns;
  const first = sided ? srcWords.list.length : 0;
  const dst = sided ? columns.dst.map((id) => id + first) : columns.dst;
  const names = sided ? [...srcWords.list, ...dstWords.list] : srcWords.list;
  const numNodes = atLeast(source, names.length);
  const nodes = sided
    ? sidedNodes(namedNodes(first, srcWords.list), namedNodes(numNodes - first, dstWords.list))
    : namedNodes(numNodes, names);
  return { src, dst, numNodes, nodes, names };
}

function numberedNodes(source: Source, columns: EventColumns, sided: boolean): NumberedEvents {
  if (sided) return usersAndItems(source, columns);
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const numNodes = atLeast(source, numbered.numNodes);
  return { src, dst, numNodes, nodes: nodesOf(numbered, numNodes), ...(nodeIds === null ? {} : { nodeIds }) };
}

/** Users and items count apart, so neither has a say in whether the other's ids have gaps. */
function usersAndItems(source: Source, columns: EventColumns): NumberedEvents {
  const none = new Int32Array(0);
  const users = numberNodes(columns.src, none);
  const items = numberNodes(columns.dst, none);
  const dst = items.src.map((item) => item + users.numNodes);
  const numNodes = atLeast(source, users.numNodes + items.numNodes);
  const nodes = sidedNodes(nodesOf(users, users.numNodes), nodesOf(items, numNodes - users.numNodes));
  return { src: users.src, dst, numNodes, nodes };
}

async function readTgn(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { src, dst, time, label } = columns;
  const ids = columns.id as Int32Array;
  for (let i = 0; i < src.length; i++) {
    if (src[i] === 0 || dst[i] === 0) mismatch(source.path, 'node ids from 1', `0 in event ${i}`);
    src[i]--;
    dst[i]--;
  }
  const stem = source.path.replace(/\.csv(\.gz)?$/, '');
  const edgeMatrix = await findFeatures(stem);
  const nodeMatrix = await findFeatures(`${stem}_node`);
  const largest = largestOf(src, dst);
  const numNodes = atLeast(source, Math.max(largest + 1, (nodeMatrix?.rows ?? 0) - 1));
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes + 1)
    mismatch(nodeMatrix.path, `${numNodes + 1} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes, labels: label },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 1) },
    ...{ nodes: shiftedNodes(numNodes, 1), ...remarks(columns) },
  });
}

async function readTgl(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { src, dst, time, rows } = columns;
  const ids = columns.id ?? Int32Array.from({ length: rows }, (_, i) => i);
  const folder = dirname(source.path);
  const edgeMatrix = await findFeatures(join(folder, 'edge_features'));
  const nodeMatrix = await findFeatures(join(folder, 'node_features'));
  const known = Math.max(largestOf(src, dst) + 1, nodeMatrix?.rows ?? 0, await tcsrNodes(folder, rows));
  const numNodes = atLeast(source, known);
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes)
    mismatch(nodeMatrix.path, `${numNodes} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 0) },
    nodeLabels: await readTglLabels(join(folder, 'labels.csv'), numNodes),
    ...remarks(columns),
    ...(columns.part === null ? {} : { split: splitOf(source.path, columns.part) }),
  });
}

/** Nodes of the T-CSR beside the events, which must hold them all, once or in both directions; 0 without. */
async function tcsrNodes(folder: string, numEvents: number): Promise<number> {
  const path = join(folder, 'ext_full.npz');
  if (!existsSync(path)) return 0;
  const file = await readNpz(path);
  const { data: indptr } = file.numbers('indptr');
  const entries = file.numbers('eid').data.length;
  if (entries !== numEvents && entries !== 2 * numEvents)
    mismatch(path, `${numEvents} or ${2 * numEvents} entries`, entries);
  if (indptr.length === 0 || indptr[indptr.length - 1] !== entries)
    mismatch(path, `an indptr that ends at ${entries}`, indptr[indptr.length - 1]);
  return indptr.length - 1;
}

async function readTglLabels(path: string, numNodes: number): Promise<NodeLabels | null> {
  const header = await headOf(path);
  if (header === null) return null;
  const roles = { node: 'src', time: 'time', label: 'label', ext_roll: 'part' } as const;
  const required = ['node', 'time', 'label'];
  const columns = await readEventTable(namedLayout(path, header, roles, { required, unsorted: true }));
  const largest = largestOf(columns.src, columns.src);
  if (largest >= numNodes) mismatch(path, `nodes below ${numNodes}`, largest);
  const { src: nodes, time: times, label, part: parts } = columns;
  return { nodes, times, labels: label as Float32Array, parts };
}

/** Where validation and test start; parts must follow each other. */
function splitOf(path: string, parts: Uint8Array): { trainEnd: number; validationEnd: number } {
  for (let i = 1; i < parts.length; i++) {
    if (parts[i] < parts[i - 1])
      mismatch(path, 'ext_roll that ascends with time', `${parts[i]} after ${parts[i - 1]} in event ${i}`);
  }
  const end = (part: number): number => {
    const at = parts.findIndex((one) => one > part);
    return at < 0 ? parts.length : at;
  };
  return { trainEnd: end(0), validationEnd: end(1) };
}

async function readSnap(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, type } = columns;
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const events = { src, dst, time, ...idsOf(columns), ...(type === null ? {} : { types: type }) };
  const typeNames = type === null ? null : columns.typeNames;
  const numNodes = atLeast(source, numbered.numNodes);
  return makeTemporalData({
    ...{ name: source.name, events, numNodes, typeNames, nodes: nodesOf(numbered, numNodes) },
    ...(nodeIds === null ? {} : { nodeIds }),
    ...remarks(columns),
  });
}

/** Node features without the padding rows before them; null when they are all zero and so say nothing. */
function nodeTensor(matrix: FeatureMatrix | null, padding: number): Tensor | null {
  if (matrix === null) return null;
  const values = matrix.values.slice(padding * matrix.width);
  return values.some((value) => value !== 0)
    ? fromTypedArray(values, [matrix.rows - padding, matrix.width])
    : null;
}
