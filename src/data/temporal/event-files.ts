/**
 * The formats of event files, detected by their first line:
 *   jodie  user_id,item_id,timestamp,state_label,features…   ids of users and of items from 0
 *   tgn    ,u,i,ts,label,idx                                  ids from 1; with ml_<name>.npy, ml_<name>_node.npy
 *   tgl    ,src,dst,time[,int_roll],ext_roll                  with edge_features, node_features, ext_full.npz, labels.csv
 *   snap   src dst time [type]                                separated by blanks or tabs, # comments
 *   tgb    time,src,dst[,weight…]                            tgbl-<name>_edgelist_v2.csv; nodes numbered as they appear
 *   csv    any delimited text, with a header or as src, dst, time (csv-layout.ts)
 */
import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { headerRows } from '../formats/header.js';
import { tableLayout } from '../formats/table-layout.js';
import { readLines } from '../formats/text-lines.js';
import { eventDelimiter, eventFields, timelessAdvice } from './csv-layout.js';
import type { ColumnRole, TableLayout } from './event-table.js';

export type TemporalFormat = 'jodie' | 'tgn' | 'tgl' | 'snap' | 'tgb' | 'csv';

/** All formats. */
const temporalFormats: readonly TemporalFormat[] = ['jodie', 'tgn', 'tgl', 'snap', 'tgb', 'csv'];

/** An event file and its format. */
export interface EventFile {
  readonly path: string;
  readonly format: TemporalFormat;
  readonly header: FileHead;
}

/** The first line that is not a comment. */
export interface FileHead {
  /** Its number, from 1; 0 in an empty file. */
  readonly line: number;
  readonly text: string;
  /** Lines after it. */
  readonly below: readonly string[];
}

/** Returns the event file at a path, which may be its folder. */
export async function locateEvents(path: string): Promise<string> {
  return isFolder(path) ? findInFolder(path) : path;
}

/** Finds the event file at a path and its format. */
export async function findEventFile(path: string, format: TemporalFormat | undefined): Promise<EventFile> {
  if (format !== undefined && !temporalFormats.includes(format))
    throw new ValueError(expected('readTemporal', `one of ${temporalFormats.join(', ')}`, 'format', format));
  const file = await locateEvents(path);
  const header = await readFileHead(file);
  return { path: file, format: format ?? detectFormat(file, header), header };
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Tables that DuckDB reads. */
const tableFile = /\.(parquet|jsonl|ndjson)$/;

async function findInFolder(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  for (const pattern of [
    /^edges\.csv(\.gz)?$/,
    /^ml_.*\.csv(\.gz)?$/,
    /\.(csv|txt|tsv|edges)(\.gz)?$/,
    tableFile,
  ]) {
    const found = names.filter((name) => pattern.test(name));
    if (found.length === 1) return join(folder, found[0]);
    if (found.length > 1) {
      const got = found.slice(0, 4).join(', ');
      throw new ValueError(
        expected('readTemporal', 'a folder with one event file', 'path', got, 'Pass one of them.'),
      );
    }
  }
  const advice =
    'The name of an event file ends in .csv, .txt, .tsv or .edges, optionally followed by .gz, or in .parquet, .jsonl or .ndjson.';
  throw new ValueError(
    expected('readTemporal', 'a folder with an event file', 'path', resolve(folder), advice),
  );
}

async function readFileHead(path: string): Promise<FileHead> {
  const below: string[] = [];
  let head: { line: number; text: string } | null = null;
  const skipped = tableLayout(path) === null ? /^\s*([#%].*)?$/ : /^$/;
  for await (const { first, lines } of readLines(path)) {
    for (const [i, text] of lines.entries()) {
      if (skipped.test(text)) continue;
      if (head === null) head = { line: first + i, text };
      else below.push(text);
      if (below.length === headerRows) return { ...head, below };
    }
  }
  return { ...(head ?? { line: 0, text: '' }), below };
}

/** All columns of TGL's files. */
const tglNames = /^(unnamed.*|src|dst|time|int_roll|ext_roll)?$/i;

function detectFormat(path: string, { line, text, below }: FileHead): TemporalFormat {
  const names = headerNames(text);
  const has = (...wanted: string[]): boolean => wanted.every((name) => names.includes(name));
  if (names[0] === 'user_id' && names[1] === 'item_id' && names[3] === 'state_label') return 'jodie';
  if (/^tgbl-.*_edgelist(_v\d+)?\.csv(\.gz)?$/.test(basename(path))) return 'tgb';
  if (has('u', 'i', 'ts')) return 'tgn';
  const isTgl = has('') || has('ext_roll') || /^edges\.csv/.test(basename(path));
  if (has('src', 'dst', 'time') && isTgl && names.every((name) => tglNames.test(name))) return 'tgl';
  const delimiter = eventDelimiter([text, ...below]);
  const fields = text.trim().split(/\s+/);
  const blanks = delimiter === 'blank' || delimiter === 'tab';
  if (blanks && (fields.length === 3 || fields.length === 4) && fields.slice(0, 3).every(isNumber))
    return 'snap';
  if (eventFields(text, delimiter).length > 2) return 'csv';
  const got = JSON.stringify(text.slice(0, 60));
  throw new FormatError(
    `${path}:${Math.max(1, line)}: expected at least the columns source, destination and time of events (delimited text, or a file of JODIE, TGN, TGL, SNAP or TGB), got ${got}. ${timelessAdvice(path)}`,
    { path, line },
  );
}

function isNumber(field: string): boolean {
  return field !== '' && Number.isFinite(Number(field));
}

function headerNames(text: string): string[] {
  return text.split(',').map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
}

/** Returns the layout of a file with a header, given the roles of its names; row numbers are skipped, others are errors. */
export function headerLayout(
  path: string,
  header: FileHead,
  roles: Readonly<Record<string, ColumnRole>>,
  options: { required: readonly string[]; unsorted: boolean },
): TableLayout {
  const names = headerNames(header.text);
  const absent = options.required.find((name) => !names.includes(name));
  if (absent !== undefined) {
    const got = JSON.stringify(header.text.slice(0, 80));
    throw new FormatError(
      `${path}:1: expected a column ${JSON.stringify(absent)} in the header, got ${got}.`,
      {
        path,
        line: 1,
      },
    );
  }
  const unknown = names.find((name) => !Object.hasOwn(roles, name) && !/^(unnamed.*|int_roll)?$/i.test(name));
  if (unknown !== undefined) {
    const known = Object.keys(roles).filter((name) => name !== '');
    throw new FormatError(
      `${path}:1: expected only the columns ${known.join(', ')}, got ${JSON.stringify(unknown)}. For text with more columns use format: 'csv' (--dataset.format=csv).`,
      { path, line: 1 },
    );
  }
  return {
    path,
    delimiter: 'comma',
    roles: names.map((name) => roles[name] ?? 'skip'),
    skip: header.line,
    unsorted: options.unsorted,
  };
}

/** Reads the head of a file; returns null if it does not exist. */
export async function findFileHead(path: string): Promise<FileHead | null> {
  return existsSync(path) ? readFileHead(path) : null;
}
