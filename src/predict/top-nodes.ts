/**
 * Finds the best nodes for a question, over all nodes in tiles: the most likely other endpoints of edges, and the nodes
 * with the most similar rows. Only one tile and the answers are held in memory.
 */
import type { Tile } from '../storage/trained-rows.js';
import { fromTypedArray, gatherRows, noGrad, scope, type Tensor } from '../tensor/index.js';
import { LinkPredictionModel, type OpenedGraphRun } from '../train/index.js';
import { rowsForReading } from '../train/tasks/graph/encoded-nodes.js';
import { checkInteger, StateError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { checkOptionNames } from '../util/option-names.js';

export interface ScoredNode {
  readonly id: number;
  readonly score: number;
}

export interface TopOptions {
  readonly count: number;
  /** Whether to exclude a node. */
  readonly skip?: (id: number) => boolean;
}

export interface LinkQuestion extends TopOptions {
  /** The known endpoint. */
  readonly node: number;
  /** null if edges have no relation. */
  readonly relation: number | null;
  /** The endpoint to predict. */
  readonly want: 'tail' | 'head';
}

/** Number of rows that are scored at a time. */
const blockRows = 8192;

/** Returns the most likely other endpoints of edges from (want tail) or to (want head) a node. */
export async function topLinks(run: OpenedGraphRun, question: LinkQuestion): Promise<ScoredNode[]> {
  const { storage } = run;
  const model = requireLinkModel(run);
  const best = new BestScores(question);
  await rowsForReading(run);
  const { rows, width } = await storage.readEncoded(Int32Array.of(question.node));
  const score = makeScorer(model, fromTypedArray(rows, [1, width]), question);
  for await (const tile of storage.tiles())
    for (const { start, values } of blocks(tile, width)) {
      const scores = noGrad(() => scope(() => score(values).dataSync() as Float32Array));
      best.offerAll(start, scores);
    }
  return best.results();
}

/** Returns the nodes whose rows have the highest cosine similarity with a node's. */
export async function nearestNodes(
  run: OpenedGraphRun,
  node: number,
  options: TopOptions,
): Promise<ScoredNode[]> {
  checkOptionNames('nearestNodes', options, { count: true, skip: true });
  const best = new BestScores(options);
  await rowsForReading(run);
  const { rows: own, width } = await run.storage.readEncoded(Int32Array.of(node));
  const length = Math.hypot(...own);
  for await (const { start, count, rows } of run.storage.tiles()) {
    for (let i = 0; i < count; i++) {
      let [dot, squares] = [0, 0];
      for (let j = 0, at = i * width; j < width; j++, at++) {
        dot += own[j] * rows[at];
        squares += rows[at] * rows[at];
      }
      best.offer(start + i, dot / Math.max(Math.sqrt(squares) * length, 1e-12));
    }
  }
  return best.results();
}

/** Returns the rows of nodes that the model compares. */
export async function rowsOf(
  run: OpenedGraphRun,
  ids: Int32Array,
): Promise<{ readonly rows: Float32Array; readonly width: number }> {
  await rowsForReading(run);
  return run.storage.readEncoded(ids);
}

/** Scores edges, each as a prediction of its destination. */
export async function scoreEdges(
  run: OpenedGraphRun,
  src: Int32Array,
  dst: Int32Array,
  relations: Int32Array | null,
): Promise<Float32Array> {
  const { decoder } = requireLinkModel(run);
  const ends = await Promise.all([rowsOf(run, src), rowsOf(run, dst)]);
  return noGrad(() =>
    scope(() => {
      const [heads, tails] = ends.map(({ rows, width }) => fromTypedArray(rows, [src.length, width]));
      const [forward] = decoder.sides({ src: heads, dst: tails, relations, rows: tails });
      return Float32Array.from(decoder.comparator.pairs(forward.query, forward.target).dataSync());
    }),
  );
}

function requireLinkModel({ model }: OpenedGraphRun): LinkPredictionModel {
  if (model instanceof LinkPredictionModel) return model;
  throw new StateError(
    `query: expected a run of LINK_PREDICTION for --head and --tail, got one of NODE_CLASSIFICATION. Use --neighbors, or "${invocation()} predict".`,
  );
}

/** Returns a function that scores a block of rows [n, d] as the other endpoint. */
function makeScorer(
  { decoder }: LinkPredictionModel,
  own: Tensor,
  { want, relation }: LinkQuestion,
): (rows: Tensor) => Tensor {
  const relationOf = (count: number): Int32Array | null =>
    relation === null ? null : new Int32Array(count).fill(relation);
  const side = noGrad(() => decoder.sides({ src: own, dst: own, relations: relationOf(1), rows: own })).find(
    ({ direction }) => direction === (want === 'tail' ? 'rhs' : 'lhs'),
  );
  if (side !== undefined)
    return (rows) => decoder.comparator.chunks(side.query, rows, upTo(rows.shape[0]), 1);
  // Without inverse relations a source is predicted by scoring its edge forwards.
  return (rows) => {
    const count = rows.shape[0];
    const dst = gatherRows(own, new Int32Array(count));
    const [forward] = decoder.sides({ src: rows, dst, relations: relationOf(count), rows });
    return decoder.comparator.pairs(forward.query, forward.target);
  };
}

function* blocks({ start, count, rows }: Tile, width: number): Generator<{ start: number; values: Tensor }> {
  for (let first = 0; first < count; first += blockRows) {
    const size = Math.min(blockRows, count - first);
    const values = fromTypedArray(rows.slice(first * width, (first + size) * width), [size, width]);
    yield { start: start + first, values };
    values.dispose();
  }
}

function upTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i);
}

/** Keeps the highest scores so far, best first; the lower id among equals. */
class BestScores {
  readonly #count: number;
  readonly #skip: (id: number) => boolean;
  readonly #held: ScoredNode[] = [];

  constructor({ count, skip = () => false }: TopOptions) {
    this.#count = checkInteger('topLinks', 'count', count, 1);
    this.#skip = skip;
  }

  offerAll(start: number, scores: Float32Array): void {
    for (let i = 0; i < scores.length; i++) this.offer(start + i, scores[i]);
  }

  offer(id: number, score: number): void {
    const held = this.#held;
    const full = held.length === this.#count;
    if (Number.isNaN(score) || (full && score <= held[held.length - 1].score) || this.#skip(id)) return;
    let [low, high] = [0, held.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (held[middle].score >= score) low = middle + 1;
      else high = middle;
    }
    held.splice(low, 0, { id, score });
    if (held.length > this.#count) held.pop();
  }

  results(): ScoredNode[] {
    return this.#held;
  }
}
