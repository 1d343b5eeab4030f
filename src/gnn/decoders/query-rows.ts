/**
 * Queries of one-against-all training: an entity and a relation, in one direction, with the entities that answer it.
 * Triples that have the same query share one row of scores.
 */

import type { IdLists } from '../ops/id-lists.js';

/** The queries of a batch in one direction. Entities are rows of the table that they are compared with. */
export interface QueryRows {
  /** The known end of each query, [B]. */
  readonly entities: Int32Array;
  /** The relation of each query, [B]; null without relations. */
  readonly relations: Int32Array | null;
  /** rhs: destinations are predicted; lhs: sources are. */
  readonly direction: 'rhs' | 'lhs';
  /** The answers to train; an entity may occur several times. */
  readonly answers: IdLists;
  /** All training answers of each query, ascending; null if they are not used. */
  readonly known: IdLists | null;
}
