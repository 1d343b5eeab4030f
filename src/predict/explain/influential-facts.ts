/**
 * The training facts at the ends of an edge that support its score most, to first order: the inner product of the gradients of
 * both scores by the rows that both edges share. A step of training that raises the score of such a fact moves the score of the
 * edge by its product (gradient similarity; Pezeshkpour et al., NAACL 2019, without the Hessian). Rows of relations are not
 * counted: all facts of a relation share them.
 */
import type { EdgeDecoder } from '../../gnn/index.js';
import { fromTypedArray, grad, scope, sum, type Tensor } from '../../tensor/index.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';
import { scorePairs } from '../search/score-pairs.js';
import { type NodeRows, rowsOf } from '../top-nodes.js';
import { type EdgeIndex, edgeIndexOf } from '../views/edge-index.js';
import type { WeightedId } from './masked-reasons.js';
import { atOnce, type Pace } from './pace.js';
import type { AskedEdge } from './paths.js';

/** Facts that are compared: those of a hub are taken at equal distances. */
const mostFacts = 2000;
/** Facts whose gradients are computed at a time. */
const factsAtOnce = 250;

/** The rows and the decoder that scores come from. */
export interface ScoredBy {
  readonly decoder: EdgeDecoder;
  readonly rows: (ids: Int32Array) => Promise<NodeRows>;
}

export function scoredBy(run: OpenedGraphRun): ScoredBy {
  return { decoder: (run.model as LinkPredictionModel).decoder, rows: (ids) => rowsOf(run, ids) };
}

/** Returns the facts at the ends of an edge with their weights, the largest first. */
export async function influentialFacts(
  run: OpenedGraphRun,
  asked: AskedEdge,
  pace: Pace,
  by: ScoredBy = scoredBy(run),
): Promise<WeightedId[]> {
  const index = await edgeIndexOf(run);
  const facts = await factsAt(index, asked, pace);
  if (facts.length === 0) return [];
  const own = await gradientsOf(by, {
    src: Int32Array.of(asked.src),
    dst: Int32Array.of(asked.dst),
    relations: asked.relation === null ? null : Int32Array.of(asked.relation),
  });
  const weighted: WeightedId[] = [];
  for (let from = 0; from < facts.length; from += factsAtOnce) {
    await pace.step();
    weighted.push(...(await weightsOf(facts.slice(from, from + factsAtOnce), index, asked, own, by)));
  }
  return weighted.sort((a, b) => b.weight - a.weight || a.id - b.id);
}

async function weightsOf(
  facts: readonly number[],
  { columns: { src, dst, relations } }: EdgeIndex,
  asked: AskedEdge,
  own: EdgeGradients,
  by: ScoredBy,
): Promise<WeightedId[]> {
  const others = await gradientsOf(by, {
    src: Int32Array.from(facts, (edge) => src[edge]),
    dst: Int32Array.from(facts, (edge) => dst[edge]),
    relations: relations === null ? null : Int32Array.from(facts, (edge) => relations[edge]),
  });
  const { width } = own;
  const dot = (a: Float32Array, b: Float32Array, row: number): number => {
    let total = 0;
    for (let i = 0; i < width; i++) total += a[i] * b[row * width + i];
    return total;
  };
  return facts.map((edge, row) => {
    // A fact between both ends shares two rows.
    let weight = 0;
    if (src[edge] === asked.src) weight += dot(own.src, others.src, row);
    if (dst[edge] === asked.src) weight += dot(own.src, others.dst, row);
    if (src[edge] === asked.dst) weight += dot(own.dst, others.src, row);
    if (dst[edge] === asked.dst) weight += dot(own.dst, others.dst, row);
    return { id: edge, weight };
  });
}

/** Returns training edges at either end, without the edge itself, ascending; of many, some at equal distances. */
async function factsAt(index: EdgeIndex, asked: AskedEdge, pace: Pace): Promise<number[]> {
  const { src, dst, relations, splits } = index.columns;
  const facts: number[] = [];
  for (const node of new Set([asked.src, asked.dst]))
    for (const [i, edge] of index.edgesAt(node).entries()) {
      if (i % atOnce === 0) await pace.step();
      // Edges between both ends are found at the first.
      if (node !== asked.src && (src[edge] === asked.src || dst[edge] === asked.src)) continue;
      const isAsked =
        src[edge] === asked.src &&
        dst[edge] === asked.dst &&
        (asked.relation === null || relations?.[edge] === asked.relation);
      if ((splits === null || splits[edge] === 0) && !isAsked) facts.push(edge);
    }
  const all = Int32Array.from(facts).sort();
  if (all.length <= mostFacts) return [...all];
  return Array.from({ length: mostFacts }, (_, i) => all[Math.floor((i * all.length) / mostFacts)]);
}

interface EdgeGradients {
  /** Gradients of each edge's score by the rows of its ends. */
  readonly src: Float32Array;
  readonly dst: Float32Array;
  readonly width: number;
}

interface Edges {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array | null;
}

async function gradientsOf(
  { decoder, rows }: ScoredBy,
  { src, dst, relations }: Edges,
): Promise<EdgeGradients> {
  const [heads, tails] = [await rows(src), await rows(dst)];
  return scope(() => {
    const [from, to] = [tensorOf(heads), tensorOf(tails)];
    const scores = scorePairs(decoder, { src: from, dst: to, relations, rows: to });
    // Each score depends on its own rows alone, so the gradients of their sum are those of each.
    const found = grad(sum(scores), [from, to]);
    const valuesOf = (tensor: Tensor | null, { rows: like }: NodeRows): Float32Array =>
      tensor === null
        ? new Float32Array(like.length)
        : (tensor.contiguous().dataSync() as Float32Array).slice();
    return { src: valuesOf(found[0], heads), dst: valuesOf(found[1], tails), width: heads.width };
  });
}

function tensorOf({ rows, width }: NodeRows): Tensor {
  return fromTypedArray(rows.slice(), [rows.length / width, width]).setRequiresGrad();
}
