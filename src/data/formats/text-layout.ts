/**
 * How a table in text is laid out, from its first lines: comments, delimiter, header, number of columns. Every reader of
 * delimited text starts here; delimited.ts then reads the records.
 */
import { expected, ValueError } from '../../util/errors.js';
import { commentNote, readHead, signedRecords } from './comment-lines.js';
import { RecordParser } from './delimited.js';
import { findHeader, type HeaderDecision, headerNote, headerRows } from './header.js';
import { mayQuote } from './split-line.js';
import { readChunks } from './text-lines.js';

/** A column by its name in the header or by its place from 0. */
export type Column = string | number;

export interface TextOptions {
  /** Whether the first line names the columns; by default header.ts decides. */
  readonly header?: boolean | undefined;
  /** By default findDelimiter decides. */
  readonly delimiter?: string | undefined;
  /** What starts a comment line before the first record; '' for none. Default '#'. */
  readonly comment?: string | undefined;
  /** Whether comment lines may also stand between records: no, where a record may start with that sign. */
  readonly commentsAnywhere?: boolean;
  /** Columns that are asked for: one by name implies a header. */
  readonly wanted?: readonly (Column | undefined)[];
  /** Is told what was decided about the header. */
  readonly onNote?: ((note: string) => void) | undefined;
}

export interface TextLayout {
  readonly path: string;
  /** A blank stands for any run of blanks and tabs. */
  readonly delimiter: string;
  /** Fields may be quoted. */
  readonly quoted: boolean;
  readonly comment: string;
  readonly commentsAnywhere: boolean;
  /** Lines before the first record, the header included. */
  readonly skip: number;
  readonly width: number;
  readonly header: readonly string[] | null;
}

/** Where a column is; one that is not there is an error that names those that are. */
export function columnIndex(
  { path, header, width }: Pick<TextLayout, 'path' | 'header' | 'width'>,
  option: string,
  column: Column,
): number {
  const place = typeof column === 'number' ? column : (header?.indexOf(column) ?? -1);
  if (header !== null && typeof column === 'string' && header.lastIndexOf(column) !== place)
    throw new ValueError(
      expected(
        path,
        'the name of one column',
        option,
        column,
        'Several have that name; give the place, from 0.',
      ),
      { path, columns: header },
    );
  if (Number.isInteger(place) && place >= 0 && place < width) return place;
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  throw new ValueError(expected(path, `one of ${have}`, option, column), { path, columns: header ?? width });
}

/** Looks at the first records; null when the file has none. */
export async function findTextLayout(path: string, options: TextOptions = {}): Promise<TextLayout | null> {
  const { comment = '#', commentsAnywhere = false } = options;
  const head = await readHead(path, comment, headerRows + 1);
  const { plain, doubtful, signed } = head;
  if (plain.length === 0 && (commentsAnywhere || doubtful.length === 0)) return null;
  const delimiter =
    options.delimiter ?? findDelimiter(plain.length > 0 ? plain : doubtful.map((line) => line.text));
  const quoted = mayQuote(delimiter);
  const layout = { path, delimiter, quoted, comment, commentsAnywhere, skip: 0, width: 0, header: null };
  const below = plain.length > 0 ? await headRecords(layout) : { rows: [], lines: [] };
  const decided = findHeader(below.rows, options.header, options.wanted);
  const kept = commentsAnywhere || decided.names !== null ? 0 : signedRecords(head, delimiter, below.rows);
  const first = kept > 0 ? doubtful[doubtful.length - kept].line - 1 : 0;
  const { rows, lines } = kept > 0 ? await headRecords({ ...layout, comment: '', skip: first }) : below;
  if (rows.length === 0) return null;
  const decision: HeaderDecision =
    plain.length > 0 ? decided : findHeader(rows, options.header, options.wanted);
  options.onNote?.(headerNote(path, decision));
  const header = decision.names;
  const said = commentNote(path, comment, signed - kept, kept);
  if (said !== null) options.onNote?.(said);
  if (header !== null && rows.length === 1) return null;
  const skip = lines[header === null ? 0 : 1] - 1;
  return { ...layout, header, skip, width: rows[0].length };
}

/** The first records and their lines, by the parser that reads the rest. */
async function headRecords(layout: TextLayout): Promise<{ rows: string[][]; lines: number[] }> {
  // Comments stand before the first line only, be it a header or a record.
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
 * The delimiter of some lines: a tab where every line has as many; else that of ; | , which every record has as often, most
 * often; else the first of these that the first record has; else a blank. What is quoted does not count.
 */
export function findDelimiter(lines: readonly string[]): string {
  const bare = lines.map((line) => line.replaceAll(/"[^"]*"/g, '""'));
  const records = withoutQuoted(lines);
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

/** The records of some lines without their quoted fields, which may go over several lines. */
function withoutQuoted(lines: readonly string[]): string[] {
  let open = false;
  const text = lines.join('\n').replaceAll(/(?<=^|[,;|])"[^"]*(?:""[^"]*)*("?)/gm, (_, end: string) => {
    open = end === '';
    return '""';
  });
  const records = text.split('\n');
  // The lines may end within a record.
  return open && records.length > 1 ? records.slice(0, -1) : records;
}
