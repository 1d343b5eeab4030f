/**
 * How an edge list is laid out: delimiter, header, comments, and which column is what, from the options and the first
 * lines. Also the slow, careful second look that finds the line at fault once the fast reader has refused a file.
 */
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import { readLines } from './text-lines.js';

/** A column by its name in the header or by its place from 0. */
export type Column = string | number;

export interface EdgeListOptions {
  /** Default 0. */
  readonly source?: Column;
  /** Default 1. */
  readonly target?: Column;
  readonly weight?: Column;
  readonly time?: Column;
  /** A word for the kind of each edge, numbered in order of first appearance. */
  readonly type?: Column;
  /** Whether the first line names the columns; by default it does if a column is given by name. */
  readonly header?: boolean;
  /** By default the first of tab, comma, semicolon, blank that the first line holds. */
  readonly delimiter?: string;
  /** What starts a comment line; '' for none. Default '#'. */
  readonly comment?: string;
  /**
   * `integers` (default): ids are whole numbers and stay what they are, less `idBase`. `names`: any text, numbered in
   * order of first appearance. With names, comments are understood before the first edge only.
   */
  readonly ids?: 'integers' | 'names';
  /** The smallest id, 0 or 1. Default 0. */
  readonly idBase?: 0 | 1;
  /** Ids must be below `numNodes` + `idBase`. By default the largest decides. */
  readonly numNodes?: number;
}

export interface Layout {
  readonly path: string;
  readonly delimiter: string;
  readonly comment: string;
  /** Fields may be quoted: in files with commas and semicolons. */
  readonly quoted: boolean;
  /** Lines before the first edge, and how many of them are not comments. */
  readonly skip: number;
  readonly skipPlain: number;
  readonly width: number;
  /** The names in the header; null without one. */
  readonly header: readonly string[] | null;
  readonly source: number;
  readonly target: number;
  readonly weight: number | null;
  readonly time: number | null;
  readonly type: number | null;
  readonly names: boolean;
  readonly idBase: number;
  readonly numNodes: number | null;
  /** Types must be whole numbers too. */
  readonly integerTypes?: boolean;
  /** What to do about ids that are no whole numbers. */
  readonly advice?: string;
}

/** From here on a number becomes infinite as an f32: the largest f32 and half a step. */
export const f32Limit = 2 ** 128 - 2 ** 103;

type Check = (name: string, value: unknown) => void;

const refuse = (what: string, name: string, value: unknown): never => {
  throw new ValueError(expected('readEdgeList', what, name, value));
};
const isColumn: Check = (name, value) => {
  if (typeof value !== 'string') checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1);
};
/** Text that goes to the reader of tables as a setting. */
const isSign =
  (least: number, most: number): Check =>
  (name, value) => {
    const fits = typeof value === 'string' && value.length >= least && Buffer.byteLength(value) <= most;
    if (!fits || /[\r\n"\0]/.test(value))
      refuse(`${least} to ${most} bytes of text without quotes and line ends`, name, value);
  };

const optionChecks: Readonly<Record<keyof EdgeListOptions, Check>> = {
  source: isColumn,
  target: isColumn,
  weight: isColumn,
  time: isColumn,
  type: isColumn,
  header: (name, value) => {
    if (typeof value !== 'boolean') refuse('true or false', name, value);
  },
  delimiter: isSign(1, 4),
  comment: isSign(0, 16),
  ids: (name, value) => {
    if (value !== 'integers' && value !== 'names') refuse('"integers" or "names"', name, value);
  },
  idBase: (name, value) => checkInteger('readEdgeList', name, value, 0, 1),
  numNodes: (name, value) => checkInteger('readEdgeList', name, value, 0, 2 ** 31 - 1),
};

/** Refuses unknown options and values outside their range, by name. */
export function checkEdgeListOptions(options: EdgeListOptions): void {
  if (typeof options !== 'object' || options === null) refuse('an object', 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionChecks, name))
      refuse(`one of ${Object.keys(optionChecks).join(', ')}`, 'an option', name);
    if (value !== undefined) optionChecks[name as keyof EdgeListOptions](name, value);
  }
  const { delimiter, comment = '#' } = options;
  if (
    delimiter !== undefined &&
    comment !== '' &&
    (delimiter.includes(comment) || comment.includes(delimiter))
  )
    refuse(`a sign that is no part of the delimiter ${JSON.stringify(delimiter)}`, 'comment', comment);
}

const delimiters = ['\t', ',', ';', ' '];

/** Looks at the first lines; null when the file has no edge. */
export async function findLayout(path: string, options: EdgeListOptions): Promise<Layout | null> {
  const columns = [options.source ?? 0, options.target ?? 1, options.weight, options.time, options.type];
  const comment = options.comment ?? '#';
  let header: string[] | null = null;
  let skipPlain = 0;
  let needsHeader = options.header ?? columns.some((column) => typeof column === 'string');
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      const text = lines[i];
      if (comment !== '' && text.startsWith(comment)) continue;
      skipPlain++;
      if (text.trim() === '') continue;
      const delimiter = options.delimiter ?? delimiters.find((candidate) => text.includes(candidate)) ?? ',';
      const quoted = delimiter === ',' || delimiter === ';';
      const fields = splitLine(text, delimiter, quoted);
      if (needsHeader) {
        needsHeader = false;
        header = fields.map((field) => field.trim());
        continue;
      }
      const width = header?.length ?? fields.length;
      const [source, target, weight, time, type] = columns.map((column) =>
        column === undefined ? null : placeOf(path, column, header, width),
      );
      return {
        ...{ path, delimiter, comment, quoted, skip: first + i - 1, skipPlain: skipPlain - 1, width, header },
        ...{ source: source as number, target: target as number, weight, time, type },
        names: options.ids === 'names',
        idBase: options.idBase ?? 0,
        numNodes: options.numNodes ?? null,
      };
    }
  }
  return null;
}

function placeOf(path: string, column: Column, header: readonly string[] | null, width: number): number {
  const place = typeof column === 'number' ? column : (header?.indexOf(column) ?? -1);
  if (Number.isInteger(place) && place >= 0 && place < width) return place;
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  throw new ValueError(expected(path, `one of ${have}`, 'a column', column), { path });
}

/** Fields of a line; a quoted field may hold the delimiter, and "" for a quote. */
export function splitLine(line: string, delimiter: string, quoted: boolean): string[] {
  if (!quoted || !line.includes('"')) return line.split(delimiter);
  const fields: string[] = [];
  let field = '';
  let inside = false;
  for (let i = 0; i < line.length; i++) {
    if (inside && line[i] === '"' && line[i + 1] === '"') field += line[++i];
    else if (line[i] === '"') inside = !inside;
    else if (line[i] === delimiter && !inside) {
      fields.push(field);
      field = '';
    } else field += line[i];
  }
  return [...fields, field];
}

/** Throws the error of the first line that breaks a rule; returns when there is none. */
export async function explainEdgeList(layout: Layout): Promise<void> {
  for await (const { first, lines } of readLines(layout.path)) {
    for (let i = 0; i < lines.length; i++) {
      const line = first + i;
      const text = lines[i];
      if (line <= layout.skip || text === '') continue;
      if (!layout.names && layout.comment !== '' && text.startsWith(layout.comment)) continue;
      const problem = lineProblem(layout, splitLine(text, layout.delimiter, layout.quoted));
      if (problem !== null) {
        throw new FormatError(`${layout.path}:${line}: ${problem}.`, { path: layout.path, line });
      }
    }
  }
}

function lineProblem(layout: Layout, fields: readonly string[]): string | null {
  if (fields.length !== layout.width) return `expected ${layout.width} columns, got ${fields.length}`;
  for (const [name, column] of [
    ['source', layout.source],
    ['target', layout.target],
  ] as const) {
    const problem = idProblem(layout, fields[column]);
    if (problem !== null)
      return `expected ${problem} for the ${name} id, got ${JSON.stringify(fields[column])}`;
  }
  for (const [name, column] of [
    ['weight', layout.weight],
    ['time', layout.time],
  ] as const) {
    if (column !== null && (fields[column].trim() === '' || !Number.isFinite(Number(fields[column]))))
      return `expected a finite number for the ${name}, got ${JSON.stringify(fields[column])}`;
  }
  if (layout.weight !== null && Math.abs(Number(fields[layout.weight])) >= f32Limit)
    return `expected a number within the range of f32 for the weight, got ${JSON.stringify(fields[layout.weight])}`;
  if (layout.type !== null && fields[layout.type] === '') return 'expected a word for the type, got ""';
  if (layout.type !== null && layout.integerTypes && !/^\d{1,9}$/.test(fields[layout.type]))
    return `expected a whole number for the type, got ${JSON.stringify(fields[layout.type])}`;
  return null;
}

function idProblem(layout: Layout, field: string): string | null {
  if (layout.names) return field === '' ? 'a name' : null;
  if (!/^\d{1,10}$/.test(field)) {
    const advice = layout.advice ?? 'pass ids: "names" for other ids, header: true for a header';
    return `a whole number (${advice})`;
  }
  const id = Number(field) - layout.idBase;
  const limit = layout.numNodes ?? 2 ** 31 - 1;
  return id < 0 || id >= limit ? `a number from ${layout.idBase} to ${limit - 1 + layout.idBase}` : null;
}
