/**
 * Short paths of training edges that support an edge, and how far each can be trusted: the share of the pairs connected by a path
 * of the same relations that have the edge's relation too. It is the confidence of a rule (Galárraga et al., AMIE, WWW 2013).
 */
import type { EdgeIndex } from '../views/edge-index.js';
import { atOnce, type Pace } from './pace.js';

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
/** Paths that are kept before the best of them are chosen, and more if more are asked for. */
const mostKept = 4096;
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
  const training = new TrainingEdges(index, asked, pace);
  const kinds = new Map<string, Confidence>();
  let found: SupportingPath[] = [];
  for (const steps of await training.paths(length)) {
    await pace.count();
    const kind = training.kindOf(steps);
    let known = kinds.get(kind);
    if (known === undefined) {
      if (kinds.size === mostKinds) continue;
      known = await training.confidence(steps);
      kinds.set(kind, known);
    }
    found.push({ steps, ...known });
    if (found.length >= mostKept + 2 * limit) found = best(found, limit);
  }
  return best(found, limit);
}

function best(found: SupportingPath[], limit: number): SupportingPath[] {
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
  readonly #asked: AskedEdge;
  readonly #pace: Pace;
  readonly #starts = new Map<string, readonly number[]>();

  constructor(index: EdgeIndex, asked: AskedEdge, pace: Pace) {
    this.#index = index;
    this.#asked = asked;
    this.#pace = pace;
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

  #isAsked(edge: number): boolean {
    const { columns } = this.#index;
    const { src, dst, relation } = this.#asked;
    return (
      columns.src[edge] === src &&
      columns.dst[edge] === dst &&
      (relation === null || columns.relations?.[edge] === relation)
    );
  }

  /** Finds simple paths between the ends of the edge, those of few steps first, within a budget. */
  async paths(length: number): Promise<(readonly PathStep[])[]> {
    const { src, dst } = this.#asked;
    const found: (readonly PathStep[])[] = [];
    let followed = 0;
    let fronts: readonly Front[] = [{ node: src, steps: [], visited: [src] }];
    for (let depth = 1; depth <= length; depth++) {
      const next: Front[] = [];
      for (const { node, steps, visited } of fronts)
        for (const { to, edge, forward } of this.#from(node)) {
          if (++followed > mostFollowed) return found;
          await this.#pace.count();
          if (visited.includes(to) || this.#isAsked(edge)) continue;
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
  async confidence(steps: readonly PathStep[]): Promise<Confidence> {
    const { src, dst } = this.#asked;
    const kinds = this.#kinds(steps);
    let [support, pairs] = [0, 0];
    for (const start of await this.#startsOf(kinds[0])) {
      await this.#pace.step();
      const ends = this.#ends(start, kinds);
      // The edge in question must not prove itself.
      if (start === src) ends.delete(dst);
      if (ends.size === 0) continue;
      pairs += ends.size;
      for (const end of await this.#tailsOf(start)) if (ends.has(end)) support++;
    }
    return { support, pairs, confidence: support / (pairs + doubt) };
  }

  /** Returns some nodes from which a step of a kind leads, spread over all of them. */
  async #startsOf({ relation, forward }: StepKind): Promise<readonly number[]> {
    const name = nameOf({ relation, forward });
    const known = this.#starts.get(name);
    if (known !== undefined) return known;
    const { columns, numNodes } = this.#index;
    const { src, dst, relations, splits } = columns;
    const leads = new Uint8Array(numNodes);
    let count = 0;
    for (let e = 0; e < src.length; e++) {
      if (e % atOnce === 0) await this.#pace.step();
      if ((splits !== null && splits[e] !== 0) || (relations?.[e] ?? 0) !== relation) continue;
      const node = forward ? src[e] : dst[e];
      if (leads[node] === 0) count++;
      leads[node] = 1;
    }
    const starts: number[] = [];
    const wanted = Math.min(count, mostStarts);
    for (let node = 0, passed = 0; starts.length < wanted; node++) {
      if (node % atOnce === 0) await this.#pace.step();
      if (leads[node] === 1 && passed++ === Math.floor((starts.length * count) / wanted)) starts.push(node);
    }
    this.#starts.set(name, starts);
    return starts;
  }

  /**
   * Returns the nodes that simple paths of a kind reach without the edge in question, or those along the first edges. One path
   * is followed to its end before the next, so that a hub on the way does not use up the budget before any end is reached.
   */
  #ends(start: number, kinds: readonly StepKind[]): Set<number> {
    const ends = new Set<number>();
    const visited = [start];
    let followed = 0;
    const follow = (node: number): void => {
      const kind = kinds[visited.length - 1];
      for (const { to, edge, relation, forward } of this.#from(node)) {
        if (++followed > mostFromStart) return;
        if (relation !== kind.relation || forward !== kind.forward) continue;
        if (visited.includes(to) || this.#isAsked(edge)) continue;
        if (visited.length === kinds.length) ends.add(to);
        else {
          visited.push(to);
          follow(to);
          visited.pop();
        }
      }
    };
    follow(start);
    return ends;
  }

  /** Returns the nodes that training edges of the relation in question lead to. */
  async #tailsOf(node: number): Promise<ReadonlySet<number>> {
    const { relation } = this.#asked;
    const tails = new Set<number>();
    for (const step of this.#from(node)) {
      await this.#pace.count();
      if (step.forward && (relation === null || step.relation === relation)) tails.add(step.to);
    }
    return tails;
  }
}

function nameOf({ relation, forward }: StepKind): string {
  return `${forward ? '+' : '-'}${relation}`;
}
