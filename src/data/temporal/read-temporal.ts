/**
 * `readTemporal`: reads an event stream from files in common formats (event-files.ts lists them). The result is in order of
 * time, with node numbers from 0 without gaps due to the format: TGN's padding node 0 and its padding rows are dropped, and
 * JODIE's items follow its users.
 */
import { basename, dirname, resolve } from 'node:path';
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { isoSeconds } from '../formats/iso-time.js';
import { checkNodeTypes } from '../formats/node-types.js';
import { withTableFiles } from '../formats/table-files.js';
import { checkTableSource, formatOf, isTableQuery, type TableSource } from '../formats/table-source.js';
import { checkColumns, csvLayout, eventFields, timelessAdvice } from './csv-layout.js';
import { type EventFile, findEventFile, headerLayout, locateEvents } from './event-files.js';
import type { ReadTemporalOptions } from './event-input.js';
import type { ColumnRole } from './event-table.js';
import { readCsv, readTgb } from './read-csv-events.js';
import { readJodie, readSnap, readTgl, readTgn } from './read-known-events.js';
import { readStreamFile, streamEnding } from './stream-file.js';
import type { TemporalData } from './temporal-data.js';

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
    `${file}: expected a number or an ISO 8601 date for the time of the first event, got ${JSON.stringify(time)}. Name the column with --dataset.columns.time=…. ${timelessAdvice(path)}`,
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
