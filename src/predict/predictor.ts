/**
 * A trained model opened for use: it answers by the users' names. Which questions a model answers depends on its task;
 * `answers` lists them, and any other throws an error that names it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metrics } from '../train/index.js';
import type { RunRecord, TaskKind } from '../train/run/run-record.js';
import { bestBaseline } from '../train/run/training-advice.js';
import type { Baseline } from '../train/task.js';
import { StateError } from '../util/errors.js';

/** A name of a node or a relation; a number stands for its decimal digits. */
export type Name = string | number;

/** Methods that a predictor may support. */
export type Ability = 'score' | 'rank' | 'neighbors' | 'classify' | 'embed' | 'append';

/** An edge, or an event at a time, by names. Graphs whose edges have no relation take none. */
export interface EdgeName {
  readonly head: Name;
  readonly tail: Name;
  readonly relation?: Name;
  /** For events: in the unit of the stream, or a date for a stream in seconds. Default: just after the last event. */
  readonly time?: number | Date;
}

/** A question for the missing endpoint. */
export interface RankQuestion {
  readonly head?: Name;
  readonly tail?: Name;
  readonly relation?: Name;
  readonly time?: number | Date;
}

export interface RankOptions {
  /** Maximum number of answers (default 10). */
  readonly k?: number;
  /** Include edges of the graph, marked as `known` (default false). */
  readonly includeKnown?: boolean;
  /**
   * `seen` (default): nodes that training edges have at that end of the relation, or in a dataset with node types all nodes
   * of these types. `all`: all nodes. A model of events always ranks the destinations of its stream.
   */
  readonly candidates?: 'seen' | 'all';
}

export interface NeighborOptions {
  /** Maximum number of answers (default 10). */
  readonly k?: number;
}

/** An answer with its score. */
export interface RankedName {
  readonly name: string;
  readonly score: number;
  /** Whether the edge is part of the graph; only with `includeKnown`. */
  readonly known?: boolean;
}

export interface ClassifiedName {
  readonly name: string;
  readonly class: string;
  /** Probability of each class, in the order of `classes`. */
  readonly probabilities: Float32Array;
}

/** An event by names. */
export interface NamedEvent {
  readonly head: Name;
  readonly tail: Name;
  /** In the unit of the stream, or a date for a stream in seconds. */
  readonly time: number | Date;
  /** Name of its type, in a stream whose events have types. Required only if the model uses types as features. */
  readonly type?: string;
  /** As many numbers as the events of the stream have. */
  readonly features?: readonly number[];
}

export interface Predictor {
  readonly kind: TaskKind;
  readonly answers: readonly Ability[];
  /** Classes in the order of their probabilities; empty unless the model classifies. */
  readonly classes: readonly string[];
  /** Metrics at the end of the run, by split, and of the best baseline on the test split (`baseline`); empty before. */
  readonly metrics: Readonly<Record<string, Metrics>>;
  /** Scores edges: scores of the decoder, or the logit of an event. */
  score(edges: readonly EdgeName[]): Promise<Float32Array>;
  /** Returns the most likely other endpoints of edges, for each question. */
  rank(questions: readonly RankQuestion[], options?: RankOptions): Promise<RankedName[][]>;
  /** Returns the nodes whose rows have the highest cosine similarity, for each name. */
  neighbors(names: readonly Name[], options?: NeighborOptions): Promise<RankedName[][]>;
  classify(names: readonly Name[]): Promise<ClassifiedName[]>;
  /** Returns the rows of nodes that the model compares. */
  embed(names: readonly Name[]): Promise<Float32Array[]>;
  /** Appends events to the stream; later answers take them into account. If one is invalid, none is appended. */
  append(events: readonly NamedEvent[]): Promise<void>;
  /** Releases the model. Further calls have no effect. */
  close(): Promise<void>;
}

/** Metrics of a finished run on both held-out splits. */
interface FinalMetrics {
  readonly metrics: {
    readonly validation: Metrics;
    readonly test: Metrics;
    /** The best result without learning on the test split, if one was evaluated; see docs/runs.md. */
    readonly baseline?: Metrics;
  };
}

/** A predictor that scores and ranks edges. */
export type LinkPredictor = Omit<Predictor, 'classify' | 'append' | 'classes' | 'metrics'> & FinalMetrics;

/** A predictor that classifies nodes. */
export type NodePredictor = Omit<Predictor, 'score' | 'rank' | 'append' | 'metrics'> & FinalMetrics;

/** A predictor that scores and ranks future events. */
export type EventStreamPredictor = Omit<
  Predictor,
  'classify' | 'classes' | 'neighbors' | 'embed' | 'metrics'
> &
  FinalMetrics;

const abilityTexts: Readonly<Record<Ability, string>> = {
  score: 'score edges',
  rank: 'rank the ends of edges',
  neighbors: 'find similar nodes',
  classify: 'classify nodes',
  embed: 'return rows of nodes',
  append: 'append events',
};

/** Throws on every question; a predictor of a task overrides some of the methods. */
export abstract class BasePredictor implements Predictor {
  abstract readonly kind: TaskKind;
  abstract readonly answers: readonly Ability[];
  readonly classes: readonly string[] = [];
  abstract readonly metrics: Readonly<Record<string, Metrics>>;

  #isClosed = false;

  /** Releases what the predictor holds; called once. */
  protected abstract release(): Promise<void>;

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.release();
  }

  /** Throws if the predictor has been closed. */
  protected checkOpen(ability: Ability): void {
    if (this.#isClosed)
      throw new StateError(`${ability}: expected an open model, got one that was closed. Call close() last.`);
  }

  async score(_edges: readonly EdgeName[]): Promise<Float32Array> {
    throw this.#unsupported('score');
  }

  async rank(_questions: readonly RankQuestion[], _options?: RankOptions): Promise<RankedName[][]> {
    throw this.#unsupported('rank');
  }

  async neighbors(_names: readonly Name[], _options?: NeighborOptions): Promise<RankedName[][]> {
    throw this.#unsupported('neighbors');
  }

  async classify(_names: readonly Name[]): Promise<ClassifiedName[]> {
    throw this.#unsupported('classify');
  }

  async embed(_names: readonly Name[]): Promise<Float32Array[]> {
    throw this.#unsupported('embed');
  }

  async append(_events: readonly NamedEvent[]): Promise<void> {
    throw this.#unsupported('append');
  }

  #unsupported(ability: Ability): StateError {
    return new StateError(
      `${ability}: expected a model that can ${abilityTexts[ability]}, got one of ${this.kind}. It answers ${this.answers.join(', ')}.`,
    );
  }
}

/**
 * Returns metrics by split: those of `done.json`, with the best baseline by the metric `headline`; before the end, the
 * validation of the checkpoint.
 */
export function readRunMetrics(
  { directory, record }: { readonly directory: string; readonly record: RunRecord },
  headline: string,
): Readonly<Record<string, Metrics>> {
  const path = join(directory, 'done.json');
  if (!existsSync(path)) return { validation: record.validation };
  const { validation, test, baselines } = JSON.parse(readFileSync(path, 'utf8')) as Outcome;
  const best = bestBaseline(baselines ?? [], headline, false);
  return { validation, test, ...(best === null ? {} : { baseline: best.metrics }) };
}

/** The fields of `done.json` that metrics are read from; runs of older versions have no baselines. */
interface Outcome {
  readonly validation: Metrics;
  readonly test: Metrics;
  readonly baselines?: readonly Baseline[];
}
