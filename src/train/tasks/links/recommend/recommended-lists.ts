/**
 * Recommended lists of the users of a held-out split. Candidates are the items that a relation can point at
 * (`Candidates`), without those that the user has in training, and for the test split in validation. Users are processed in
 * blocks, each shared by the workers.
 */
import type { WorkerGroup } from '../../../../dist/index.js';
import type { IdLists } from '../../../../gnn/ops/id-lists.js';
import { concatInt32, evenRange } from '../../../../util/arrays.js';
import type { RecommendedLists } from '../../../run/recommendation-metrics.js';
import type { HeldOut, SplitName } from '../../../task.js';
import type { BatchSource } from '../../graph/batch/batch-source.js';
import type { GraphStorage } from '../../graph/storage/graph-storage.js';
import type { Candidates } from '../candidates.js';
import { type HeldOutItems, heldOutItems, pickUsers } from './held-out-items.js';
import { TopLists } from './top-lists.js';

/** Some users with what they have seen. */
export interface UserBlock {
  readonly heads: Int32Array;
  readonly relations: Int32Array | null;
  readonly candidates: Candidates;
  /** Calls `visit` with each item that is not recommended to a user: those seen, and the user itself. */
  excluded(user: number, visit: (item: number) => void): void;
}

export interface ListRequest {
  readonly source: BatchSource;
  readonly split: HeldOut;
  /** Items of a list. */
  readonly length: number;
  readonly workers: WorkerGroup | null;
  /** Offers the candidates of a block's users to the lists. Called equally often by every worker, also without users. */
  readonly fill: (block: UserBlock, lists: TopLists) => Promise<void>;
  readonly onProgress?: (fraction: number) => void;
}

/** Users at a time: more where a table is in files, because a block reads all of it. */
const blockUsers = { allResident: 2048, buffered: 2 ** 16 };

export async function recommendedLists(request: ListRequest): Promise<RecommendedLists> {
  const { source, split, length, workers, fill, onProgress } = request;
  const { storage } = source;
  const users = await usersOf(source, split);
  const candidates = await storage.candidates();
  const seenSplits: SplitName[] = split === 'test' ? ['train', 'validation'] : ['train'];
  const size = storage.allResident ? blockUsers.allResident : blockUsers.buffered;
  const found: UserLists[] = [];
  for (let first = 0; first < users.heads.length; first += size) {
    const end = Math.min(first + size, users.heads.length);
    const share = evenRange(end - first, workers?.rank ?? 0, workers?.size ?? 1);
    const own = pickUsers(users, range(first + share.start, first + share.end));
    const seen = await storage.endsIn(seenSplits, { src: own.heads, relations: own.relations });
    const block = unseenUsers(own, seen, first + share.start);
    const lists = new TopLists(block.users.heads.length, length);
    await fill({ ...block.users, candidates, excluded: block.excluded }, lists);
    found.push({ positions: block.positions, items: lists.items, ...markHits(lists, block.users.items) });
    onProgress?.(end / users.heads.length);
  }
  const joined = joinLists(workers === null ? found : workers.gather(joinLists(found, length)), length);
  return { length, ...joined, numCandidates: countCandidates(users, candidates, storage) };
}

/** Lists of some users; positions order users of all workers. */
interface UserLists {
  readonly positions: Int32Array;
  readonly items: Int32Array;
  readonly hits: Uint8Array;
  readonly relevant: Int32Array;
}

/** Returns the users of a split; those of a sample of the validation split (`evaluation.max_edges`) together have as many items. */
async function usersOf(source: BatchSource, split: HeldOut): Promise<HeldOutItems> {
  const { storage, validationSample: sample } = source;
  const edges = storage.split(split);
  const none = { src: new Int32Array(0), dst: new Int32Array(0), relations: null };
  const list = (await edges?.read(0, edges.numEdges)) ?? none;
  const users = heldOutItems(list, storage.numNodes, storage.numRelations);
  if (split !== 'validation' || sample === null || list.src.length <= sample.most) return users;
  const { offsets } = users.items;
  let [count, items] = [0, 0];
  const order = sample.order(users.heads.length);
  while (count < order.length && items < sample.most) {
    items += offsets[order[count] + 1] - offsets[order[count]];
    count++;
  }
  return pickUsers(users, order.slice(0, count).sort());
}

/** Drops held-out items that the user has seen, and users without other items. */
function unseenUsers(users: HeldOutItems, seen: readonly IdLists[], first: number) {
  const has = (user: number, item: number): boolean =>
    seen.some(({ offsets, ids }) => ids.subarray(offsets[user], offsets[user + 1]).includes(item));
  const { offsets, ids } = users.items;
  const kept: number[] = [];
  const items: Int32Array[] = [];
  for (let user = 0; user < users.heads.length; user++) {
    const own = ids.subarray(offsets[user], offsets[user + 1]).filter((item) => !has(user, item));
    if (own.length === 0) continue;
    kept.push(user);
    items.push(own);
  }
  const picked = Int32Array.from(kept);
  const starts = new Int32Array(kept.length + 1);
  for (const [i, own] of items.entries()) starts[i + 1] = starts[i] + own.length;
  return {
    users: { ...pickUsers(users, picked), items: { offsets: starts, ids: concatInt32(items) } },
    positions: picked.map((user) => first + user),
    excluded: (user: number, visit: (item: number) => void): void => {
      for (const lists of seen)
        for (let i = lists.offsets[picked[user]]; i < lists.offsets[picked[user] + 1]; i++)
          visit(lists.ids[i]);
      visit(users.heads[picked[user]]);
    },
  };
}

/** Marks the recommended items that were held out. */
function markHits(
  { items, length }: TopLists,
  { offsets, ids }: IdLists,
): Pick<UserLists, 'hits' | 'relevant'> {
  const hits = new Uint8Array(items.length);
  const relevant = new Int32Array(offsets.length - 1);
  for (let user = 0; user < relevant.length; user++) {
    const own = ids.subarray(offsets[user], offsets[user + 1]);
    relevant[user] = own.length;
    for (let i = user * length; i < (user + 1) * length; i++)
      if (items[i] >= 0 && own.includes(items[i])) hits[i] = 1;
  }
  return { hits, relevant };
}

/** Joins lists in the order of their users, so that metrics have the same bits for any number of workers. */
function joinLists(parts: readonly UserLists[], length: number): UserLists {
  const total = parts.reduce((sum, { positions }) => sum + positions.length, 0);
  const places = parts.flatMap(({ positions }, part) =>
    Array.from(positions, (position, user) => ({ position, part, user })),
  );
  places.sort((a, b) => a.position - b.position);
  const joined = {
    positions: new Int32Array(total),
    items: new Int32Array(total * length),
    hits: new Uint8Array(total * length),
    relevant: new Int32Array(total),
  };
  for (const [at, { position, part, user }] of places.entries()) {
    const from = parts[part];
    joined.positions[at] = position;
    joined.relevant[at] = from.relevant[user];
    joined.items.set(from.items.subarray(user * length, (user + 1) * length), at * length);
    joined.hits.set(from.hits.subarray(user * length, (user + 1) * length), at * length);
  }
  return joined;
}

/** Counts the different candidates of the users' relations. */
function countCandidates(
  { relations }: HeldOutItems,
  candidates: Candidates,
  { numNodes }: GraphStorage,
): number {
  const distinct = relations === null ? [0] : [...new Set(relations)];
  const lists = distinct.map((relation) => candidates.of(relation, 'tail'));
  if (lists.includes(null)) return numNodes;
  if (lists.length === 1) return lists[0]?.length ?? numNodes;
  const all = new Set<number>();
  for (const list of lists) for (const node of list ?? []) all.add(node);
  return all.size;
}

function range(start: number, end: number): Int32Array {
  return Int32Array.from({ length: end - start }, (_, i) => start + i);
}
