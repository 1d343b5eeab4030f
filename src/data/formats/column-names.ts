/**
 * What the usual names of columns mean: which are ends of an edge, times, weights, ids. One list for every reader, so that a
 * header that one of them knows is known to all. Names are compared without case, and `_`, `-`, blanks and camel case
 * are the same.
 */
import { isoSeconds } from './iso-time.js';

export type ColumnMeaning = 'source' | 'target' | 'relation' | 'weight' | 'time' | 'label' | 'id' | 'other';

const meanings: Readonly<Record<Exclude<ColumnMeaning, 'other'>, readonly string[]>> = {
  source: [
    ...['source', 'src', 'from', 'head', 'subject', 'sender', 'start', 'u', 'user', 'customer', 'author'],
    ...['source id', 'src id', 'from id', 'head id', 'subject id', 'user id', 'customer id', 'author id'],
    ...['node1', 'id1', 'source node', 'from node', 'fromnodeid', 'parent', 'follower', 'citing', 'person'],
    ...[
      'sourceid',
      'srcid',
      'fromid',
      'headid',
      'userid',
      'customerid',
      'node 1',
      'id 1',
      'entity1',
      'entity 1',
    ],
  ],
  target: [
    ...['target', 'dst', 'dest', 'destination', 'to', 'tail', 'object', 'receiver', 'recipient', 'end', 'v'],
    ...[
      'item',
      'product',
      'paper',
      'movie',
      'target id',
      'dst id',
      'to id',
      'tail id',
      'object id',
      'item id',
    ],
    ...['product id', 'paper id', 'movie id', 'node2', 'id2', 'target node', 'to node', 'tonodeid', 'child'],
    ...['followee', 'cited', 'targetid', 'dstid', 'toid', 'tailid', 'itemid', 'productid', 'movieid'],
    ...['node 2', 'id 2', 'entity2', 'entity 2'],
  ],
  relation: [
    ...['relation', 'rel', 'predicate', 'edge type', 'edgetype', 'type', 'kind', 'action', 'event type'],
    ...['relation id', 'relation type', 'property', 'interaction'],
  ],
  weight: ['weight', 'w', 'rating', 'count', 'score', 'strength', 'times'],
  time: ['time', 'timestamp', 'ts', 't', 'date', 'datetime', 'unixts', 'year'],
  label: ['label', 'class', 'category', 'segment', 'state label', 'y'],
  id: [
    'id',
    'node',
    'node id',
    'nodeid',
    'entity',
    'entity id',
    'name',
    'key',
    'idx',
    'index',
    'event id',
    'edge id',
  ],
};

const known = new Map(
  Object.entries(meanings).flatMap(([meaning, words]) =>
    words.map((word) => [word, meaning as ColumnMeaning] as const),
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

export function meaningOf(name: string): ColumnMeaning {
  return known.get(nameWords(name).join(' ')) ?? known.get(name.trim().toLowerCase()) ?? 'other';
}

/** A finite number, a date of ISO 8601, or true or false: what a name of a column is not. */
export function isValue(cell: string): boolean {
  const text = cell.trim();
  if (text === '') return false;
  return Number.isFinite(Number(text)) || !Number.isNaN(isoSeconds(text)) || /^(true|false|nan)$/i.test(text);
}
