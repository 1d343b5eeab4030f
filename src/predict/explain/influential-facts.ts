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
import type { AskedEdge } from './paths.js';

/** Facts that are compared: those of a hub are taken at equal distances. */
const mostFacts = 2000;

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
  by: ScoredBy = scoredBy(run),
): Promise<WeightedId[]> {
  const index = await edgeIndexOf(run);
  const facts = factsAt(index, asked);
  if (facts.length === 0) return [];
  const { src, dst, relations } = index.columns;
  const own = await gradientsOf(by, {
    src: Int32Array.of(asked.src),
    dst: Int32Array.of(asked.dst),
    relations: asked.relation === null ? null : Int32Array.of(asked.relation),
  });
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
  return facts
    .map((edge, row) => {
      // A fact between both ends shares two rows.
      let weight = 0;
      if (src[edge] === asked.src) weight += dot(own.src, others.src, row);
      if (dst[edge] === asked.src) weight += dot(own.src, others.dst, row);
      if (src[edge] === asked.dst) weight += dot(own.dst, others.src, row);
      if (dst[edge] === asked.dst) weight += dot(own.dst, others.dst, row);
      return { id: edge, weight };
    })
    .sort((a, b) => b.weight - a.weight || a.id - b.id);
}

/** Returns training edges at either end, without the edge itself. */
function factsAt(index: EdgeIndex, { src, dst, relation }: AskedEdge): number[] {
  const { columns } = index;
  const all = new Set([...index.edgesAt(src), ...index.edgesAt(dst)]);
  const facts = [...all].filter(
    (edge) =>
      (columns.splits === null || columns.splits[edge] === 0) &&
      !(
        columns.src[edge] === src &&
        columns.dst[edge] === dst &&
        (relation === null || columns.relations?.[edge] === relation)
      ),
  );
  facts.sort((a, b) => a - b);
  if (facts.length <= mostFacts) return facts;
  return Array.from({ length: mostFacts }, (_, i) => facts[Math.floor((i * facts.length) / mostFacts)]);
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
