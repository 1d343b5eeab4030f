/**
 * Streams the edges of text files to an `EdgeSpool`. Tables of other formats have been written as text (table-files.ts). Splits
 * follow one another, rows are in the order of the input. Every row is checked; errors name the file and the line.
 */
import { FormatError } from '../../util/errors.js';
import { readRecords } from '../formats/delimited.js';
import { findTextLayout, type TextLayout } from '../formats/text-layout.js';
import { type ColumnIndices, resolveColumns, unusedColumnsNote } from './edge-columns.js';
import type { EdgeSpool } from './edge-spool.js';
import type { OnNote, OnPrepareProgress } from './graph-source.js';
import type { EdgeColumns } from './preprocess-options.js';

/** One opened input. */
export interface EdgeInput {
  readonly name: string;
  readonly header: readonly string[] | null;
  readonly indices: ColumnIndices;
  /** Sends all edges to the spool; returns their number. */
  read(spool: EdgeSpool): Promise<number>;
}

/** Opens the files of edges and finds their columns. */
export async function openEdgeInputs(
  paths: readonly string[],
  options: EdgeColumns,
  note: OnNote,
): Promise<EdgeInput[]> {
  const inputs: EdgeInput[] = [];
  for (const path of paths) inputs.push(await fileInput(path, options, note));
  for (const { name, header, indices } of inputs) {
    const unused = unusedColumnsNote(name, header, indices);
    if (unused !== null) note(unused);
  }
  const [first] = inputs;
  const other = inputs.find(({ indices }) => (indices.type === null) !== (first.indices.type === null));
  if (other !== undefined)
    throw new FormatError(
      `${other.name}: expected ${first.indices.type === null ? 'no column' : 'a column'} of edge types, as in ${first.name}, got ${other.indices.type === null ? 'none' : 'one'}.`,
      { path: other.name },
    );
  return inputs;
}

/** Sends the edges of all inputs to the spool; returns the number of each. */
export async function readInputs(
  inputs: readonly EdgeInput[],
  spool: EdgeSpool,
  progress: OnPrepareProgress,
): Promise<number[]> {
  const sizes: number[] = [];
  let before = 0;
  for (const input of inputs) {
    const rows = await input.read(spool);
    if (rows === 0) throw noEdgesError(input.name);
    sizes.push(rows);
    before += rows;
    progress({ stage: 'read', done: before, total: 0 });
  }
  return sizes;
}

function noEdgesError(name: string): FormatError {
  return new FormatError(
    `${name}: expected at least one edge, got none. Check the file, its delimiter and its header.`,
    { path: name },
  );
}

async function fileInput(path: string, options: EdgeColumns, note: OnNote): Promise<EdgeInput> {
  const found = await edgeLayout(path, options, note);
  if (found === null) throw noEdgesError(path);
  const { layout, indices } = found;
  return { name: path, header: layout.header, indices, read: (spool) => readText(layout, indices, spool) };
}

/** Returns the layout and the columns of an edge file; null if it is empty. */
export async function edgeLayout(
  path: string,
  options: EdgeColumns,
  onNote?: OnNote,
): Promise<{ layout: TextLayout; indices: ColumnIndices } | null> {
  const { delimiter, comment, header } = options;
  const wanted = [options.source, options.target, options.edgeType, options.edgeWeight];
  const layout = await findTextLayout(path, { header, delimiter, comment, wanted, onNote });
  if (layout === null) return null;
  return { layout, indices: resolveColumns(path, layout.header, layout.width, options) };
}

async function readText(layout: TextLayout, indices: ColumnIndices, spool: EdgeSpool): Promise<number> {
  const { source, target, type, weight } = indices;
  let rows = 0;
  for await (const block of readRecords(layout)) {
    const { buffer, bounds, width, lines } = block;
    for (let row = 0; row < block.rows; row++) {
      const at = 2 * row * width;
      const [s, d] = [at + 2 * source, at + 2 * target];
      const problem = spool.add(buffer, bounds[s], bounds[s + 1], bounds[d], bounds[d + 1]);
      const typed = type === null ? null : at + 2 * type;
      const worse =
        problem ?? (typed === null ? null : spool.addType(buffer, bounds[typed], bounds[typed + 1]));
      const weighed = weight === null ? null : at + 2 * weight;
      const worst =
        worse ?? (weighed === null ? null : spool.addWeight(buffer, bounds[weighed], bounds[weighed + 1]));
      if (worst === null) continue;
      const line = lines[row];
      throw new FormatError(`${layout.path}:${line}: ${worst}.`, { path: layout.path, line });
    }
    rows += block.rows;
  }
  return rows;
}
