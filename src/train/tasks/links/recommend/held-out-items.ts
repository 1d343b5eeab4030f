/** The users of a held-out split and their items: each head with a relation is a user, its tails are the items. */
import type { IdLists } from '../../../../gnn/ops/id-lists.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { sortSide } from '../filter-index.js';

export interface HeldOutItems {
  /** The head of each user, ordered by relation, then head. */
  readonly heads: Int32Array;
  /** null without relations. */
  readonly relations: Int32Array | null;
  /** The items of each user, ascending, each once. */
  readonly items: IdLists;
}

/** Groups edges by head and relation. */
export function heldOutItems(
  { src, dst, relations = null }: EdgeList,
  numNodes: number,
  numRelations: number,
): HeldOutItems {
  const sorted = sortSide(src, relations, dst, numNodes, Math.max(1, numRelations));
  const users: { head: number; relation: number; items: number[] }[] = [];
  for (let head = 0; head < numNodes; head++)
    for (let e = sorted.offsets[head]; e < sorted.offsets[head + 1]; e++) {
      const relation = sorted.relations === null ? 0 : sorted.relations[e];
      const last = users[users.length - 1];
      if (last === undefined || last.head !== head || last.relation !== relation)
        users.push({ head, relation, items: [sorted.ends[e]] });
      else if (last.items[last.items.length - 1] !== sorted.ends[e]) last.items.push(sorted.ends[e]);
    }
  users.sort((a, b) => a.relation - b.relation || a.head - b.head);
  return {
    heads: Int32Array.from(users, ({ head }) => head),
    relations: relations === null ? null : Int32Array.from(users, ({ relation }) => relation),
    items: listsOf(users.map(({ items }) => items)),
  };
}

/** Returns some of the users, in the given order. */
export function pickUsers({ heads, relations, items }: HeldOutItems, picked: Int32Array): HeldOutItems {
  return {
    heads: picked.map((user) => heads[user]),
    relations: relations === null ? null : picked.map((user) => relations[user]),
    items: listsOf(
      Array.from(picked, (user) => items.ids.subarray(items.offsets[user], items.offsets[user + 1])),
    ),
  };
}

function listsOf(lists: readonly ArrayLike<number>[]): IdLists {
  const offsets = new Int32Array(lists.length + 1);
  for (const [i, list] of lists.entries()) offsets[i + 1] = offsets[i] + list.length;
  const ids = new Int32Array(offsets[lists.length]);
  for (const [i, list] of lists.entries()) ids.set(list, offsets[i]);
  return { offsets, ids };
}
