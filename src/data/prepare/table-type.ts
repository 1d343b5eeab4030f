/**
 * Whose ids a table about nodes has, where the graph has two types of nodes: the type that the caller names, else that of the
 * column of ids (`customer_id`), else that of the file (`customers.csv`), if just one type fits.
 */
import { basename } from 'node:path';
import { expected, ValueError } from '../../util/errors.js';
import { nameWords } from '../formats/column-names.js';
import { type NodeTypes, typeOfColumn } from '../formats/node-types.js';
import type { OnNote } from './graph-source.js';

/** The type of all ids of the table; null when each id has to say it, or the graph has one kind of node. */
export function tableType(
  path: string,
  { column, told, types }: { column: string | undefined; told: string | undefined; types: NodeTypes | null },
  note: OnNote,
): string | null {
  if (types === null) {
    if (told === undefined) return null;
    throw new ValueError(
      expected(path, 'a graph with two types of nodes', 'nodeTableType (--node-table TYPE=FILE)', told) +
        ' All nodes of this one share their ids: leave the type out, or name two types with --node-types.',
    );
  }
  if (told !== undefined) {
    if (types.includes(told)) return told;
    throw new ValueError(expected(path, types.join(' or '), 'nodeTableType (--node-table TYPE=FILE)', told));
  }
  const named = typeOfColumn(column, types);
  if (named !== null) return named;
  const guess = typeOfFile(path, types);
  if (guess !== null) {
    const other = types.find((type) => type !== guess);
    note(
      `${path}: ids of the type ${guess} (found in the name of the file; --node-table ${other}=${path} to override)`,
    );
  }
  return guess;
}

/** The one type that the name of a file speaks of, as `customers.csv` and `dim_Customer.tsv.gz` do of customer. */
export function typeOfFile(path: string, types: NodeTypes): string | null {
  const words = nameWords(basename(path).split('.')[0]);
  const spoken = types.filter((type) => {
    const own = nameWords(type);
    return words.some((_, at) => own.every((word, i) => alike(words[at + i] ?? '', word)));
  });
  return spoken.length === 1 ? spoken[0] : null;
}

/** Whether two words are the same but for one or many: customer and customers, category and categories. */
function alike(a: string, b: string): boolean {
  const other = new Set(singulars(b));
  return singulars(a).some((form) => other.has(form));
}

/** What a word may be one of: `movies` of movie, `boxes` of box, `categories` of category. */
function singulars(word: string): string[] {
  const forms = [/s$/, /es$/].filter((end) => end.test(word)).map((end) => word.replace(end, ''));
  return [word, ...forms, ...(word.endsWith('ies') ? [`${word.slice(0, -3)}y`] : [])].filter(
    (form) => form !== '',
  );
}
