/**
 * Numbers the classes of nodes.
 *
 *   node tables  every value is a class, −1 too; an empty cell means none. Whole numbers become 0 … C − 1 in ascending order
 *   label files  Marius's rule: whole numbers are the classes themselves, and −1 means none
 *
 * Text is numbered in order of first appearance. Names are kept if the number of a class is not its name.
 */
import type { NodeInput } from './node-input.js';

export interface NodeClasses {
  /** Class of each node; −1 for none. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** null if the numbers are the names. */
  readonly classNames: readonly string[] | null;
}

/** Returns the classes of all nodes; `ids` has the node of each value. */
export function numberClasses(
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

/** Excludes 007, which differs from 7 as text, and numbers that are not exact as a double. */
const wholeNumber = /^[+-]?(0|[1-9]\d{0,14})$/;

function tableClasses(values: readonly string[]): Numbering {
  const given = values.filter((value) => value !== '');
  if (!given.every((value) => wholeNumber.test(value))) return textClasses(given);
  const sorted = [...new Set(given.map(Number))].sort((a, b) => a - b);
  const numbers = new Map(sorted.map((value, index) => [value, index]));
  const numberOf = (value: string | number): number => numbers.get(Number(value)) as number;
  const same = sorted.every((value, index) => value === index);
  return { numberOf, names: same ? null : sorted.map(String) };
}

function fileClasses(values: Int32Array | readonly string[]): Numbering {
  const texts: string[] = [];
  for (const value of values)
    if (typeof value === 'string' && value !== '' && !/^(\d{1,9}|-1)$/.test(value)) texts.push(value);
  if (texts.length === 0) return { numberOf: Number, names: null };
  return textClasses((values as readonly string[]).filter((value) => value !== ''));
}

function textClasses(given: readonly string[]): Numbering {
  const numbers = new Map<string, number>();
  for (const value of given) if (!numbers.has(value)) numbers.set(value, numbers.size);
  return { numberOf: (value) => numbers.get(String(value)) as number, names: [...numbers.keys()] };
}

/** Returns a note for the user about nodes without a class; null if all have one. */
export function withoutClassNote(path: string, { labels }: NodeClasses, inTable: boolean): string | null {
  const none = labels.reduce((sum, label) => sum + (label === -1 ? 1 : 0), 0);
  if (none === 0) return null;
  const why = inTable ? '' : ' (-1, an empty field or no row)';
  return `${path}: ${none} of ${labels.length} nodes have no class${why}`;
}
