/**
 * What the usual names of columns mean: which are ends of an edge, times, weights, ids. One list for every reader, so that a
 * header that one of them knows is known to all. Names are compared without case, and `_`, `-`, blanks and camel case do not
 * count: `userId`, `user_id`, `User ID` and `userid` are one name.
 */
import { isoSeconds } from './iso-time.js';

/** `id` is that of the row, `node` a node without a side. */
export type ColumnMeaning =
  | 'source'
  | 'target'
  | 'relation'
  | 'weight'
  | 'time'
  | 'label'
  | 'id'
  | 'node'
  | 'other';

const withId = (...words: string[]): string[] => words.flatMap((word) => [word, `${word} id`]);

/** In order of preference, for readers that take one of several. */
const meanings: Readonly<Record<Exclude<ColumnMeaning, 'other'>, readonly string[]>> = {
  source: [
    ...withId('src', 'source', 'from', 'user', 'sender', 'head', 'subject', 'customer', 'author', 'person'),
    ...['u', 'start', 'parent', 'follower', 'citing', 'node 1', 'id 1', 'entity 1'],
    ...['source node', ...withId('from node')],
  ],
  target: [
    ...withId(
      'dst',
      'target',
      'dest',
      'destination',
      'to',
      'item',
      'receiver',
      'recipient',
      'tail',
      'object',
    ),
    ...withId('product', 'paper', 'movie'),
    ...['v', 'end', 'child', 'followee', 'cited', 'node 2', 'id 2', 'entity 2'],
    ...['target node', ...withId('to node')],
  ],
  relation: [
    ...['type', 'event type', 'edge type', 'relation', 'relation id', 'relation type', 'rel', 'predicate'],
    ...['kind', 'action', 'property', 'interaction'],
  ],
  weight: ['weight', 'w', 'rating', 'count', 'score', 'strength', 'times'],
  time: ['time', 'timestamp', 'ts', 't', 'date', 'datetime', 'unix ts', 'year'],
  label: ['label', 'state label', 'class', 'category', 'segment', 'y'],
  id: ['idx', 'id', 'event id', 'edge id', 'index'],
  node: [...withId('node', 'entity'), 'name', 'key'],
};

const known = new Map(
  Object.entries(meanings).flatMap(([meaning, names]) =>
    names.map((name, rank) => [keyOf(name), { meaning: meaning as ColumnMeaning, rank }] as const),
  ),
);

/** The words of a name: `userId`, `user_id` and `User ID` are all user, id. */
export function nameWords(name: string): string[] {
  return name
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_\-.:]+/)
    .filter((word) => word !== '');
}

/** The same for all ways to write a name. */
function keyOf(name: string): string {
  return nameWords(name).join('');
}

export function meaningOf(name: string): ColumnMeaning {
  return known.get(keyOf(name))?.meaning ?? 'other';
}

/** The place of the column with that meaning, the most usual name first; −1 when there is none. */
export function usualPlace(names: readonly string[], meaning: ColumnMeaning): number {
  const rankOf = (name: string): number => known.get(keyOf(name))?.rank ?? 0;
  const [best = -1] = [...names.keys()]
    .filter((place) => meaningOf(names[place]) === meaning)
    .sort((a, b) => rankOf(names[a]) - rankOf(names[b]));
  return best;
}

/** Some usual names for a meaning, for messages. */
export function usualNames(meaning: Exclude<ColumnMeaning, 'other'>): string {
  return meanings[meaning]
    .filter((name) => !name.includes(' '))
    .slice(0, 5)
    .join(', ');
}

/** A finite number, a date of ISO 8601, or true or false: what a name of a column is not. */
export function isValue(cell: string): boolean {
  const text = cell.trim();
  if (text === '') return false;
  return Number.isFinite(Number(text)) || !Number.isNaN(isoSeconds(text)) || /^(true|false|nan)$/i.test(text);
}
