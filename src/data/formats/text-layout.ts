/**
 * How a table in text is laid out, from its first lines: comments, delimiter, header, number of columns. Every reader of
 * delimited text starts here; delimited.ts then reads the records.
 */
import { findHeader, type HeaderDecision, headerNote, headerRows } from './header.js';
import { mayQuote, splitLine } from './split-line.js';
import { readLines } from './text-lines.js';

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

/** Looks at the first lines; null when the file has no record. */
export async function findTextLayout(path: string, options: TextOptions = {}): Promise<TextLayout | null> {
  const { comment = '#', commentsAnywhere = false } = options;
  const lines = await headLines(path, comment);
  if (lines.length === 0) return null;
  const delimiter = options.delimiter ?? findDelimiter(lines.map(({ text }) => text));
  const quoted = mayQuote(delimiter);
  const rows = lines.map(({ text }) => splitLine(text, delimiter));
  const decision: HeaderDecision = findHeader(rows, options.header, options.wanted);
  options.onNote?.(headerNote(path, decision));
  const header = decision.names;
  if (header !== null && lines.length === 1) return null;
  const first = header === null ? 0 : 1;
  return {
    ...{ path, delimiter, quoted, comment, commentsAnywhere, header },
    skip: lines[first].line - 1,
    width: rows[0].length,
  };
}

/** The first lines that are neither empty nor comments. */
async function headLines(path: string, comment: string): Promise<{ line: number; text: string }[]> {
  const found: { line: number; text: string }[] = [];
  for await (const { first, lines } of readLines(path)) {
    for (const [i, text] of lines.entries()) {
      if (text.trim() === '' || (comment !== '' && text.startsWith(comment))) continue;
      found.push({ line: first + i, text });
      if (found.length > headerRows) return found;
    }
  }
  return found;
}

/**
 * The delimiter of some lines: a tab where every line has as many; else that of ; | , which every line has as often, most
 * often; else the first of these that the first line has; else a blank.
 */
export function findDelimiter(lines: readonly string[]): string {
  const bare = lines.map((line) => line.replaceAll(/"[^"]*"/g, ''));
  const counts = (mark: string): number[] => bare.map((line) => line.split(mark).length - 1);
  const even = (mark: string): number => {
    const each = counts(mark);
    return each.every((count) => count === each[0]) ? each[0] : 0;
  };
  if (even('\t') > 0) return '\t';
  const [best] = [';', '|', ','].map((mark) => [mark, even(mark)] as const).sort((a, b) => b[1] - a[1]);
  if (best[1] > 0) return best[0];
  const [first = ''] = bare;
  return ['\t', ',', ';', '|', ' '].find((mark) => first.trim().includes(mark)) ?? ',';
}
