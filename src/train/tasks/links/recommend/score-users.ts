/**
 * Offers candidates to users by the scores of a model: products of blocks of users with blocks of candidates, so that every
 * candidate is compared and no matrix of all scores is stored.
 */
import { EdgeDecoder } from '../../../../gnn/index.js';
import { fromTypedArray, gatherRows, noGrad, scope, slice, type Tensor } from '../../../../tensor/index.js';
import { StateError } from '../../../../util/errors.js';
import { fetched, type Model } from '../../graph/model/model.js';
import type { GraphStorage } from '../../graph/storage/graph-storage.js';
import { lowerBound, positionIn } from '../candidates.js';
import type { UserBlock } from './recommended-lists.js';
import type { TopLists } from './top-lists.js';

/** Users and candidates whose scores are in memory at a time. */
const blockUsers = 512;
const blockItems = 4096;

/** Users of one relation, which have the same candidates. */
interface Group {
  readonly users: Int32Array;
  readonly relation: number;
  /** Ascending; null: all nodes. */
  readonly candidates: Int32Array | null;
}

export async function scoreUsers(
  decoder: EdgeDecoder,
  { device }: Pick<Model, 'device'>,
  storage: GraphStorage,
  block: UserBlock,
  lists: TopLists,
): Promise<void> {
  const { heads } = block;
  const { rows, width } = await storage.readEncoded(heads);
  const groups = groupUsers(block);
  const scorers = await Promise.all(
    groups.map(async (group) => {
      const own = noGrad(() =>
        scope(() => gatherRows(fromTypedArray(rows, [heads.length, width]), group.users)),
      );
      const placed = device === null ? own : own.to(device);
      return { group, score: await scorerOf(decoder, placed, group.relation, block.relations !== null) };
    }),
  );
  // A worker without users takes part in collective reads of tiles.
  for await (const tile of storage.tiles())
    for (const { group, score } of scorers) {
      const all = fromTypedArray(tile.rows, [tile.count, tile.rows.length / tile.count]);
      for (const { ids, first } of itemBlocks(group.candidates, tile.start, tile.count))
        noGrad(() =>
          scope(() => {
            const items = gatherRows(
              all,
              ids.map((id) => id - tile.start),
            );
            for (let from = 0; from < group.users.length; from += blockUsers)
              offerBlock(score(items, from), { ids, first, group, from, block, lists });
          }),
        );
    }
}

/** Returns the scores [n, items] of a block of users from `from` on with the rows of items. */
type Scorer = (items: Tensor, from: number) => Float32Array;

async function scorerOf(
  decoder: EdgeDecoder,
  own: Tensor,
  relation: number,
  hasRelations: boolean,
): Promise<Scorer> {
  const count = own.shape[0];
  const relations = (n: number): Int32Array | null =>
    hasRelations ? new Int32Array(n).fill(relation) : null;
  if (decoder.forward === EdgeDecoder.prototype.forward) {
    const side = noGrad(() =>
      decoder.sides({ src: own, dst: own, relations: relations(count), rows: own }),
    )[0];
    const query = await fetched(side.query);
    return (items, from) => {
      const part = slice(query, from, Math.min(from + blockUsers, count));
      return decoder.comparator.chunks(part, items, upTo(items.shape[0]), 1).dataSync() as Float32Array;
    };
  }
  return (items, from) => {
    const src = slice(own, from, Math.min(from + blockUsers, count));
    const all = upTo(items.shape[0]);
    const { rhsNeg } = decoder.forward({
      ...{ src, dst: src, rows: items, relations: relations(src.shape[0]) },
      ...{ srcNegatives: all, dstNegatives: all },
    });
    if (rhsNeg === null)
      throw new StateError(
        `${decoder.constructor.name}.forward: expected scores of the negatives it was given, got none.`,
      );
    return rhsNeg.dataSync() as Float32Array;
  };
}

interface OfferedBlock {
  /** Candidates of the block, and the position of the first among those of its group. */
  readonly ids: Int32Array;
  readonly first: number;
  readonly group: Group;
  readonly from: number;
  readonly block: UserBlock;
  readonly lists: TopLists;
}

function offerBlock(scores: Float32Array, { ids, first, group, from, block, lists }: OfferedBlock): void {
  const count = ids.length;
  const last = Math.min(from + blockUsers, group.users.length);
  for (let i = from; i < last; i++) {
    const own = scores.slice((i - from) * count, (i - from + 1) * count);
    const user = group.users[i];
    block.excluded(user, (item) => {
      const at = (group.candidates === null ? item : positionIn(group.candidates, item)) - first;
      if (at >= 0 && at < count) own[at] = Number.NaN;
    });
    lists.offer(user, ids, own);
  }
}

/** Splits the candidates among the nodes start … start + count − 1 into blocks. */
function* itemBlocks(
  candidates: Int32Array | null,
  start: number,
  count: number,
): Generator<{ readonly ids: Int32Array; readonly first: number }> {
  const begin = candidates === null ? start : lowerBound(candidates, start);
  const end = candidates === null ? start + count : lowerBound(candidates, start + count);
  for (let first = begin; first < end; first += blockItems) {
    const last = Math.min(first + blockItems, end);
    const ids =
      candidates?.subarray(first, last) ?? Int32Array.from({ length: last - first }, (_, i) => first + i);
    yield { ids, first };
  }
}

function groupUsers({ heads, relations, candidates }: UserBlock): Group[] {
  const byRelation = new Map<number, number[]>();
  for (let user = 0; user < heads.length; user++) {
    const relation = relations === null ? 0 : relations[user];
    const list = byRelation.get(relation);
    if (list === undefined) byRelation.set(relation, [user]);
    else list.push(user);
  }
  return Array.from(byRelation, ([relation, users]) => ({
    ...{ relation, users: Int32Array.from(users) },
    candidates: candidates.of(relation, 'tail'),
  }));
}

function upTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i);
}
