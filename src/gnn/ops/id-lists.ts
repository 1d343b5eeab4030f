/** Lists of ids for the rows of a batch. */
import { checkIds } from '../../tensor/ops/common.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';

/** Lists of ids, one per query: list i is ids[offsets[i]] … ids[offsets[i + 1] − 1]. */
export interface IdLists {
  readonly offsets: Int32Array;
  readonly ids: Int32Array;
}

/** Returns a copy of lists for `queries` queries; throws unless all ids are in [0, limit) and belong to a query. */
export function checkIdLists(
  where: string,
  name: string,
  { offsets, ids }: IdLists,
  queries: number,
  limit: number,
): IdLists {
  if (offsets.length !== queries + 1 || offsets[0] !== 0 || offsets[queries] !== ids.length) {
    const want = `${queries + 1} numbers from 0 to ${ids.length}`;
    const got = `${offsets.length} from ${offsets[0]} to ${offsets[offsets.length - 1]}`;
    throw new ShapeError(expected(where, want, `${name}.offsets`, got));
  }
  for (let i = 0; i < queries; i++) {
    if (offsets[i + 1] < offsets[i]) {
      const got = `${offsets[i + 1]} after ${offsets[i]}`;
      throw new ValueError(expected(where, 'ascending numbers', `${name}.offsets`, got));
    }
  }
  // A copy: backward may run again after the caller has changed its arrays, and kernels trust ids checked once.
  return { offsets: offsets.slice(), ids: checkIds(where, `${name}.ids`, ids, limit).slice() };
}

/** Returns the lists of several batches as those of one. */
export function joinIdLists(lists: readonly IdLists[]): IdLists {
  if (lists.length === 1) return lists[0];
  const offsets = new Int32Array(lists.reduce((sum, list) => sum + list.offsets.length - 1, 1));
  const ids = new Int32Array(lists.reduce((sum, list) => sum + list.ids.length, 0));
  let [row, at] = [0, 0];
  for (const list of lists) {
    ids.set(list.ids, at);
    for (let i = 1; i < list.offsets.length; i++) offsets[++row] = at + list.offsets[i];
    at += list.ids.length;
  }
  return { offsets, ids };
}
