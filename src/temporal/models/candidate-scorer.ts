/**
 * Scores of many candidates at the times of all events of a batch, for general models with one attention layer over recent events:
 * the same function as `forward` and `score` with the candidates as negatives, up to rounding, without a sampled row for every
 * (candidate, time).
 *
 * Memory after mail, queries, and the contributions of neighbours are computed once per candidate or neighbour; only the time
 * encoding, the softmax, and the maps after it differ between the events of a batch.
 */
import type { TemporalGraph } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { gatherRows, scope } from '../../tensor/index.js';
import type { TemporalBatch } from '../batch.js';
import type { TemporalAttentionLayer } from '../layers/attention-layer.js';
import { type MomentWeights, momentWeights } from '../layers/moment-weights.js';
import type { SharedMailBox } from '../mailbox/index.js';
import { cutoffsOf, PairEncoder, type SourceQueries } from '../pair-encoder.js';
import { type PastEvents, pastEvents } from '../past-events.js';
import { CandidateHead } from './candidate-head.js';
import { type CandidateTables, candidateTables } from './candidate-tables.js';
import type { GeneralModel } from './general-model.js';
import { LayerInputRows } from './layer-input-rows.js';
import type { TemporalOutput } from './output.js';

/** Candidates whose neighbours are read together. */
const blockSize = 2048;
/** Pairs that are mapped together: their rows stay in the second-level cache. */
const chunkPairs = 1024;

/** Scores candidates in place of a batch with negatives. */
export interface CandidateScorer {
  /** The stream whose events it reads. */
  readonly graph: TemporalGraph;
  /** Returns the logits of each event's source with every candidate [C, B], at the time of the event. */
  score(batch: TemporalBatch, output: TemporalOutput, candidates: Int32Array): Float32Array;
}

/** Returns the scorer of a model; null for models that need a sampled row for every (candidate, time). */
export function candidateScorer(
  model: GeneralModel,
  graph: TemporalGraph,
  mailbox: SharedMailBox | null,
): CandidateScorer | null {
  const { gnn, memory, sampling } = model.config;
  const [[layer] = []] = model.attention;
  const once = memory.type === 'none' || memory.time_input === 'mail';
  const recent = sampling.strategy === 'recent' && sampling.history === 1;
  const single = gnn.layer === 1 && layer !== undefined && !gnn.dyrep && gnn.combine !== 'rnn';
  const fits = single && layer.sizes.dimNode > 0 && layer.sizes.dimTime > 0 && layer.key.dtype === 'f32';
  return once && recent && fits ? new MomentScorer(model, layer, graph, mailbox) : null;
}

/** Questions of a batch, with what all of their candidates share. */
interface Asked extends SourceQueries {
  readonly weights: MomentWeights;
  readonly head: CandidateHead;
  /** The result [C, B]. */
  readonly scores: Float32Array;
}

class MomentScorer implements CandidateScorer {
  readonly #model: GeneralModel;
  readonly #layer: TemporalAttentionLayer;
  readonly graph: TemporalGraph;
  readonly #rows: LayerInputRows;
  readonly #pairs: PairEncoder | null;
  readonly #fanout: number;

  constructor(
    model: GeneralModel,
    layer: TemporalAttentionLayer,
    graph: TemporalGraph,
    mailbox: SharedMailBox | null,
  ) {
    const { gnn, sampling } = model.config;
    this.#model = model;
    this.#layer = layer;
    this.graph = graph;
    this.#rows = new LayerInputRows(model, layer, graph, mailbox);
    this.#pairs = gnn.pair_depth > 0 ? new PairEncoder(graph, gnn.pair_depth) : null;
    this.#fanout = sampling.neighbor[0];
  }

  score(batch: TemporalBatch, output: TemporalOutput, candidates: Int32Array): Float32Array {
    const { src, times, srcRoots, rowLimit } = batch;
    const scores = new Float32Array(candidates.length * src.length);
    scope(() => {
      const asked: Asked = {
        ...{ src, times, cutoffs: cutoffsOf(this.graph, times, rowLimit), scores },
        weights: momentWeights(this.#layer),
        head: new CandidateHead(this.#model, this.#layer, gatherRows(output.embeddings, srcRoots)),
      };
      for (let from = 0; from < candidates.length; from += blockSize)
        scope(() => this.#block(asked, candidates.subarray(from, from + blockSize), from));
    });
    return scores;
  }

  /** Scores the candidates from position `first` on. */
  #block(asked: Asked, nodes: Int32Array, first: number): void {
    const numTimes = asked.src.length;
    const past = pastEvents(this.graph, nodes, asked.cutoffs, this.#fanout);
    const tables = this.#tables(asked, nodes, past);
    const pairs = this.#pairs?.encodeEach(asked, nodes) ?? null;
    const step = Math.max(1, Math.floor(chunkPairs / numTimes));
    const { hidden } = asked.weights;
    const rows = new Float32Array(Math.min(step, nodes.length) * numTimes * hidden);
    for (let from = 0; from < nodes.length; from += step) {
      const count = Math.min(step, nodes.length - from);
      this.#attend(asked, past, tables, from, count, rows);
      const begin = from * numTimes;
      asked.head.score(
        rows,
        pairs?.subarray(begin * PairEncoder.width) ?? null,
        asked.scores.subarray(first * numTimes + begin, first * numTimes + begin + count * numTimes),
      );
    }
  }

  /** Writes the hidden rows [count, B, hidden] of the candidates from … of a block. */
  #attend(
    { weights, cutoffs, times }: Asked,
    past: PastEvents,
    tables: CandidateTables,
    from: number,
    count: number,
    y: Float32Array,
  ): void {
    const { sizes, time } = this.#layer;
    const { heads, dimTime } = sizes;
    const { hidden, merge, scale, slope } = weights;
    if (time === null) return;
    kernels().momentAttention({
      ...{ fixed: tables.fixed, mapped: tables.mapped, mappedRows: tables.mappedRows },
      ...{
        eventRows: past.rows,
        eventTimes: past.times,
        offsets: past.offsets.subarray(from, from + count + 1),
      },
      query: tables.query.subarray(from * heads * dimTime),
      own: tables.own.subarray(from * hidden),
      ...{ w: time.weight.floats, b: time.bias.floats, merge, cutoffs, times, y },
      ...{
        numNodes: count,
        numTimes: times.length,
        fanout: this.#fanout,
        heads,
        dimTime,
        hidden,
        scale,
        slope,
      },
    });
  }

  #tables({ weights }: Asked, nodes: Int32Array, past: PastEvents): CandidateTables {
    const needed = new Int32Array(nodes.length + past.neighbors.length);
    needed.set(nodes);
    needed.set(past.neighbors, nodes.length);
    const { h, mapped, rows } = this.#rows.read(needed, weights);
    return candidateTables({
      ...{ layer: this.#layer, weights, past, h, mapped },
      candidateRows: rows.subarray(0, nodes.length),
      neighborRows: rows.slice(nodes.length),
      edgeFeatures: this.graph.features,
    });
  }
}
