/**
 * `readTemporal`: reads an event stream from files in common formats (event-files.ts lists them). The result is in order of
 * time, with node numbers from 0 without gaps due to the format: TGN's padding node 0 and its padding rows are dropped, and
 * JODIE's items follow its users.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { checkOptionNames } from '../../util/option-names.js';
import { mismatch } from '../check.js';
import { isoSeconds } from '../formats/iso-time.js';
import { checkNodeTypes, shareTextIds } from '../formats/node-types.js';
import { readNpz } from '../formats/npz.js';
import { withTableFiles } from '../formats/table-files.js';
import { checkTableSource, formatOf, isTableQuery, type TableSource } from '../formats/table-source.js';
import { checkColumns, csvLayout, type EventColumnNames, eventFields } from './csv-layout.js';
import type { EventColumns } from './event-columns.js';
import {
  type EventFile,
  type FileHead,
  findEventFile,
  findFileHead,
  headerLayout,
  locateEvents,
  type TemporalFormat,
} from './event-files.js';
import { namedNodes, shiftedNodes, sidedNodes } from './event-nodes.js';
import {
  type ColumnRole,
  type OnReadProgress,
  readEventTable,
  type TableLayout,
  TextIdsFound,
} from './event-table.js';
import { type FeatureMatrix, findFeatures, pickRows } from './feature-files.js';
import { makeTemporalData } from './make-temporal-data.js';
import { largestOf, numberNodes, toEventNodes } from './node-numbers.js';
import { sortByTime } from './sort-by-time.js';
import { readStreamFile, streamEnding } from './stream-file.js';
import type { NodeLabels, TemporalData } from './temporal-data.js';

export interface ReadTemporalOptions {
  /** Default: detected from the first line. */
  readonly format?: TemporalFormat;
  /** Columns of delimited text (csv) that cannot be detected by their names. */
  readonly columns?: EventColumnNames;
  /** Whether the first line of delimited text (csv) names its columns. Default: detected. */
  readonly header?: boolean;
  /**
   * One name: both columns share ids. Two, such as user and item: each has separate ids. Default: from the column names, as
   * in `preprocess`.
   */
  readonly nodeTypes?: readonly string[];
  /** Receives notes about the header and the columns. */
  readonly onNote?: (note: string) => void;
  /** Sort events by time; without it, events out of order are an error. Equal times keep the order of the file. */
  readonly sort?: boolean;
  /** Number of nodes, if some have no event. */
  readonly numNodes?: number;
  /** Default: name of the file, or of the folder for TGL's edges.csv. */
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
 * Reads an event file, a folder that contains one, or the result of a query.
 *
 * @example
 * const { events, numNodes } = await readTemporal('data/wikipedia.csv');
 * const graph = new TemporalGraph(events, { numNodes });
 */
export async function readTemporal(
  source: TableSource,
  options: ReadTemporalOptions = {},
): Promise<TemporalData> {
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
  checkTableSource('readTemporal', 'source', source);
  if (options.numNodes !== undefined)
    checkInteger('readTemporal', 'numNodes', options.numNodes, 0, 2 ** 31 - 2);
  if (typeof source === 'string' && source.endsWith(streamEnding)) return readStreamFile(source);
  return withEventText(source, options, readFile);
}

/** Calls `read` with the path of a text file of the events; tables of other formats are written as one. */
async function withEventText<T>(
  source: TableSource,
  options: ReadTemporalOptions,
  read: (path: string, options: ReadTemporalOptions) => Promise<T>,
): Promise<T> {
  const path = isTableQuery(source) ? null : await locateEvents(source);
  if (path !== null && formatOf(path) === 'delimited') return read(path, options);
  return withTableFiles('readTemporal', async (tables) => {
    const name = path ?? 'query';
    const file = await tables.textOf({ source: path ?? source, kind: 'edges', name });
    const { onNote, ...rest } = options;
    const renamed = onNote === undefined ? {} : { onNote: (note: string) => onNote(tables.rename(note)) };
    return read(file, { format: 'csv', name: basename(name).replace(/\..*$/, ''), ...rest, ...renamed });
  });
}

async function readFile(path: string, options: ReadTemporalOptions): Promise<TemporalData> {
  const { path: file, format, header } = await findFile(path, options);
  const stem = basename(file).replace(/\.(csv|txt|tsv|edges)?(\.gz)?$/, '');
  const defaultName =
    format === 'tgl' && stem === 'edges' ? basename(dirname(resolve(file))) : stem.replace(/^ml_/, '');
  const source = { path: file, name: options.name ?? defaultName, options };
  const unsorted = options.sort ?? false;
  switch (format) {
    case 'jodie': {
      const roles = ['src', 'dst', 'time', 'label'] as const;
      const layout = { path: file, delimiter: 'comma', roles, features: true, unsorted } as const;
      // The header is the only line that starts with text.
      return readJodie(source, { ...layout, skip: /^\s*\d/.test(header.text) ? 0 : header.line });
    }
    case 'tgn': {
      const roles = { u: 'src', i: 'dst', ts: 'time', label: 'label', idx: 'id' } as const;
      return readTgn(
        source,
        headerLayout(file, header, roles, { required: ['u', 'i', 'ts', 'idx'], unsorted }),
      );
    }
    case 'tgl': {
      const roles = { '': 'id', src: 'src', dst: 'dst', time: 'time', ext_roll: 'split' } as const;
      return readTgl(
        source,
        headerLayout(file, header, roles, { required: ['src', 'dst', 'time'], unsorted }),
      );
    }
    case 'snap': {
      const delimiter = header.text.includes(',') ? 'comma' : 'blank';
      const fields = header.text.trim().split(delimiter === 'comma' ? ',' : /\s+/);
      const roles: ColumnRole[] = ['src', 'dst', 'time', ...(fields.length > 3 ? (['type'] as const) : [])];
      const skip = Math.max(0, header.line - 1);
      if (fields.length > 4) throwTooManyColumns(file, header.line, fields.length);
      return readSnap(source, { path: file, delimiter, roles, skip, unsorted });
    }
    case 'tgb':
      return readTgb(source, header);
    case 'csv':
      return readCsv(source, header);
  }
}

/** Throws if the columns of a file cannot be found from its first lines, or if its first event has no time. */
export async function checkEventColumns(source: string, options: ReadTemporalOptions): Promise<void> {
  await withEventText(source, options, checkColumnsOf);
}

async function checkColumnsOf(path: string, options: ReadTemporalOptions): Promise<void> {
  const { path: file, format, header } = await findFile(path, options);
  if (format !== 'csv' || header.line === 0) return;
  const { delimiter, roles, hasHeader } = csvLayout(file, header, options);
  const first = hasHeader ? header.below[0] : header.text;
  if (first === undefined) return;
  const time = eventFields(first, delimiter)[roles.indexOf('time')] ?? '';
  if (time !== '' && (Number.isFinite(Number(time)) || Number.isFinite(isoSeconds(time)))) return;
  throw new FormatError(
    `${file}: expected a number or an ISO 8601 date for the time of the first event, got ${JSON.stringify(time)}. Name the column with --dataset.columns.time=…; edges without times are prepared with: ${invocation()} preprocess --edges ${path} --output-directory DIR.`,
    { path: file },
  );
}

function findFile(path: string, { columns, nodeTypes, format }: ReadTemporalOptions): Promise<EventFile> {
  if (columns !== undefined) checkColumns(columns);
  if (nodeTypes !== undefined) checkNodeTypes('readTemporal', 'nodeTypes', nodeTypes);
  if (columns !== undefined && format !== undefined && format !== 'csv')
    throw new ValueError(expected('readTemporal', 'csv with columns', 'format', format));
  return findEventFile(path, columns === undefined ? format : 'csv');
}

function throwTooManyColumns(path: string, line: number, count: number): never {
  throw new FormatError(
    `${path}:${line}: expected the columns src dst time [type], got ${count} columns. Set them with format: 'csv' and columns (--dataset.format=csv, --dataset.columns.src=… and so on).`,
    { path, line },
  );
}

async function readColumns({ options }: Source, layout: TableLayout): Promise<EventColumns> {
  const columns = await readEventTable(layout, options.onProgress);
  if (options.sort === true) sortByTime(columns);
  return columns;
}

/** Returns the number of events out of order, if any. */
function stepsBackOf({ stepsBack }: EventColumns): { stepsBack?: number } {
  return stepsBack === 0 ? {} : { stepsBack };
}

/** Returns ids of events if the file has them, or if sorting moved events. */
function eventIds({ id }: EventColumns): { ids?: Int32Array } {
  return id === null ? {} : { ids: id };
}

/** Returns the number of nodes of the options; throws if it is too small. */
function resolveNumNodes({ path, options }: Source, numNodes: number): number {
  if (options.numNodes !== undefined && options.numNodes < numNodes)
    mismatch(path, `at most ${options.numNodes} nodes`, numNodes);
  return options.numNodes ?? numNodes;
}

async function readJodie(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, label, featureWidth, features } = columns;
  const { src, dst, ...numbered } = numberUsersAndItems(source, columns);
  const events = { src, dst, time, ...eventIds(columns), ...(featureWidth > 0 ? { features } : {}) };
  const fields = { name: source.name, events, featureWidth, labels: label, ...numbered };
  return makeTemporalData({ ...fields, ...stepsBackOf(columns) });
}

async function readCsv(source: Source, head: FileHead): Promise<TemporalData> {
  const { path, options } = source;
  if (head.line === 0)
    return makeTemporalData({ name: source.name, ...noEvents(), numNodes: resolveNumNodes(source, 0) });
  const layout = csvLayout(path, head, options);
  const { delimiter, roles, names, hasHeader } = layout;
  let { sided } = layout;
  const table = (hasTextIds: boolean): TableLayout => ({
    ...{ path, delimiter, roles, unsorted: options.sort ?? false, free: { names, hasTextIds, sided } },
    skip: hasHeader ? head.line : head.line - 1,
  });
  let hasTextIds = false;
  let columns = await readColumns(source, table(false)).catch((error: unknown) => {
    if (!(error instanceof TextIdsFound)) throw error;
    hasTextIds = true;
    return readColumns(source, table(true));
  });
  if (hasTextIds && sided && options.nodeTypes === undefined && shareNodes(columns)) {
    sided = false;
    columns = await readColumns(source, table(true));
  }
  const { label, type, featureWidth, features, time } = columns;
  const { src, dst, ...numbered } = hasTextIds
    ? numberTextIds(source, columns, sided)
    : numberIds(source, columns, sided);
  const events = {
    ...{ src, dst, time, ...eventIds(columns), ...(type === null ? {} : { types: type }) },
    ...(featureWidth > 0 ? { features } : {}),
  };
  const namesOf = (role: ColumnRole): string[] => names.filter((name, i) => roles[i] === role && name !== '');
  return makeTemporalData({
    ...{ name: source.name, events, featureWidth, labels: label, ...numbered, ...stepsBackOf(columns) },
    ...{ typeNames: type === null ? null : columns.typeNames },
    ...(featureWidth > 0 && hasHeader ? { featureNames: namesOf('feature') } : {}),
    ...(namesOf('skip').length > 0 ? { leftOut: namesOf('skip') } : {}),
  });
}

/**
 * Reads an edge list of the Temporal Graph Benchmark: time, source, destination, then attributes. Nodes of both columns are
 * numbered in order of appearance, as the benchmark numbers them in its files of negatives. Attributes that are numbers are
 * features; others are ignored.
 */
async function readTgb(source: Source, head: FileHead): Promise<TemporalData> {
  const { path, options } = source;
  const names = eventFields(head.text, 'comma');
  if (names.length < 3)
    throw new FormatError(
      `${path}:${Math.max(1, head.line)}: expected the columns time, src, dst in the header, got ${JSON.stringify(head.text.slice(0, 80))}.`,
      { path },
    );
  const first = eventFields(head.below[0] ?? '', 'comma');
  const roles = names.map((_, i): ColumnRole => {
    if (i < 3) return (['time', 'src', 'dst'] as const)[i];
    return first[i] !== undefined && first[i] !== '' && Number.isFinite(Number(first[i]))
      ? 'feature'
      : 'skip';
  });
  const columns = await readColumns(source, {
    ...{ path, delimiter: 'comma', roles, skip: head.line, unsorted: options.sort ?? false },
    free: { names, hasTextIds: true, sided: false },
  });
  const { featureWidth, features, time } = columns;
  const { src, dst, ...numbered } = numberTextIds(source, columns, false);
  const events = { src, dst, time, ...eventIds(columns), ...(featureWidth > 0 ? { features } : {}) };
  const namesOf = (role: ColumnRole): string[] => names.filter((_, i) => roles[i] === role);
  return makeTemporalData({
    ...{ name: source.name, events, featureWidth, ...numbered, ...stepsBackOf(columns) },
    ...(featureWidth > 0 ? { featureNames: namesOf('feature') } : {}),
    ...(namesOf('skip').length > 0 ? { leftOut: namesOf('skip') } : {}),
  });
}

/** Returns whether so many text ids are in both columns that they are the same nodes. */
function shareNodes({ srcNames, dstNames }: EventColumns): boolean {
  const targets = new Set(dstNames.list);
  const shared = srcNames.list.filter((name) => targets.has(name) && !/^\d+$/.test(name)).length;
  return shareTextIds(shared, Math.min(srcNames.list.length, dstNames.list.length));
}

function noEvents(): Pick<TemporalData, 'events'> {
  return { events: { src: new Int32Array(0), dst: new Int32Array(0), time: new Float64Array(0) } };
}

type NumberedEvents = Pick<TemporalData, 'numNodes' | 'nodes'> &
  Pick<TemporalData['events'], 'src' | 'dst'> &
  Partial<Pick<TemporalData, 'names' | 'nodeIds'>>;

/** Returns the numbers of text ids, which the reader has assigned; those of destinations may follow the sources. */
function numberTextIds(source: Source, columns: EventColumns, sided: boolean): NumberedEvents {
  const { src, srcNames, dstNames } = columns;
  const first = sided ? srcNames.list.length : 0;
  const dst = sided ? columns.dst.map((id) => id + first) : columns.dst;
  const names = sided ? [...srcNames.list, ...dstNames.list] : srcNames.list;
  const numNodes = resolveNumNodes(source, names.length);
  const nodes = sided
    ? sidedNodes(namedNodes(first, srcNames.list), namedNodes(numNodes - first, dstNames.list))
    : namedNodes(numNodes, names);
  return { src, dst, numNodes, nodes, names };
}

function numberIds(source: Source, columns: EventColumns, sided: boolean): NumberedEvents {
  if (sided) return numberUsersAndItems(source, columns);
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const numNodes = resolveNumNodes(source, numbered.numNodes);
  return {
    src,
    dst,
    numNodes,
    nodes: toEventNodes(numbered, numNodes),
    ...(nodeIds === null ? {} : { nodeIds }),
  };
}

/** Numbers users and items separately, so that gaps in the ids of one do not affect the other. */
function numberUsersAndItems(source: Source, columns: EventColumns): NumberedEvents {
  const none = new Int32Array(0);
  const users = numberNodes(columns.src, none);
  const items = numberNodes(columns.dst, none);
  const dst = items.src.map((item) => item + users.numNodes);
  const numNodes = resolveNumNodes(source, users.numNodes + items.numNodes);
  const nodes = sidedNodes(
    toEventNodes(users, users.numNodes),
    toEventNodes(items, numNodes - users.numNodes),
  );
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
  const numNodes = resolveNumNodes(source, Math.max(largest + 1, (nodeMatrix?.rows ?? 0) - 1));
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes + 1)
    mismatch(nodeMatrix.path, `${numNodes + 1} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes, labels: label },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 1) },
    ...{ nodes: shiftedNodes(numNodes, 1), ...stepsBackOf(columns) },
  });
}

async function readTgl(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { src, dst, time, rows } = columns;
  const ids = columns.id ?? Int32Array.from({ length: rows }, (_, i) => i);
  const folder = dirname(source.path);
  const edgeMatrix = await findFeatures(join(folder, 'edge_features'));
  const nodeMatrix = await findFeatures(join(folder, 'node_features'));
  const known = Math.max(largestOf(src, dst) + 1, nodeMatrix?.rows ?? 0, await countTcsrNodes(folder, rows));
  const numNodes = resolveNumNodes(source, known);
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes)
    mismatch(nodeMatrix.path, `${numNodes} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 0) },
    nodeLabels: await readTglLabels(join(folder, 'labels.csv'), numNodes),
    ...stepsBackOf(columns),
    ...(columns.split === null ? {} : { split: splitBounds(source.path, columns.split) }),
  });
}

/** Returns the number of nodes of the T-CSR file, which must have all events, once or in both directions; 0 without it. */
async function countTcsrNodes(folder: string, numEvents: number): Promise<number> {
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
  const header = await findFileHead(path);
  if (header === null) return null;
  const roles = { node: 'src', time: 'time', label: 'label', ext_roll: 'split' } as const;
  const required = ['node', 'time', 'label'];
  const columns = await readEventTable(headerLayout(path, header, roles, { required, unsorted: true }));
  const largest = largestOf(columns.src, columns.src);
  if (largest >= numNodes) mismatch(path, `nodes below ${numNodes}`, largest);
  const { src: nodes, time: times, label, split: splits } = columns;
  return { nodes, times, labels: label as Float32Array, splits };
}

/** Returns the rows at which validation and test start; the splits must follow one another. */
function splitBounds(path: string, splits: Uint8Array): { trainEnd: number; validationEnd: number } {
  for (let i = 1; i < splits.length; i++) {
    if (splits[i] < splits[i - 1])
      mismatch(path, 'ext_roll that ascends with time', `${splits[i]} after ${splits[i - 1]} in event ${i}`);
  }
  const end = (split: number): number => {
    const at = splits.findIndex((one) => one > split);
    return at < 0 ? splits.length : at;
  };
  return { trainEnd: end(0), validationEnd: end(1) };
}

async function readSnap(source: Source, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, type } = columns;
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const events = { src, dst, time, ...eventIds(columns), ...(type === null ? {} : { types: type }) };
  const typeNames = type === null ? null : columns.typeNames;
  const numNodes = resolveNumNodes(source, numbered.numNodes);
  return makeTemporalData({
    ...{ name: source.name, events, numNodes, typeNames, nodes: toEventNodes(numbered, numNodes) },
    ...(nodeIds === null ? {} : { nodeIds }),
    ...stepsBackOf(columns),
  });
}

/** Returns node features without the leading padding rows; null if they are all zero. */
function nodeTensor(matrix: FeatureMatrix | null, padding: number): Tensor | null {
  if (matrix === null) return null;
  const values = matrix.values.slice(padding * matrix.width);
  return values.some((value) => value !== 0)
    ? fromTypedArray(values, [matrix.rows - padding, matrix.width])
    : null;
}
