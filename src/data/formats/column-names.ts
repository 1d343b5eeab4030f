/**
 * The meaning of common column names: ends of an edge, times, weights, ids. All readers share this list. Case, `_`, `-`,
 * blanks and camel case are ignored: `userId`, `user_id`, `User ID` and `userid` are one name.
 */
import { isoSeconds } from './iso-time.js';

/** `id` is the id of the row, `node` a node that is neither source nor target. */
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

/** Names in order of preference, for readers that take one of several columns. */
const meanings: Readonly<Record<Exclude<ColumnMeaning, 'other'>, readonly string[]>> = {
  source: [
    ...withId('src', 'source', 'from', 'user', 'sender', 'head', 'subject', 'customer', 'author', 'person'),
    ...['u', 'who', 'start', 'parent', 'follower', 'citing', 'node 1', 'id 1', 'entity 1'],
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
    ...withId('product', 'page', 'paper', 'movie'),
    ...['v', 'whom', 'end', 'child', 'followee', 'cited', 'node 2', 'id 2', 'entity 2'],
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

/** Returns the words of a name: user, id for `userId`, `user_id` and `User ID`. */
export function nameWords(name: string): string[] {
  return name
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_\-.:]+/)
    .filter((word) => word !== '');
}

/** Returns a key that is equal for all spellings of a name. */
function keyOf(name: string): string {
  return nameWords(name).join('');
}

export function meaningOf(name: string): ColumnMeaning {
  return known.get(keyOf(name))?.meaning ?? 'other';
}

/** Returns the index of the column with that meaning, the most common name first; −1 if there is none. */
export function findByMeaning(names: readonly string[], meaning: ColumnMeaning): number {
  const rankOf = (name: string): number => known.get(keyOf(name))?.rank ?? 0;
  const [best = -1] = [...names.keys()]
    .filter((index) => meaningOf(names[index]) === meaning)
    .sort((a, b) => rankOf(names[a]) - rankOf(names[b]));
  return best;
}

/** Returns some common names for a meaning, for messages. */
export function commonNames(meaning: Exclude<ColumnMeaning, 'other'>): string {
  return meanings[meaning]
    .filter((name) => !name.includes(' '))
    .slice(0, 8)
    .join(', ');
}

/** Returns whether a cell is a finite number, an ISO 8601 date, or true or false, and so not a column name. */
export function isValue(cell: string): boolean {
  const text = cell.trim();
  if (text === '') return false;
  return Number.isFinite(Number(text)) || !Number.isNaN(isoSeconds(text)) || /^(true|false|nan)$/i.test(text);
}
