/**
 * The node type of a node table, if the graph has two: the type given by the caller, else that of the id column
 * (`customer_id`), else that of the file name (`customers.csv`), if exactly one type matches.
 */
import { basename } from 'node:path';
import { expected, ValueError } from '../../util/errors.js';
import { nameWords } from '../formats/column-names.js';
import { type NodeTypes, typeOfColumn } from '../formats/node-types.js';
import type { OnNote } from './graph-source.js';

/** Returns the type of all ids of the table; null if each id must have its type as a prefix, or the graph has one type. */
export function tableType(
  path: string,
  {
    column,
    given,
    types,
  }: { column: string | undefined; given: string | undefined; types: NodeTypes | null },
  note: OnNote,
): string | null {
  if (types === null) {
    if (given === undefined) return null;
    throw new ValueError(
      expected(path, 'a graph with two node types', 'nodeTableType (--node-table TYPE=FILE)', given) +
        ' All nodes of this one share ids: leave the type out, or set two types with --node-types.',
    );
  }
  if (given !== undefined) {
    if (types.includes(given)) return given;
    throw new ValueError(expected(path, types.join(' or '), 'nodeTableType (--node-table TYPE=FILE)', given));
  }
  const named = typeOfColumn(column, types);
  if (named !== null) return named;
  const guess = typeOfFile(path, types);
  if (guess !== null) {
    const other = types.find((type) => type !== guess);
    note(
      `${path}: node type ${guess} (detected from the file name; --node-table ${other}=${path} to override)`,
    );
  }
  return guess;
}

/** Returns the one type that a file name contains, such as customer for `customers.csv` and `dim_Customer.tsv.gz`. */
export function typeOfFile(path: string, types: NodeTypes): string | null {
  const words = nameWords(basename(path).split('.')[0]);
  const matches = types.filter((type) => {
    const typeWords = nameWords(type);
    return words.some((_, at) => typeWords.every((word, i) => areSameNoun(words[at + i] ?? '', word)));
  });
  return matches.length === 1 ? matches[0] : null;
}

/** Returns whether two words differ at most in number: customer and customers, category and categories. */
function areSameNoun(a: string, b: string): boolean {
  const other = new Set(singulars(b));
  return singulars(a).some((form) => other.has(form));
}

/** Returns the possible singulars of a word: movie of `movies`, box of `boxes`, category of `categories`. */
function singulars(word: string): string[] {
  const forms = [/s$/, /es$/].filter((end) => end.test(word)).map((end) => word.replace(end, ''));
  return [word, ...forms, ...(word.endsWith('ies') ? [`${word.slice(0, -3)}y`] : [])].filter(
    (form) => form !== '',
  );
}
