/**
 * Exact search: scores queries against the rows of a table, tile by tile, and keeps the best of each. Rows in memory are not
 * copied, except those of few and scattered candidates.
 */
import { setImmediate } from 'node:timers/promises';
import { kernels } from '../../native/index.js';
import type { Tile } from '../../storage/trained-rows.js';
import { lowerBound } from '../../train/tasks/links/candidates.js';
import {
  type BestOptions,
  BestScores,
  type BlockNodes,
  type BlockScores,
  type ScoredNode,
} from './best-scores.js';
import type { BlockScorer } from './block-scorer.js';

export interface Search {
  readonly scorer: BlockScorer;
  /** One per query of the scorer. */
  readonly queries: readonly BestOptions[];
  /** Nodes to search, ascending; null for all. */
  readonly among: Int32Array | null;
  /** Factor of each node's scores; null for none. */
  readonly scale: Float32Array | null;
}

/** Milliseconds after which a search lets other work of the process run. */
const slice = 8;

/** Returns the best nodes of each query of each search, in one pass over the tiles. */
export async function searchRows(
  tiles: AsyncIterable<Tile>,
  width: number,
  searches: readonly Search[],
): Promise<ScoredNode[][][]> {
  const best = searches.map(({ queries }) => new BestScores(queries));
  let since = performance.now();
  for await (const tile of tiles)
    for (const [s, search] of searches.entries())
      for (const { scores, nodes } of scoredBlocks(tile, width, search)) {
        best[s].offer(scores, nodes);
        if (performance.now() - since < slice) continue;
        await setImmediate();
        since = performance.now();
      }
  return best.map((one) => one.results());
}

interface ScoredBlock {
  readonly scores: BlockScores;
  readonly nodes: BlockNodes;
}

function* scoredBlocks(
  tile: Tile,
  width: number,
  { scorer, queries, among, scale }: Search,
): Generator<ScoredBlock> {
  const most = scorer.blockRows;
  for (const nodes of among === null ? spansOf(tile, most) : candidatesOf(tile, among, most)) {
    const { rows, count } = rowsOfBlock(tile, width, nodes);
    const scores = scorer.score(rows, count);
    if (scale !== null) scaleRows(scores, queries.length, nodes, scale);
    yield { scores, nodes };
  }
}

/** Divides a tile into blocks. */
function* spansOf({ start, count }: Tile, most: number): Generator<BlockNodes> {
  for (let first = start; first < start + count; first += most)
    yield { first, count: Math.min(most, start + count - first), ids: null, isGathered: false };
}

/** Gathered rows at once: they stay in the cache until they are scored. */
const gatheredRows = 4096;

/**
 * Divides the candidates of a tile into blocks. Where they are dense, all rows between them are scored, because reading rows
 * in order is faster than gathering them.
 */
function* candidatesOf({ start, count }: Tile, among: Int32Array, most: number): Generator<BlockNodes> {
  const end = lowerBound(among, start + count);
  for (let from = lowerBound(among, start); from < end; ) {
    const first = among[from];
    const inSpan = lowerBound(among, Math.min(first + most, start + count));
    const isDense = among[inSpan - 1] - first < 2 * (inSpan - from);
    const to = isDense ? inSpan : Math.min(end, from + Math.min(most, gatheredRows));
    yield { first, count: to - from, ids: among.subarray(from, to), isGathered: !isDense };
    from = to;
  }
}

function rowsOfBlock(
  { start, rows }: Tile,
  width: number,
  { first, count, ids, isGathered }: BlockNodes,
): { readonly rows: Float32Array; readonly count: number } {
  if (ids === null || !isGathered) {
    const span = ids === null ? count : ids[count - 1] - first + 1;
    return { rows: rows.subarray((first - start) * width, (first - start + span) * width), count: span };
  }
  const local = start === 0 ? ids : ids.map((id) => id - start);
  const gathered = new Float32Array(count * width);
  kernels().gatherRows(rows, local, gathered, count, 4 * width);
  return { rows: gathered, count };
}

/** Multiplies the scores of each node by its factor. */
function scaleRows(
  { scores, rowStride, queryStride }: BlockScores,
  queries: number,
  { first, count, ids, isGathered }: BlockNodes,
  scale: Float32Array,
): void {
  for (let i = 0; i < count; i++) {
    const id = ids === null ? first + i : ids[i];
    let at = (isGathered ? i : id - first) * rowStride;
    for (let q = 0; q < queries; q++, at += queryStride) scores[at] *= scale[id];
  }
}
