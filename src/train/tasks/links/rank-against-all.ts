/**
 * Ranks of a batch's edges among all nodes: nodes are read in tiles, and only counts are kept. True edges are left out by
 * exact lists. Queries are computed on the model's device, counts on the CPU. Decoders with a custom `forward` score a block
 * of nodes at a time.
 */
import type { DecoderInput } from '../../../gnn/decoders/edge-decoder.js';
import { EdgeDecoder } from '../../../gnn/index.js';
import type { IdLists } from '../../../gnn/ops/id-lists.js';
import { RankCounter, type RankCounts } from '../../../gnn/rank-counter.js';
import { fromTypedArray, gatherRows, noGrad, scope, slice, type Tensor } from '../../../tensor/index.js';
import { DeviceError, StateError } from '../../../util/errors.js';
import type { LinkPredictionReporter } from '../../run/index.js';
import { resultPosition } from '../graph/batch/batch-share.js';
import type { EvaluationData, TrainingBatch } from '../graph/batch/training-batch.js';
import { fetched } from '../graph/model/model.js';
import { CandidateCounter } from './candidate-counter.js';
import { positionIn } from './candidates.js';

/** The counts of each edge in one direction, from which ranks follow. */
export interface EdgeCounts extends RankCounts {
  readonly direction: 'tail' | 'head';
  /** Scores of the edges themselves. */
  readonly scores: Float32Array;
}

export async function rankAgainstAll(
  decoder: EdgeDecoder,
  batch: TrainingBatch,
  reporter: LinkPredictionReporter,
): Promise<void> {
  for (const counts of await countAgainstAll(decoder, batch)) {
    const { greater, equal, candidates, direction } = counts;
    const { relations } = batch;
    reporter.addCounts(greater, equal, candidates, {
      direction,
      ...(relations === null ? {} : { relations }),
      ...resultPosition(batch, direction),
    });
  }
}

/** Returns the counts of each direction that the decoder scores. */
export async function countAgainstAll(decoder: EdgeDecoder, batch: TrainingBatch): Promise<EdgeCounts[]> {
  const evaluation = needEvaluation(batch);
  if (batch.src?.length === 0) {
    // A worker without edges of this batch takes part in collective reads of tiles.
    for await (const _tile of evaluation.tiles());
    return [];
  }
  const isCustom = decoder.forward !== EdgeDecoder.prototype.forward;
  const rankings = isCustom
    ? customRankings(decoder, batch, evaluation)
    : await rankingsOf(decoder, batch, evaluation);
  for await (const tile of evaluation.tiles())
    scope(() => {
      const rows = fromTypedArray(tile.rows, [tile.count, tile.rows.length / tile.count]);
      for (const { add } of rankings) add(rows, tile.start);
    });
  return rankings.map(({ direction, scores, counts }) => ({ direction, scores, ...counts() }));
}

/** The counts of one direction over the tiles so far. */
interface Ranking {
  readonly direction: 'tail' | 'head';
  readonly scores: Float32Array;
  readonly add: (rows: Tensor, first: number) => void;
  readonly counts: () => RankCounts;
}

function needEvaluation(batch: TrainingBatch): EvaluationData {
  if (batch.evaluation === null)
    throw new StateError(
      'rankAgainstAll: expected a batch for ranking against all nodes, got one with negatives.',
    );
  return batch.evaluation;
}

function endsOf(batch: TrainingBatch, evaluation: EvaluationData, tail: boolean) {
  return {
    targetIds: (tail ? batch.dst : batch.src) as Int32Array,
    filter: tail ? evaluation.trueDestinations : evaluation.trueSources,
  };
}

async function rankingsOf(
  decoder: EdgeDecoder,
  batch: TrainingBatch,
  evaluation: EvaluationData,
): Promise<Ranking[]> {
  const sides = noGrad(() =>
    scope(() =>
      decoder.sides(pairsOf(batch)).map(({ direction, query, target }) => ({ direction, query, target })),
    ),
  );
  const rankings: Ranking[] = [];
  for (const { direction, query: asked, target: wanted } of sides) {
    const [query, target] = await Promise.all([fetched(asked), fetched(wanted)]);
    rankings.push(
      noGrad(() =>
        scope(() => {
          const tail = direction === 'rhs';
          const ends = endsOf(batch, evaluation, tail);
          const [candidates, side] = [evaluation.candidates ?? null, tail ? 'tail' : 'head'] as const;
          const counter =
            candidates === null
              ? new RankCounter(decoder.comparator, query, { target, ...ends })
              : new CandidateCounter(decoder.comparator, query, {
                  ...{ target, ...ends, candidates, direction: side, relations: batch.relations },
                });
          return {
            direction: side,
            scores: copyOf(decoder.comparator.pairs(query, target)),
            add: (rows: Tensor, first: number) => counter.add(rows, first),
            counts: () => counter.counts(),
          };
        }),
      ),
    );
  }
  // Disposed last: without relations one direction's query is the other's target.
  for (const { query, target } of sides) {
    query.dispose();
    target.dispose();
  }
  return rankings;
}

/** Returns rankings of a decoder with a custom `forward`, which scores a block of nodes at a time. */
function customRankings(decoder: EdgeDecoder, batch: TrainingBatch, evaluation: EvaluationData): Ranking[] {
  if (batch.uniqueNodeEmbeddings?.device)
    throw new DeviceError(
      `${decoder.constructor.name}: expected the model in memory to rank by a custom forward, got it on a device. Call \`await model.cpu()\` before evaluating.`,
      { reason: 'no-kernel' },
    );
  const [tails, heads] = noGrad(() =>
    scope(() => {
      const { rhsPos, lhsPos } = decoder.forward(pairsOf(batch));
      return [copyOf(rhsPos), lhsPos === null ? null : copyOf(lhsPos)] as const;
    }),
  );
  const ranking = (positive: Float32Array, tail: boolean): Ranking => {
    const { targetIds, filter } = endsOf(batch, evaluation, tail);
    const isCandidate = candidateTest(batch, evaluation, tail);
    const counts = {
      greater: new Int32Array(positive.length),
      equal: new Int32Array(positive.length),
      candidates: new Int32Array(positive.length),
    };
    return {
      direction: tail ? 'tail' : 'head',
      scores: positive,
      add: (rows, first) => {
        for (let from = 0; from < rows.shape[0]; from += nodesAtOnce) {
          const block = slice(rows, from, Math.min(from + nodesAtOnce, rows.shape[0]));
          const scores = scoresOf(decoder, batch, block, tail);
          for (let q = 0; q < positive.length; q++) {
            const skip = new Set([targetIds[q], ...(filter === null ? [] : listOf(filter, q))]);
            for (let j = 0; j < block.shape[0]; j++) {
              if (skip.has(first + from + j) || !isCandidate(q, first + from + j)) continue;
              const score = scores[q * block.shape[0] + j];
              counts.candidates[q]++;
              if (!(score <= positive[q])) counts.greater[q]++;
              else if (score === positive[q]) counts.equal[q]++;
            }
          }
        }
      },
      counts: () => counts,
    };
  };
  return heads === null ? [ranking(tails, true)] : [ranking(tails, true), ranking(heads, false)];
}

/** Returns a function that tells whether a node is ranked in a query. */
function candidateTest(
  { relations }: TrainingBatch,
  { candidates }: EvaluationData,
  tail: boolean,
): (query: number, node: number) => boolean {
  if (!candidates) return () => true;
  return (query, node) => {
    const nodes = candidates.of(relations === null ? 0 : relations[query], tail ? 'tail' : 'head');
    return nodes === null || positionIn(nodes, node) >= 0;
  };
}

const nodesAtOnce = 1024;

/** Scores every edge of the batch with the given nodes in place of its destination (tail) or source. */
function scoresOf(decoder: EdgeDecoder, batch: TrainingBatch, rows: Tensor, tail: boolean): Float32Array {
  return noGrad(() =>
    scope(() => {
      const all = Int32Array.from({ length: rows.shape[0] }, (_, i) => i);
      const input = { ...pairsOf(batch), rows, srcNegatives: all, dstNegatives: all };
      const { rhsNeg, lhsNeg } = decoder.forward(input);
      const scores = tail ? rhsNeg : lhsNeg;
      if (scores === null)
        throw new StateError(
          `${decoder.constructor.name}.forward: expected scores of the negatives it was given, got none.`,
        );
      return copyOf(scores);
    }),
  );
}

function listOf({ offsets, ids }: IdLists, q: number): Int32Array {
  return ids.subarray(offsets[q], offsets[q + 1]);
}

/** Returns the decoder's input for the batch's edges, without negatives. */
function pairsOf(batch: TrainingBatch): DecoderInput {
  const rows = batch.uniqueNodeEmbeddings as Tensor;
  return {
    src: gatherRows(rows, batch.srcRows as Int32Array),
    dst: gatherRows(rows, batch.dstRows as Int32Array),
    relations: batch.relations,
    rows,
  };
}

function copyOf(t: Tensor): Float32Array {
  return (t.dataSync() as Float32Array).slice();
}
