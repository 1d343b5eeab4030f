/**
 * Reads node files: lists of ids, features, classes, splits, tables. Ids go to the numbering of names in the order of the
 * files, features to a file of f32 rows, so that memory does not grow with them; node-tables.ts combines both once all names
 * have numbers.
 *
 * Text has the id in its first column by default. An .npy has a row per node: node i is the raw id i, or line i of the list
 * of nodes if there is one.
 */
import { join } from 'node:path';
import { FormatError } from '../../util/errors.js';
import { type RecordBlock, readRecords } from '../formats/delimited.js';
import { type NodeTypes, typedName, typeOfColumn } from '../formats/node-types.js';
import { readNpy } from '../formats/npy.js';
import { parseId, parseNumber } from '../formats/parse-number.js';
import { findTextLayout, type TextLayout } from '../formats/text-layout.js';
import { bytesOf, FileWriter } from './binary-file.js';
import type { OnNote } from './graph-source.js';
import type { NameSink } from './name-numbers.js';
import type { NodeEncoding } from './node-encoding.js';
import { encodeRows, profileNodeTable } from './node-table.js';
import { type NpyRows, openNpy, readNpyLabels } from './npy-rows.js';
import { tableType, typeOfFile } from './table-type.js';
import type { TextInput } from './text-input.js';

/** The ids of a file, as names start … start + rows − 1 of the stream of names. */
export interface NameSegment {
  readonly path: string;
  readonly start: number;
  readonly rows: number;
  /** Line of each row, if the file is text. */
  readonly lines: Float64Array | null;
}

export interface NodeInput {
  /** Rows of features, in a f32 file or an .npy. */
  readonly features: {
    readonly segment: NameSegment;
    readonly width: number;
    readonly source: NpyRows | string;
    /** Whether a node without a row is an error. */
    readonly complete: boolean;
  } | null;
  /** Class of each row as text ('' for none), or as a number. */
  readonly labels: {
    readonly segment: NameSegment;
    readonly values: Int32Array | readonly string[];
    /** Whether they are a column of a node table, in which −1 is a class too. */
    readonly inTable: boolean;
  } | null;
  /** Text columns of a node table: the cells of each row. */
  readonly text: {
    readonly segment: NameSegment;
    readonly columns: readonly string[];
    readonly rows: readonly (readonly string[])[];
  } | null;
  /** Ids of training, validation and test nodes. */
  readonly splits: readonly (NameSegment | null)[] | null;
  readonly encoding: NodeEncoding | null;
}

interface Context {
  readonly options: TextInput;
  readonly folder: string;
  readonly names: NameSink;
  readonly types: NodeTypes | null;
  readonly note: OnNote;
}

/** Reads the node files of the options. */
export async function readNodeInput(context: Context): Promise<NodeInput> {
  const { options } = context;
  const list = (path: string | undefined): Promise<NameSegment | null> =>
    path === undefined ? Promise.resolve(null) : readList(context, path);
  const known = await list(options.nodes);
  const matrix = isNpy(options.nodeFeatures) ? await openNpy(options.nodeFeatures) : null;
  const classes = isNpy(options.nodeLabels) ? await readNpyLabels(options.nodeLabels) : null;
  const counted = rowNames(context, known, [
    [options.nodeFeatures, matrix?.rows],
    [options.nodeLabels, classes?.length],
  ]);
  let features: NodeInput['features'] =
    matrix === null
      ? null
      : { segment: counted as NameSegment, width: matrix.width, source: matrix, complete: true };
  let labels: NodeInput['labels'] =
    classes === null ? null : { segment: counted as NameSegment, values: classes, inTable: false };
  let encoding: NodeEncoding | null = null;
  let text: NodeInput['text'] = null;
  if (options.nodeFeatures !== undefined && matrix === null)
    features = await readFeatures(context, options.nodeFeatures);
  if (options.nodeTable !== undefined)
    ({ features, labels, encoding, text } = await readNodeTable(context, options.nodeTable));
  if (options.nodeLabels !== undefined && classes === null)
    labels = await readLabels(context, options.nodeLabels);
  const splits =
    options.trainNodes === undefined
      ? null
      : [await list(options.trainNodes), await list(options.validNodes), await list(options.testNodes)];
  return { features, labels, text, splits, encoding };
}

function isNpy(path: string | undefined): path is string {
  return path?.endsWith('.npy') ?? false;
}

async function findLayout({ options, note }: Context, path: string): Promise<TextLayout> {
  const { header } = options;
  const layout = await findTextLayout(path, { header, onNote: note });
  if (layout === null) throw new FormatError(`${path}: expected node ids, got an empty file.`, { path });
  return layout;
}

/** Sends the ids of a file to the numbering, with their type if the graph has two. */
class IdReader {
  readonly start: number;
  readonly #type: 0 | 1 | undefined;
  /** Whether single ids may have another type as a prefix. */
  readonly #mixed: boolean;
  #lines = new Float64Array(1024);
  rows = 0;

  constructor(
    readonly context: Context,
    readonly path: string,
    column: string | undefined,
    given: string | null = null,
  ) {
    this.start = context.names.count;
    const { types } = context;
    const named = types === null ? null : typeOfColumn(column, types);
    const type = given ?? named;
    this.#mixed = type !== named;
    this.#type = types === null || type === null ? undefined : type === types[0] ? 0 : 1;
  }

  add(bytes: Buffer, start: number, end: number, line: number): void {
    const { path, context } = this;
    if (start === end)
      throw new FormatError(`${path}:${line}: expected an id in the first column, got none.`, { path, line });
    if (context.options.noRemapIds) this.#checkKept(bytes, start, end, line);
    const mayHaveType = context.types !== null && (this.#mixed || this.#type === undefined);
    const typed = mayHaveType && this.#hasType(bytes.toString('utf8', start, end), line);
    context.names.add(bytes, start, end, typed ? undefined : this.#type);
    if (this.rows === this.#lines.length) {
      const larger = new Float64Array(2 * this.rows);
      larger.set(this.#lines);
      this.#lines = larger;
    }
    this.#lines[this.rows++] = line;
  }

  #checkKept(bytes: Buffer, start: number, end: number, line: number): void {
    const { path } = this;
    const most = this.context.options.numNodes ?? 2 ** 31 - 1;
    const id = parseId(bytes, start, end);
    if (id >= 0 && id < most) return;
    const got = JSON.stringify(bytes.toString('utf8', start, end));
    throw new FormatError(
      `${path}:${line}: expected a whole number below ${most} for the node id with noRemapIds, got ${got}.`,
      { path, line },
    );
  }

  /** Returns whether an id has its type as a prefix; throws if it has none and the type is not known otherwise. */
  #hasType(raw: string, line: number): boolean {
    const { path, context } = this;
    const types = context.types as NodeTypes;
    if (types.some((type) => raw.startsWith(typedName(type, '')))) return true;
    if (this.#type !== undefined) return false;
    const table =
      path === context.options.nodeTable ? `set the type with --node-table ${types[0]}=${path}, ` : '';
    throw new FormatError(
      `${path}:${line}: expected the node type before the id, such as ${typedName(types[0], raw)}, got ${JSON.stringify(raw)}. The graph has the node types ${types.join(' and ')}; ${table}name the id column after one of them, or write the type before each id.`,
      { path, line },
    );
  }

  addText(name: string, line: number): void {
    const bytes = Buffer.from(name);
    this.add(bytes, 0, bytes.length, line);
  }

  finish(): NameSegment {
    return { path: this.path, start: this.start, rows: this.rows, lines: this.#lines.subarray(0, this.rows) };
  }
}

function addField(ids: IdReader, block: RecordBlock, row: number): void {
  const at = 2 * row * block.width;
  ids.add(block.buffer, block.bounds[at], block.bounds[at + 1], block.lines[row]);
}

async function readList(context: Context, path: string): Promise<NameSegment> {
  if (isNpy(path)) {
    const { data } = await readNpy(path);
    const ids = new IdReader(context, path, undefined);
    for (const [i, id] of Array.from(data as ArrayLike<number | string>).entries())
      ids.addText(String(id), i + 1);
    return ids.finish();
  }
  const layout = await findLayout(context, path);
  const ids = new IdReader(context, path, layout.header?.[0]);
  for await (const block of readRecords(layout))
    for (let row = 0; row < block.rows; row++) addField(ids, block, row);
  return ids.finish();
}

/** Returns the node of each row of the .npy files; null if there are none. */
function rowNames(
  context: Context,
  known: NameSegment | null,
  files: readonly (readonly [string | undefined, number | undefined])[],
): NameSegment | null {
  let segment = known;
  for (const [path, rows] of files) {
    if (path === undefined || rows === undefined) continue;
    if (segment === null) {
      const ids = new IdReader(context, path, undefined);
      for (let i = 0; i < rows; i++) ids.addText(String(i), i + 1);
      segment = { ...ids.finish(), lines: null };
    }
    if (segment.rows !== rows) {
      const what =
        known === null
          ? `${segment.rows} rows as in the other file`
          : `a row for each of the ${segment.rows} nodes`;
      throw new FormatError(`${path}: expected ${what}, got ${rows}.`, { path });
    }
  }
  return segment;
}

const tableAdvice = 'For categories, dates and missing values use --node-table instead of --node-features.';

/** Reads features as text: an id and numbers per line. */
async function readFeatures(context: Context, path: string): Promise<NonNullable<NodeInput['features']>> {
  const layout = await findLayout(context, path);
  const width = layout.width - 1;
  if (width < 1)
    throw new FormatError(`${path}: expected an id and numbers per line, got one column.`, { path });
  const file = new FileWriter(join(context.folder, 'features.f32'));
  const ids = new IdReader(context, path, layout.header?.[0]);
  const values = new Float32Array(width);
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      for (let c = 0; c < width; c++) {
        const at = 2 * (row * layout.width + c + 1);
        values[c] = parseNumber(block.buffer, block.bounds[at], block.bounds[at + 1]);
        if (values[c] - values[c] === 0) continue;
        const line = block.lines[row];
        const got = JSON.stringify(block.text(row, c + 1));
        const column = layout.header === null ? '' : ` (${layout.header[c + 1]})`;
        throw new FormatError(
          `${path}:${line}: expected a finite number in column ${c + 1}${column}, got ${got}. ${tableAdvice}`,
          { path, line },
        );
      }
      addField(ids, block, row);
      file.write(bytesOf(values));
    }
  }
  file.close();
  return { segment: ids.finish(), width, source: file.path, complete: true };
}

async function readLabels(context: Context, path: string): Promise<NonNullable<NodeInput['labels']>> {
  const layout = await findLayout(context, path);
  if (layout.width < 2)
    throw new FormatError(`${path}: expected an id and a class per line, got one column.`, { path });
  const ids = new IdReader(context, path, layout.header?.[0]);
  const values: string[] = [];
  for await (const block of readRecords(layout)) {
    for (let row = 0; row < block.rows; row++) {
      addField(ids, block, row);
      values.push(block.text(row, 1).trim());
    }
  }
  return { segment: ids.finish(), values, inTable: false };
}

async function readNodeTable(
  context: Context,
  path: string,
): Promise<Pick<NodeInput, 'features' | 'labels' | 'encoding' | 'text'>> {
  const { options, types, note } = context;
  const { header, idColumn, labelColumn, ignoreColumns, textColumns, nodeTableType: given } = options;
  // If the type of the table is known, a column named after the other type is a feature and not the id.
  const known = types === null ? null : (given ?? typeOfFile(path, types));
  const table = await profileNodeTable(
    path,
    { header, idColumn, labelColumn, ignoreColumns, textColumns, onNote: note },
    known === null ? types : [known, known],
  );
  const column = table.layout.header?.[table.id];
  const type = tableType(path, { column, given, types }, note);
  const encoding = table.encoding.withType(type);
  const ids = new IdReader(context, path, column, type);
  const file = new FileWriter(join(context.folder, 'features.f32'));
  const values = new Float32Array(encoding.width);
  const labels: string[] = [];
  const text: (readonly string[])[] = [];
  for await (const { id, label, line, text: cells } of encodeRows(table, values)) {
    ids.addText(id, line);
    labels.push(label);
    if (cells.length > 0) text.push(cells);
    file.write(bytesOf(values));
  }
  file.close();
  if (table.label !== null && labels.every((label) => label === ''))
    throw new FormatError(
      `${path}: expected classes in column ${JSON.stringify(encoding.label)}, got empty cells only. Set the class column with --label-column, or leave that option out.`,
      { path, column: encoding.label },
    );
  note(
    `${path}: ${ids.rows} nodes, ids in ${encoding.id}, ${encoding.width} features of ${encoding.describe() || 'no column'}${table.text.length === 0 ? '' : `, words of ${table.text.map(({ name }) => name).join(', ')}`}`,
  );
  const segment = ids.finish();
  return {
    features:
      encoding.width === 0 ? null : { segment, width: encoding.width, source: file.path, complete: false },
    labels: table.label === null ? null : { segment, values: labels, inTable: true },
    text:
      table.text.length === 0 ? null : { segment, columns: table.text.map(({ name }) => name), rows: text },
    encoding: encoding.width === 0 ? null : encoding,
  };
}
