/**
 * The training edges at the ends of an edge that moved its score most, to first order: the gradient of the score by the row that
 * both edges share, times the step that training takes for the other edge (Pezeshkpour et al., NAACL 2019, without the Hessian).

 */

import { fromTypedArray, grad, scope, sum, type Tensor } from '../../tensor/index.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';
import { scorePairs } from '../search/score-pairs.js';
import { type NodeRows, rowsOf } from '../top-nodes.js';
import { type EdgeIndex, edgeIndexOf } from '../views/edge-index.js';
import type { AskedEdge } from './paths.js';

export interface InfluentialFact {
  readonly edge: number;
  /** The change of the score that one step of training on the edge makes, for a rate of 1. */
  readonly weight: number;
}

/** Edges that are compared: those of a hub are taken at equal distances. */
const mostFacts = 2000;

export async function influentialFacts(
  run: OpenedGraphRun,
  asked: AskedEdge,
  limit: number,
): Promise<InfluentialFact[]> {
  const index = await edgeIndexOf(run);
  const facts = factsAt(index, asked);
  if (facts.length === 0) return [];
  const { src, dst, relations } = index.columns;
  const own = await gradientsOf(run, {
    src: Int32Array.of(asked.src),
    dst: Int32Array.of(asked.dst),
    relations: asked.relation === null ? null : Int32Array.of(asked.relation),
  });
  const others = await gradientsOf(run, {
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
      // The rows that both edges have; an edge of both ends shares two.
      const shared = [
        ...(src[edge] === asked.src ? [dot(own.src, others.src, row)] : []),
        ...(dst[edge] === asked.src ? [dot(own.src, others.dst, row)] : []),
        ...(src[edge] === asked.dst ? [dot(own.dst, others.src, row)] : []),
        ...(dst[edge] === asked.dst ? [dot(own.dst, others.dst, row)] : []),
      ];
      // An edge of which the model is certain has no more to say.
      const residual = 1 / (1 + Math.exp(others.scores[row]));
      return { edge, weight: residual * shared.reduce((sum, value) => sum + value, 0) };
    })
    .sort((a, b) => b.weight - a.weight || a.edge - b.edge)
    .slice(0, limit);
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
  readonly scores: Float32Array;
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

async function gradientsOf(run: OpenedGraphRun, { src, dst, relations }: Edges): Promise<EdgeGradients> {
  const [heads, tails] = [await rowsOf(run, src), await rowsOf(run, dst)];
  const { decoder } = run.model as LinkPredictionModel;
  return scope(() => {
    const [from, to] = [tensorOf(heads), tensorOf(tails)];
    const scores = scorePairs(decoder, { src: from, dst: to, relations, rows: to });
    // Each score depends on its own rows alone, so the gradients of their sum are those of each.
    const found = grad(sum(scores), [from, to]);
    const valuesOf = (tensor: Tensor | null, like: Float32Array): Float32Array =>
      tensor === null
        ? new Float32Array(like.length)
        : (tensor.contiguous().dataSync().slice() as Float32Array);
    return {
      scores: scores.contiguous().dataSync().slice() as Float32Array,
      src: valuesOf(found[0], heads.rows),
      dst: valuesOf(found[1], tails.rows),
      width: heads.width,
    };
  });
}

function tensorOf({ rows, width }: NodeRows): Tensor {
  return fromTypedArray(rows.slice(), [rows.length / width, width]).setRequiresGrad();
}
