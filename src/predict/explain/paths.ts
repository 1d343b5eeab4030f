/**
 * Short paths of training edges that support an edge, and how far each can be trusted: the share of the pairs connected by a path
 * of the same relations that have the edge's relation too. It is the confidence of a rule (Galárraga et al., AMIE, WWW 2013).
 */
import { type EdgeIndex, edgeSplits } from '../views/edge-index.js';

/** A step along an edge. */
export interface PathStep {
  readonly edge: number;
  /** Whether the edge is followed from its source to its destination. */
  readonly forward: boolean;
}

export interface SupportingPath {
  readonly steps: readonly PathStep[];
  /** Pairs with such a path that have the relation, and all pairs with such a path, of those that were looked at. */
  readonly support: number;
  readonly pairs: number;
  /** Support over pairs, drawn towards 0 where pairs are few. */
  readonly confidence: number;
}

export interface PathOptions {
  /** Maximum number of steps. */
  readonly length: number;
  /** Maximum number of paths. */
  readonly limit: number;
}

/** Edges that a search follows: a hub must not make it take minutes. */
const mostFollowed = 200_000;
/** Nodes from which the confidence of a kind of path is counted. */
const mostStarts = 200;
/** Pairs without the relation that every kind of path is assumed to have: one lucky pair proves nothing. */
const doubt = 5;

export interface AskedEdge {
  readonly src: number;
  readonly dst: number;
  readonly relation: number | null;
}

/** Returns the paths from the source to the destination that support an edge most, without the edge itself. */
export function supportingPaths(
  index: EdgeIndex,
  asked: AskedEdge,
  { length, limit }: PathOptions,
): SupportingPath[] {
  const training = new TrainingEdges(index);
  const kinds = new Map<
    string,
    { readonly support: number; readonly pairs: number; readonly confidence: number }
  >();
  const found = training.paths(asked, length).map((steps) => {
    const kind = training.kindOf(steps);
    const known = kinds.get(kind) ?? training.confidence(steps, asked);
    kinds.set(kind, known);
    return { steps, ...known };
  });
  // Among equals the shorter path is the simpler reason.
  return found
    .sort((a, b) => b.confidence - a.confidence || a.steps.length - b.steps.length || order(a.steps, b.steps))
    .slice(0, limit);
}

function order(a: readonly PathStep[], b: readonly PathStep[]): number {
  for (const [i, { edge }] of a.entries()) if (edge !== b[i]?.edge) return edge - (b[i]?.edge ?? -1);
  return 0;
}

class TrainingEdges {
  readonly #index: EdgeIndex;

  constructor(index: EdgeIndex) {
    this.#index = index;
  }

  /** Returns the steps that training edges allow from a node. */
  *#from(node: number): Generator<PathStep & { readonly to: number; readonly relation: number }> {
    const { src, dst, relations, splits } = this.#index.columns;
    for (const edge of this.#index.edgesAt(node)) {
      if (splits !== null && edgeSplits[splits[edge]] !== 'train') continue;
      const relation = relations?.[edge] ?? 0;
      if (src[edge] === node) yield { edge, forward: true, to: dst[edge], relation };
      if (dst[edge] === node && src[edge] !== node) yield { edge, forward: false, to: src[edge], relation };
    }
  }

  /** Finds simple paths between the ends of an edge, those of few steps first, within a budget. */
  paths({ src, dst, relation }: AskedEdge, length: number): PathStep[][] {
    const { columns } = this.#index;
    const isAsked = (edge: number): boolean =>
      columns.src[edge] === src &&
      columns.dst[edge] === dst &&
      (relation === null || columns.relations?.[edge] === relation);
    const found: PathStep[][] = [];
    let followed = 0;
    let fronts: { readonly node: number; readonly steps: PathStep[]; readonly visited: readonly number[] }[] =
      [{ node: src, steps: [], visited: [src] }];
    for (let depth = 1; depth <= length && followed < mostFollowed; depth++) {
      const next: typeof fronts = [];
      for (const { node, steps, visited } of fronts)
        for (const { to, edge, forward } of this.#from(node)) {
          if (++followed > mostFollowed) break;
          if (visited.includes(to) || isAsked(edge)) continue;
          const path = [...steps, { edge, forward }];
          if (to === dst) found.push(path);
          else if (depth < length) next.push({ node: to, steps: path, visited: [...visited, to] });
        }
      fronts = next;
    }
    return found;
  }

  /** Names the relations and directions of a path. */
  kindOf(steps: readonly PathStep[]): string {
    const { relations } = this.#index.columns;
    return steps.map(({ edge, forward }) => `${forward ? '+' : '-'}${relations?.[edge] ?? 0}`).join(' ');
  }

  /** Counts the pairs that a kind of path connects, and those that have the relation too. */
  confidence(steps: readonly PathStep[], { src: askedSrc, dst: askedDst, relation }: AskedEdge) {
    const { columns } = this.#index;
    const kinds = steps.map(({ edge, forward }) => ({ relation: columns.relations?.[edge] ?? 0, forward }));
    let [support, pairs] = [0, 0];
    for (const start of this.#startsOf(kinds[0])) {
      let ends = new Set([start]);
      for (const kind of kinds) ends = this.#step(ends, kind);
      const tails = this.#tailsOf(start, relation);
      for (const end of ends) {
        // The edge in question must not prove itself.
        if (end === start || (start === askedSrc && end === askedDst)) continue;
        pairs++;
        if (tails.has(end)) support++;
      }
    }
    return { support, pairs, confidence: support / (pairs + doubt) };
  }

  /** Returns some nodes from which a step of a kind leads on, spread over all of them. */
  #startsOf({ relation, forward }: { readonly relation: number; readonly forward: boolean }): number[] {
    const { src, dst, relations, splits } = this.#index.columns;
    const starts = new Set<number>();
    for (let e = 0; e < src.length; e++)
      if ((splits === null || splits[e] === 0) && (relations?.[e] ?? 0) === relation)
        starts.add(forward ? src[e] : dst[e]);
    const all = [...starts].sort((a, b) => a - b);
    if (all.length <= mostStarts) return all;
    return Array.from({ length: mostStarts }, (_, i) => all[Math.floor((i * all.length) / mostStarts)]);
  }

  #step(
    nodes: ReadonlySet<number>,
    kind: { readonly relation: number; readonly forward: boolean },
  ): Set<number> {
    const ends = new Set<number>();
    for (const node of nodes)
      for (const { to, relation, forward } of this.#from(node))
        if (relation === kind.relation && forward === kind.forward) ends.add(to);
    return ends;
  }

  #tailsOf(node: number, relation: number | null): ReadonlySet<number> {
    const tails = new Set<number>();
    for (const step of this.#from(node))
      if (step.forward && (relation === null || step.relation === relation)) tails.add(step.to);
    return tails;
  }
}
