/**
 * A trained model opened for use: it answers by the names that users gave. Which of the questions a model answers depends on
 * its task; `answers` lists them, and any other is refused by name.
 */

import type { Metrics, TaskKind } from '../train/index.js';
import { StateError } from '../util/errors.js';

/** What a predictor may be asked. */
export type Ability = 'score' | 'rank' | 'neighbors' | 'classify' | 'embed' | 'append';

/** An edge, or an event at a time, by names. A graph whose edges have no relation takes none. */
export interface EdgeName {
  readonly head: string;
  readonly tail: string;
  readonly relation?: string;
  /** Of an event; default: just after the last one. */
  readonly time?: number;
}

/** Which end is asked for: the one that is not given. */
export interface RankQuestion {
  readonly head?: string;
  readonly tail?: string;
  readonly relation?: string;
  readonly time?: number;
}

export interface RankOptions {
  /** Answers at most (default 10). */
  readonly k?: number;
  /** Also give edges that are part of the graph, marked as `known` (default false). */
  readonly includeKnown?: boolean;
}

export interface NeighborOptions {
  /** Answers at most (default 10). */
  readonly k?: number;
}

/** Best first. */
export interface RankedName {
  readonly name: string;
  readonly score: number;
  /** Whether the edge is part of the graph; only with `includeKnown`. */
  readonly known?: boolean;
}

export interface ClassifiedName {
  readonly name: string;
  readonly class: string;
  /** Of each class, in the order of `classes`. */
  readonly probabilities: Float32Array;
}

/** An event by names. */
export interface NamedEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
  /** As many numbers as events of the stream have. */
  readonly features?: readonly number[];
}

export interface Predictor {
  readonly kind: TaskKind;
  readonly answers: readonly Ability[];
  /** Classes in the order of their probabilities; empty unless it classifies. */
  readonly classes: readonly string[];
  /** What the run measured at its end, by split; empty before. */
  readonly metrics: Readonly<Record<string, Metrics>>;
  /** How likely edges are: scores of the decoder, or of an event the logit. */
  score(edges: readonly EdgeName[]): Promise<Float32Array>;
  /** The likeliest other ends of edges, for each question. */
  rank(questions: readonly RankQuestion[], options?: RankOptions): Promise<RankedName[][]>;
  /** The nodes whose rows have the highest cosine, for each name. */
  neighbors(names: readonly string[], options?: NeighborOptions): Promise<RankedName[][]>;
  classify(names: readonly string[]): Promise<ClassifiedName[]>;
  /** Rows of nodes as the model compares them. */
  embed(names: readonly string[]): Promise<Float32Array[]>;
  /** Adds events to the stream; later answers know of them. Refused as a whole when one of them is wrong. */
  append(events: readonly NamedEvent[]): Promise<void>;
  close(): Promise<void>;
}

const whatFor: Readonly<Record<Ability, string>> = {
  score: 'score edges',
  rank: 'rank the ends of edges',
  neighbors: 'find similar nodes',
  classify: 'classify nodes',
  embed: 'give rows of nodes',
  append: 'take events',
};

/** Refuses every question; a predictor of a task answers some of them. */
export abstract class BasePredictor implements Predictor {
  abstract readonly kind: TaskKind;
  abstract readonly answers: readonly Ability[];
  readonly classes: readonly string[] = [];
  abstract readonly metrics: Readonly<Record<string, Metrics>>;

  abstract close(): Promise<void>;

  async score(_edges: readonly EdgeName[]): Promise<Float32Array> {
    throw this.#refusal('score');
  }

  async rank(_questions: readonly RankQuestion[], _options?: RankOptions): Promise<RankedName[][]> {
    throw this.#refusal('rank');
  }

  async neighbors(_names: readonly string[], _options?: NeighborOptions): Promise<RankedName[][]> {
    throw this.#refusal('neighbors');
  }

  async classify(_names: readonly string[]): Promise<ClassifiedName[]> {
    throw this.#refusal('classify');
  }

  async embed(_names: readonly string[]): Promise<Float32Array[]> {
    throw this.#refusal('embed');
  }

  async append(_events: readonly NamedEvent[]): Promise<void> {
    throw this.#refusal('append');
  }

  #refusal(ability: Ability): StateError {
    return new StateError(
      `${ability}: expected a model that can ${whatFor[ability]}, got one of ${this.kind}. It answers ${this.answers.join(', ')}.`,
    );
  }
}
