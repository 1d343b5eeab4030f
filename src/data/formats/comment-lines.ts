/**
 * Comments at the top of a table, and ids that start with the comment sign.
 *
 * A header ends the comments: below it every line is a record. Without a header, lines above the first record that start
 * with # are comments unless they look like records: as many fields as the first record, no blank and no second # after the
 * sign, and no column names after it. If the first column below holds numbers, or if blanks are the delimiter and no other
 * field starts with #, they are comments: `#created 2020`. After the first record everything is data.
 */
import { isValue } from './column-names.js';
import { isHeader } from './header.js';
import { splitLine } from './split-line.js';
import { readLines } from './text-lines.js';

interface Line {
  readonly line: number;
  readonly text: string;
}

export interface Head {
  /** The first lines, starting at the first that is neither empty nor starts with the sign. */
  readonly plain: readonly string[];
  /** Lines directly above `plain` that start with the sign and may be records. */
  readonly doubtful: readonly Line[];
  /** Number of lines above `plain` that start with the sign. */
  readonly signed: number;
}

/** Number of consecutive doubtful lines that make a table. */
const maxDoubtful = 1000;

/** Reads lines until `most` are plain. */
export async function readHead(path: string, comment: string, most: number): Promise<Head> {
  const plain: string[] = [];
  let doubtful: Line[] = [];
  let signed = 0;
  for await (const { first, lines } of readLines(path)) {
    for (const [i, text] of lines.entries()) {
      if (text.trim() === '') continue;
      const marked = comment !== '' && text.startsWith(comment);
      if (!marked) plain.push(text);
      else if (plain.length === 0) {
        signed++;
        if (mayBeRecord(text, comment)) doubtful.push({ line: first + i, text });
        else doubtful = [];
      }
      if (plain.length === most || doubtful.length === maxDoubtful) return { plain, doubtful, signed };
    }
  }
  return { plain, doubtful, signed };
}

/** Returns whether a line may be a record. With a comment sign other than the default, it never is. */
function mayBeRecord(text: string, comment: string): boolean {
  const rest = text.slice(comment.length);
  return comment === '#' && rest.trim() !== '' && !/^[\s#]/.test(rest);
}

/** Returns how many of the doubtful lines, counted from the last, are records. `rows` are the records below. */
export function countSignedRecords(
  { doubtful }: Head,
  delimiter: string,
  rows: readonly (readonly string[])[],
): number {
  const split = doubtful.map(({ text }) => splitLine(text, delimiter));
  const width = (rows[0] ?? split.at(-1))?.length;
  if (rows.length > 0 && rows.every(([id]) => isValue(id))) return 0;
  const known = delimiter !== ' ' || [...rows, ...split.map((fields) => fields.slice(1))].some(hasSign);
  if (!known) return 0;
  let count = 0;
  while (count < split.length) {
    const fields = split[split.length - 1 - count];
    const names = [fields[0].slice(1), ...fields.slice(1)];
    if (fields.length !== width || isHeader(names, [...split.slice(split.length - count), ...rows])) break;
    count++;
  }
  return count;
}

function hasSign(fields: readonly string[]): boolean {
  return fields.some((field) => field.startsWith('#'));
}

/** Returns a note for the user about such lines; null if there are none. */
export function commentNote(path: string, comment: string, skipped: number, kept: number): string | null {
  const lines = (count: number): string => `${count} ${count === 1 ? 'line' : 'lines'}`;
  const notes = [
    ...(skipped > 0 ? [`${lines(skipped)} skipped as comments`] : []),
    ...(kept > 0 ? [`${lines(kept)} read as data`] : []),
  ];
  return notes.length === 0
    ? null
    : `${path}: lines starting with ${comment} at the top: ${notes.join(', ')}`;
}
