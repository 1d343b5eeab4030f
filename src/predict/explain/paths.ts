/**
 * Short paths of training edges that support an edge, and how far each can be trusted: the share of the pairs connected by a path
 * of the same relations that have the edge's relation too. It is the confidence of a rule (Galárraga et al., AMIE, WWW 2013).
 */
import type { EdgeIndex } from '../views/edge-index.js';
import type { Pace } from './pace.js';

/** A step along an edge. */
export interface PathStep {
  readonly edge: number;
  /** Whether the edge is followed from its source to its destination. */
  readonly forward: boolean;
}

interface Confidence {
  /** Pairs with such a path that have the relation, and all pairs with such a path, of those that were counted. */
  readonly support: number;
  readonly pairs: number;
  /** Support over pairs, drawn towards 0 where pairs are few. */
  readonly confidence: number;
}

export interface SupportingPath extends Confidence {
  readonly steps: readonly PathStep[];
}

export interface PathOptions {
  /** Maximum number of steps. */
  readonly length: number;
  /** Maximum number of paths. */
  readonly limit: number;
  readonly pace: Pace;
}

/** Edges that a search for paths follows, so that a hub does not make it take minutes. */
const mostFollowed = 200_000;
/** Kinds of paths whose confidence is counted, those of short paths first. */
const mostKinds = 200;
/** Nodes from which the confidence of a kind of path is counted, and edges that are followed from each. */
const mostStarts = 200;
const mostFromStart = 2000;
/** Pairs without the relation that every kind of path is assumed to have: one lucky pair proves nothing. */
const doubt = 5;

export interface AskedEdge {
  readonly src: number;
  readonly dst: number;
  /** Null if edges have none. */
  readonly relation: number | null;
}

/** Returns the paths from the source to the destination that support an edge most, without the edge itself. */
export async function supportingPaths(
  index: EdgeIndex,
  asked: AskedEdge,
  { length, limit, pace }: PathOptions,
): Promise<SupportingPath[]> {
  const training = new TrainingEdges(index);
  const kinds = new Map<string, Confidence>();
  const found: SupportingPath[] = [];
  for (const steps of training.paths(asked, length)) {
    const kind = training.kindOf(steps);
    let known = kinds.get(kind);
    if (known === undefined) {
      if (kinds.size === mostKinds) continue;
      await pace.step();
      known = training.confidence(steps, asked);
      kinds.set(kind, known);
    }
    found.push({ steps, ...known });
  }
  // Among equals the shorter path is the simpler reason.
  return found
    .sort((a, b) => b.confidence - a.confidence || a.steps.length - b.steps.length || order(a.steps, b.steps))
    .slice(0, limit);
}

function order(a: readonly PathStep[], b: readonly PathStep[]): number {
  for (const [i, { edge }] of a.entries()) if (edge !== b[i]?.edge) return edge - (b[i]?.edge ?? -1);
  return 0;
}

/** A relation and a direction. */
interface StepKind {
  readonly relation: number;
  readonly forward: boolean;
}

/** The end of a search so far. */
interface Front {
  readonly node: number;
  readonly steps: readonly PathStep[];
  readonly visited: readonly number[];
}

class TrainingEdges {
  readonly #index: EdgeIndex;
  readonly #starts = new Map<string, readonly number[]>();

  constructor(index: EdgeIndex) {
    this.#index = index;
  }

  /** Returns the steps that training edges allow from a node. */
  *#from(node: number): Generator<PathStep & { readonly to: number; readonly relation: number }> {
    const { src, dst, relations, splits } = this.#index.columns;
    for (const edge of this.#index.edgesAt(node)) {
      if (splits !== null && splits[edge] !== 0) continue;
      const relation = relations?.[edge] ?? 0;
      if (src[edge] === node) yield { edge, forward: true, to: dst[edge], relation };
      if (dst[edge] === node && src[edge] !== node) yield { edge, forward: false, to: src[edge], relation };
    }
  }

  /** Finds simple paths between the ends of an edge, those of few steps first, within a budget. */
  paths({ src, dst, relation }: AskedEdge, length: number): (readonly PathStep[])[] {
    const { columns } = this.#index;
    const isAsked = (edge: number): boolean =>
      columns.src[edge] === src &&
      columns.dst[edge] === dst &&
      (relation === null || columns.relations?.[edge] === relation);
    const found: (readonly PathStep[])[] = [];
    let followed = 0;
    let fronts: readonly Front[] = [{ node: src, steps: [], visited: [src] }];
    for (let depth = 1; depth <= length; depth++) {
      const next: Front[] = [];
      for (const { node, steps, visited } of fronts)
        for (const { to, edge, forward } of this.#from(node)) {
          if (++followed > mostFollowed) return found;
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
    return this.#kinds(steps).map(nameOf).join(' ');
  }

  #kinds(steps: readonly PathStep[]): StepKind[] {
    const { relations } = this.#index.columns;
    return steps.map(({ edge, forward }) => ({ relation: relations?.[edge] ?? 0, forward }));
  }

  /** Counts the pairs that a kind of path connects, and those that have the relation too. */
  confidence(steps: readonly PathStep[], { src: askedSrc, dst: askedDst, relation }: AskedEdge): Confidence {
    const kinds = this.#kinds(steps);
    let [support, pairs] = [0, 0];
    for (const start of this.#startsOf(kinds[0])) {
      const ends = this.#ends(start, kinds);
      if (ends.size === 0) continue;
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

  /** Returns some nodes from which a step of a kind leads, spread over all of them. */
  #startsOf({ relation, forward }: StepKind): readonly number[] {
    const name = nameOf({ relation, forward });
    const known = this.#starts.get(name);
    if (known !== undefined) return known;
    const { src, dst, relations, splits } = this.#index.columns;
    const distinct = new Set<number>();
    for (let e = 0; e < src.length; e++)
      if ((splits === null || splits[e] === 0) && (relations?.[e] ?? 0) === relation)
        distinct.add(forward ? src[e] : dst[e]);
    const all = [...distinct].sort((a, b) => a - b);
    const starts =
      all.length <= mostStarts
        ? all
        : Array.from({ length: mostStarts }, (_, i) => all[Math.floor((i * all.length) / mostStarts)]);
    this.#starts.set(name, starts);
    return starts;
  }

  /** Returns the nodes that paths of a kind reach, or those among the first edges. */
  #ends(start: number, kinds: readonly StepKind[]): ReadonlySet<number> {
    let followed = 0;
    let ends = new Set([start]);
    for (const kind of kinds) {
      const next = new Set<number>();
      for (const node of ends)
        for (const { to, relation, forward } of this.#from(node)) {
          if (++followed > mostFromStart) break;
          if (relation === kind.relation && forward === kind.forward) next.add(to);
        }
      ends = next;
    }
    return ends;
  }

  #tailsOf(node: number, relation: number | null): ReadonlySet<number> {
    const tails = new Set<number>();
    for (const step of this.#from(node))
      if (step.forward && (relation === null || step.relation === relation)) tails.add(step.to);
    return tails;
  }
}

function nameOf({ relation, forward }: StepKind): string {
  return `${forward ? '+' : '-'}${relation}`;
}
