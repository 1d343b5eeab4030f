/**
 * Comments at the head of a table, and ids that start with the same sign.
 *
 * A header ends the comments: below it every line is a record. Without a header, lines above the first record that start
 * with # are comments, unless they are records by their look: as many fields as the first record, no blank and no second #
 * after the sign, and no names of columns behind it. A column of numbers below, or blanks as delimiter where no other
 * field starts with #, speak for a comment: `#created 2020`. Once a record is found, all that follows is data.
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
  /** The first lines from the first one that is neither empty nor starts with the sign. */
  readonly plain: readonly string[];
  /** Lines directly above these that start with the sign and may be records. */
  readonly doubtful: readonly Line[];
  /** Lines above `plain` that start with the sign. */
  readonly signed: number;
}

/** So many doubtful lines in a row are a table. */
const mostDoubtful = 1000;

/** Looks at lines until `most` are plain. */
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
      if (plain.length === most || doubtful.length === mostDoubtful) return { plain, doubtful, signed };
    }
  }
  return { plain, doubtful, signed };
}

/** Another sign than the usual one was asked for, so its lines are comments. */
function mayBeRecord(text: string, comment: string): boolean {
  const rest = text.slice(comment.length);
  return comment === '#' && rest.trim() !== '' && !/^[\s#]/.test(rest);
}

/** How many of the doubtful lines, from the last up, are records. `rows` are the records below. */
export function signedRecords(
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

/** What is said about such lines, for people; null when there are none. */
export function commentNote(path: string, comment: string, skipped: number, kept: number): string | null {
  const lines = (count: number): string => `${count} ${count === 1 ? 'line' : 'lines'}`;
  const parts = [
    ...(skipped > 0 ? [`${lines(skipped)} skipped as comments`] : []),
    ...(kept > 0 ? [`${lines(kept)} taken as data`] : []),
  ];
  return parts.length === 0 ? null : `${path}: starting with ${comment} at the top: ${parts.join(', ')}`;
}
