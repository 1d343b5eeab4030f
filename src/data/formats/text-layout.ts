/**
 * Detects the layout of a text table from its first lines: comments, delimiter, header, number of columns. All readers of
 * delimited text start here; delimited.ts then reads the records.
 */
import { expected, ValueError } from '../../util/errors.js';
import { commentNote, countSignedRecords, readHead } from './comment-lines.js';
import { RecordParser } from './delimited.js';
import { findHeader, type HeaderDecision, headerNote, headerRows } from './header.js';
import { mayQuote } from './split-line.js';
import { tableLayout } from './table-layout.js';
import { readChunks } from './text-lines.js';

/** A column, by name in the header or by index from 0. */
export type Column = string | number;

export interface TextOptions {
  /** Whether the first line names the columns. Default: detected by header.ts. */
  readonly header?: boolean | undefined;
  /** Default: detected by findDelimiter. */
  readonly delimiter?: string | undefined;
  /** Start of a comment line before the first record; '' for none. Default '#'. */
  readonly comment?: string | undefined;
  /** Whether comment lines may also be between records; false if a record may start with that sign. */
  readonly commentsAnywhere?: boolean;
  /** Requested columns; one by name implies a header. */
  readonly wanted?: readonly (Column | undefined)[];
  /** Receives notes about the header and comments. */
  readonly onNote?: ((note: string) => void) | undefined;
}

export interface TextLayout {
  readonly path: string;
  /** A blank means any run of blanks and tabs. */
  readonly delimiter: string;
  /** Whether fields may be quoted. */
  readonly quoted: boolean;
  readonly comment: string;
  readonly commentsAnywhere: boolean;
  /** Lines before the first record, the header included. */
  readonly skip: number;
  readonly width: number;
  readonly header: readonly string[] | null;
}

/** Returns the index of a column; throws an error that lists the existing columns if it is missing. */
export function columnIndex(
  { path, header, width }: Pick<TextLayout, 'path' | 'header' | 'width'>,
  option: string,
  column: Column,
): number {
  const index = typeof column === 'number' ? column : (header?.indexOf(column) ?? -1);
  if (header !== null && typeof column === 'string' && header.lastIndexOf(column) !== index)
    throw new ValueError(
      expected(
        path,
        'the name of one column',
        option,
        column,
        'Several columns have that name; give the index, from 0.',
      ),
      { path, columns: header },
    );
  if (Number.isInteger(index) && index >= 0 && index < width) return index;
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  throw new ValueError(expected(path, `one of ${have}`, option, column), { path, columns: header ?? width });
}

/** Detects the layout from the first records; returns null if the file has none. */
export async function findTextLayout(path: string, given: TextOptions = {}): Promise<TextLayout | null> {
  const table = tableLayout(path);
  // The header of a table is certain, so there is no note about it.
  const options = table === null ? given : { ...given, ...table, onNote: undefined };
  const { comment = '#', commentsAnywhere = false } = options;
  const head = await readHead(path, comment, headerRows + 1);
  const { plain, doubtful, signed } = head;
  if (plain.length === 0 && (commentsAnywhere || doubtful.length === 0)) return null;
  const delimiter =
    options.delimiter ?? findDelimiter(plain.length > 0 ? plain : doubtful.map((line) => line.text));
  const quoted = mayQuote(delimiter);
  const layout = { path, delimiter, quoted, comment, commentsAnywhere, skip: 0, width: 0, header: null };
  const below = plain.length > 0 ? await readFirstRecords(layout) : { rows: [], lines: [] };
  const decided = findHeader(below.rows, options.header, options.wanted);
  const kept =
    commentsAnywhere || decided.names !== null ? 0 : countSignedRecords(head, delimiter, below.rows);
  const first = kept > 0 ? doubtful[doubtful.length - kept].line - 1 : 0;
  const { rows, lines } = kept > 0 ? await readFirstRecords({ ...layout, comment: '', skip: first }) : below;
  if (rows.length === 0) return null;
  const decision: HeaderDecision =
    plain.length > 0 ? decided : findHeader(rows, options.header, options.wanted);
  options.onNote?.(headerNote(path, decision));
  const header = decision.names;
  const note = commentNote(path, comment, signed - kept, kept);
  if (note !== null) options.onNote?.(note);
  if (header !== null && rows.length === 1) return null;
  const skip = lines[header === null ? 0 : 1] - 1;
  return { ...layout, header, skip, width: rows[0].length };
}

/** Reads the first records and their lines with the parser that reads the rest. */
async function readFirstRecords(layout: TextLayout): Promise<{ rows: string[][]; lines: number[] }> {
  // Comments are only before the first line, whether that is a header or a record.
  const parser = new RecordParser(layout, layout.commentsAnywhere ? undefined : 1);
  const rows: string[][] = [];
  const lines: number[] = [];
  const take = (chunk: Uint8Array, last: boolean): boolean => {
    const block = parser.feed(chunk, last, headerRows + 1 - rows.length);
    for (let row = 0; row < block.rows; row++) {
      rows.push(block.fields(row));
      lines.push(block.lines[row]);
    }
    return rows.length > headerRows;
  };
  for await (const chunk of readChunks(layout.path)) if (take(chunk, false)) return { rows, lines };
  take(new Uint8Array(0), true);
  return { rows, lines };
}

/**
 * Detects the delimiter of some lines: a tab if all lines have the same number; else the one of ; | , that all records have
 * in the same, largest number; else the first that the first record has; else a blank. Quoted text is ignored.
 */
export function findDelimiter(lines: readonly string[]): string {
  const bare = lines.map((line) => line.replaceAll(/"[^"]*"/g, '""'));
  const records = blankQuotedFields(lines);
  const even = (mark: string, of: readonly string[]): number => {
    const [first = 0, ...others] = of.map((line) => line.split(mark).length - 1);
    return others.every((count) => count === first) ? first : 0;
  };
  if (even('\t', bare) > 0) return '\t';
  const [best] = [';', '|', ',']
    .map((mark) => [mark, even(mark, records)] as const)
    .sort((a, b) => b[1] - a[1]);
  if (best[1] > 0) return best[0];
  const [first = ''] = records;
  return ['\t', ',', ';', '|', ' '].find((mark) => first.trim().includes(mark)) ?? ',';
}

/** Returns the records of some lines with quoted fields, which may span lines, emptied. */
function blankQuotedFields(lines: readonly string[]): string[] {
  let open = false;
  const text = lines.join('\n').replaceAll(/(?<=^|[,;|])"[^"]*(?:""[^"]*)*("?)/gm, (_, end: string) => {
    open = end === '';
    return '""';
  });
  const records = text.split('\n');
  // The lines may end within a record.
  return open && records.length > 1 ? records.slice(0, -1) : records;
}
