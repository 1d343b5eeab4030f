/**
 * Small tab-separated tables (.gz too), as strings: knowledge-graph triples, lists of labels.
 */
import { FormatError } from '../../util/errors.js';
import { TripleBuilder, type Triples } from '../triples.js';
import { readLines } from './text-lines.js';

/** Yields rows of exactly `width` fields with their line; empty lines are skipped. */
async function* readRows(path: string, width: number): AsyncGenerator<{ line: number; fields: string[] }> {
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      if (lines[i] === '') continue;
      const fields = lines[i].split('\t');
      const line = first + i;
      if (fields.length !== width) {
        throw new FormatError(
          `${path}:${line}: expected ${width} tab-separated columns, got ${fields.length}.`,
          { path, line },
        );
      }
      yield { line, fields };
    }
  }
}

/** Reads files of `head TAB relation TAB tail`, one per split, with names numbered over all splits in order of appearance. */
export async function readTripleFiles<Split extends string>(
  files: Readonly<Record<Split, string>>,
): Promise<Record<Split, Triples>> {
  const shared = new TripleBuilder();
  const splits: [string, Triples][] = [];
  for (const [split, path] of Object.entries<string>(files)) {
    const builder = new TripleBuilder(shared.entities, shared.relations);
    for await (const { line, fields } of readRows(path, 3)) {
      const [head, relation, tail] = fields;
      if (head === '' || relation === '' || tail === '') {
        throw new FormatError(`${path}:${line}: expected head, relation and tail, got an empty name.`, {
          path,
          line,
        });
      }
      builder.add(head, relation, tail);
    }
    splits.push([split, builder.finish()]);
  }
  return Object.fromEntries(splits) as Record<Split, Triples>;
}

/** Reads the rows of a table with a header, by the names of the requested columns. */
export async function readTable<Column extends string>(
  path: string,
  columns: readonly Column[],
): Promise<(Record<Column, string> & { readonly line: number })[]> {
  let indices: number[] | null = null;
  let width = 0;
  const rows: (Record<Column, string> & { line: number })[] = [];
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      const fields = lines[i].split('\t');
      const line = first + i;
      if (indices === null) {
        indices = columns.map((column) => fields.indexOf(column));
        width = fields.length;
        const missing = columns.filter((_, c) => indices?.[c] === -1);
        if (missing.length > 0) {
          throw new FormatError(
            `${path}:${line}: expected the columns ${columns.join(', ')} in the header, got ${fields.join(', ')}.`,
            { path, line },
          );
        }
      } else if (lines[i] !== '') {
        if (fields.length !== width) {
          throw new FormatError(`${path}:${line}: expected ${width} columns, got ${fields.length}.`, {
            path,
            line,
          });
        }
        const values = columns.map((column, c) => [column, fields[(indices as number[])[c]]]);
        rows.push({ ...(Object.fromEntries(values) as Record<Column, string>), line });
      }
    }
  }
  return rows;
}
