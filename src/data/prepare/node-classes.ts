/**
 * Classes of nodes as numbers.
 *
 *   node tables  every value is a class, −1 too; an empty cell is none. Whole numbers become 0 … C − 1 in ascending order
 *   label files  Marius's rule: whole numbers are the classes themselves, and −1 is none
 *
 * Other words are numbered in order of first appearance. Names are kept wherever the number of a class is not its name.
 */
import type { NodeInput } from './node-input.js';

export interface NodeClasses {
  /** A class per node, −1 for none. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** null where the numbers are the names. */
  readonly classNames: readonly string[] | null;
}

/** The classes of all nodes; `ids` has the node of each value. */
export function classesOf(
  { values, inTable }: Pick<NonNullable<NodeInput['labels']>, 'values' | 'inTable'>,
  ids: Int32Array,
  numNodes: number,
): NodeClasses {
  const labels = new Int32Array(numNodes).fill(-1);
  const { numberOf, names } = inTable ? tableClasses(values as readonly string[]) : fileClasses(values);
  let largest = -1;
  for (const [row, value] of values.entries()) {
    const label = value === '' ? -1 : numberOf(value);
    labels[ids[row]] = label;
    largest = Math.max(largest, label);
  }
  return { labels, numClasses: names?.length ?? largest + 1, classNames: names };
}

interface Numbering {
  numberOf(value: string | number): number;
  readonly names: readonly string[] | null;
}

/** Not 007, which is another word than 7, and no number too large to be told from its neighbours. */
const wholeNumber = /^[+-]?(0|[1-9]\d{0,14})$/;

function tableClasses(values: readonly string[]): Numbering {
  const given = values.filter((value) => value !== '');
  if (!given.every((value) => wholeNumber.test(value))) return wordClasses(given);
  const sorted = [...new Set(given.map(Number))].sort((a, b) => a - b);
  const places = new Map(sorted.map((value, place) => [value, place]));
  const numberOf = (value: string | number): number => places.get(Number(value)) as number;
  const same = sorted.every((value, place) => value === place);
  return { numberOf, names: same ? null : sorted.map(String) };
}

function fileClasses(values: Int32Array | readonly string[]): Numbering {
  const words: string[] = [];
  for (const value of values)
    if (typeof value === 'string' && value !== '' && !/^(\d{1,9}|-1)$/.test(value)) words.push(value);
  if (words.length === 0) return { numberOf: Number, names: null };
  return wordClasses((values as readonly string[]).filter((value) => value !== ''));
}

function wordClasses(given: readonly string[]): Numbering {
  const words = new Map<string, number>();
  for (const value of given) if (!words.has(value)) words.set(value, words.size);
  return { numberOf: (value) => words.get(String(value)) as number, names: [...words.keys()] };
}

/** What is said about nodes without a class, for people; null when all have one. */
export function withoutClassNote(path: string, { labels }: NodeClasses, inTable: boolean): string | null {
  const none = labels.reduce((sum, label) => sum + (label === -1 ? 1 : 0), 0);
  if (none === 0) return null;
  const why = inTable ? '' : ' (-1, an empty field or no row)';
  return `${path}: ${none} of ${labels.length} nodes have no class${why}`;
}
