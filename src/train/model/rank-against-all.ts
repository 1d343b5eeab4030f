/**
 * Ranks of a batch's edges among all nodes: the nodes pass by in tiles, and only counts are kept. True edges are left out
 * by exact lists. Decoders of one's own go through their `forward`, a block of nodes at a time.
 */
import { type DecoderInput, EdgeDecoder, type Side } from '../../gnn/index.js';
import { kernels, scoreCode } from '../../native/index.js';
import { fromTypedArray, gatherRows, noGrad, scope, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { Batch, EvaluationData } from '../batch/batch.js';
import type { IdLists } from '../batch/filter-index.js';
import type { Tile } from '../batch/node-table.js';
import type { LinkPredictionReporter } from '../run/index.js';

/** One direction of ranking: its queries, and what is counted. */
interface Ranking {
  readonly direction: 'tail' | 'head';
  readonly query: Float32Array;
  readonly positive: Float32Array;
  readonly ids: Int32Array;
  readonly filter: IdLists | null;
  readonly greater: Int32Array;
  readonly equal: Int32Array;
}

/** Ranks, or where only some are wanted: the counts of each edge in each direction. */
export interface EdgeCounts {
  readonly direction: 'tail' | 'head';
  readonly greater: Int32Array;
  readonly equal: Int32Array;
  readonly candidates: Float64Array;
  readonly scores: Float32Array;
}

export async function rankAgainstAll(
  decoder: EdgeDecoder,
  batch: Batch,
  reporter: LinkPredictionReporter,
): Promise<void> {
  for (const counts of await countAgainstAll(decoder, batch)) {
    const { greater, equal, candidates, direction } = counts;
    const { relations } = batch;
    reporter.addCounts(greater, equal, candidates, {
      direction,
      ...(relations === null ? {} : { relations }),
    });
  }
}

export async function countAgainstAll(decoder: EdgeDecoder, batch: Batch): Promise<EdgeCounts[]> {
  const evaluation = needEvaluation(batch);
  const builtin = decoder.comparator.comparison !== null && decoder.forward === EdgeDecoder.prototype.forward;
  const rankings = makeRankings(decoder, batch, evaluation, builtin);
  let nodes = 0;
  for await (const tile of evaluation.tiles()) {
    nodes += tile.count;
    if (builtin) for (const ranking of rankings) countTile(decoder, ranking, tile);
    else countGenerally(decoder, batch, rankings, tile);
  }
  return rankings.map(({ direction, greater, equal, filter, ids, positive }) => ({
    direction,
    greater,
    equal,
    candidates: candidatesOf(ids, filter, nodes),
    scores: positive,
  }));
}

function needEvaluation(batch: Batch): EvaluationData {
  if (batch.evaluation === null)
    throw new StateError(
      'rankAgainstAll: expected a batch for ranking against all nodes, got one with negatives.',
    );
  return batch.evaluation;
}

function makeRankings(
  decoder: EdgeDecoder,
  batch: Batch,
  evaluation: EvaluationData,
  builtin: boolean,
): Ranking[] {
  const [src, dst] = [batch.src as Int32Array, batch.dst as Int32Array];
  return noGrad(() =>
    scope(() => {
      const input = pairsOf(batch);
      const sides: readonly (Pick<Side, 'direction'> & { query: Tensor | null; positive: Tensor })[] = builtin
        ? decoder.sides(input).map((side) => {
            const [query, target] = comparable(decoder, side.query, side.target);
            return { direction: side.direction, query, positive: decoder.comparator.pairs(query, target) };
          })
        : generalPositives(decoder, input);
      return sides.map(({ direction, query, positive }) => {
        const tail = direction === 'rhs';
        return {
          direction: tail ? ('tail' as const) : ('head' as const),
          query: query === null ? new Float32Array(0) : copyOf(query),
          positive: copyOf(positive),
          ids: tail ? dst : src,
          filter: tail ? evaluation.trueDestinations : evaluation.trueSources,
          greater: new Int32Array(src.length),
          equal: new Int32Array(src.length),
        };
      });
    }),
  );
}

/** Cosines are dot products of rows of length 1. */
function comparable(decoder: EdgeDecoder, query: Tensor, target: Tensor): [Tensor, Tensor] {
  if (decoder.comparator.comparison !== 'cosine') return [query, target];
  return [unitRows(copyOf(query), query.shape[1]), unitRows(copyOf(target), target.shape[1])];
}

function countTile(decoder: EdgeDecoder, ranking: Ranking, tile: Tile): void {
  const { comparison } = decoder.comparator;
  const cosine = comparison === 'cosine';
  const width = tile.rows.length / tile.count;
  const rows = cosine ? (unitRows(tile.rows.slice(), width).dataSync() as Float32Array) : tile.rows;
  kernels().rankTile(
    scoreCode[comparison === null || comparison === 'cosine' ? 'dot' : comparison],
    ranking.query,
    ranking.positive,
    ranking.ids,
    rows,
    tile.start,
    ranking.filter?.offsets ?? null,
    ranking.filter?.ids ?? null,
    ranking.greater,
    ranking.equal,
    ranking.ids.length,
    width,
    tile.count,
  );
}

/** Blocks of nodes through the decoder's own `forward`. */
function countGenerally(decoder: EdgeDecoder, batch: Batch, rankings: readonly Ranking[], tile: Tile): void {
  const width = tile.rows.length / tile.count;
  const block = 1024;
  for (let first = 0; first < tile.count; first += block) {
    const count = Math.min(block, tile.count - first);
    noGrad(() =>
      scope(() => {
        const all = Int32Array.from({ length: count }, (_, i) => i);
        const rows = fromTypedArray(tile.rows.slice(first * width, (first + count) * width), [count, width]);
        const { rhsNeg, lhsNeg } = decoder.forward({
          ...pairsOf(batch),
          rows,
          srcNegatives: all,
          dstNegatives: all,
        });
        for (const ranking of rankings) {
          const scores = ranking.direction === 'tail' ? rhsNeg : lhsNeg;
          if (scores !== null)
            countScores(ranking, scores.dataSync() as Float32Array, tile.start + first, count);
        }
      }),
    );
  }
}

function countScores(ranking: Ranking, scores: Float32Array, first: number, count: number): void {
  const { ids, filter, positive, greater, equal } = ranking;
  for (let i = 0; i < ids.length; i++) {
    const skip = new Set<number>([ids[i]]);
    if (filter !== null)
      for (let p = filter.offsets[i]; p < filter.offsets[i + 1]; p++) skip.add(filter.ids[p]);
    for (let j = 0; j < count; j++) {
      const score = scores[i * count + j];
      if (score < positive[i] || skip.has(first + j)) continue;
      if (score === positive[i]) equal[i]++;
      else greater[i]++;
    }
  }
}

function generalPositives(decoder: EdgeDecoder, input: DecoderInput) {
  const { rhsPos, lhsPos } = decoder.forward(input);
  const sides = [{ direction: 'rhs' as const, query: null, positive: rhsPos }];
  return lhsPos === null ? sides : [...sides, { direction: 'lhs' as const, query: null, positive: lhsPos }];
}

/** The batch's edges without negatives. */
function pairsOf(batch: Batch): DecoderInput {
  const rows = batch.uniqueNodeEmbeddings as Tensor;
  return {
    src: gatherRows(rows, batch.srcRows as Int32Array),
    dst: gatherRows(rows, batch.dstRows as Int32Array),
    relations: batch.relations,
    rows,
  };
}

/** All nodes but the edge's own end and the other true ones. */
function candidatesOf(ids: Int32Array, filter: IdLists | null, nodes: number): Float64Array {
  return Float64Array.from(ids, (id, i) => {
    if (filter === null) return nodes - 1;
    const [begin, end] = [filter.offsets[i], filter.offsets[i + 1]];
    let distinct = 0;
    let own = false;
    for (let p = begin; p < end; p++) {
      if (p === begin || filter.ids[p] !== filter.ids[p - 1]) distinct++;
      if (filter.ids[p] === id) own = true;
    }
    return nodes - distinct - (own ? 0 : 1);
  });
}

function unitRows(values: Float32Array, width: number): Tensor {
  for (let start = 0; start < values.length; start += width) {
    let squares = 0;
    for (let j = 0; j < width; j++) squares += values[start + j] ** 2;
    const length = Math.max(Math.sqrt(squares), 1e-12);
    for (let j = 0; j < width; j++) values[start + j] /= length;
  }
  return fromTypedArray(values, [values.length / width, width]);
}

function copyOf(t: Tensor): Float32Array {
  return (t.dataSync() as Float32Array).slice();
}
