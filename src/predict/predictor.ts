/**
 * A trained model opened for use: it answers by the users' names. Which questions a model answers depends on its task;
 * `answers` lists them, and any other throws an error that names it. One question gets one answer, a list gets a list.
 */
import type { Metrics } from '../train/index.js';
import type { TaskKind } from '../train/run/run-record.js';
import type {
  EventExplanation,
  ExplainOptions,
  LinkExplanation,
  NodeExplanation,
} from './explain/explanation.js';

/** A name of a node or a relation; a number stands for its decimal digits. */
export type Name = string | number;

/** Methods that a predictor may support. */
export type Ability =
  | 'score'
  | 'rank'
  | 'neighbors'
  | 'classify'
  | 'embed'
  | 'recommend'
  | 'explain'
  | 'append';

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

/** Which events of a stream that lasts an answer sees. */
export interface ReadOptions {
  /**
   * `watermark` (default): released events. `latest`: also those that wait for the watermark, as if they were released now.
   * Only for a stream of `openStream`.
   */
  readonly read?: 'watermark' | 'latest';
}

export interface ScoreOptions extends ReadOptions {
  /** `score` (default): as the model compares edges. `probability`: between 0 and 1, from a calibrated model. */
  readonly unit?: 'score' | 'probability';
  /** The effect of an unknown name: `error` (default), or `skip`: the score of its edge is NaN. */
  readonly unknown?: 'error' | 'skip';
  /** Nodes that the model was not trained with; edges may have them as ends. */
  readonly newNodes?: NewNodes;
}

export interface RankOptions extends ReadOptions {
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

export interface RecommendOptions extends ReadOptions {
  /** Maximum number of answers (default 10). */
  readonly k?: number;
  /**
   * `seen`: leave out what the node already has an edge to, the default for links. `none`: leave out nothing, the default
   * for events, which can happen again.
   */
  readonly exclude?: 'seen' | 'none';
  /** The relation to recommend by; may be left out if the graph has only one. */
  readonly relation?: Name;
  /** For events: as the time of a question. */
  readonly time?: number | Date;
}

/** An answer with its score. */
export interface RankedName {
  readonly name: string;
  readonly score: number;
  /** Probability of the edge, where the model is calibrated. */
  readonly probability?: number;
  /** Whether the edge is part of the graph; only with `includeKnown`. */
  readonly known?: boolean;
}

export interface ClassifiedName {
  readonly name: string;
  readonly class: string;
  /** Probability of each class, in the order of `classes`. */
  readonly probabilities: Float32Array;
}

/** Nodes that were not in the training graph, in the form that `fitNodes` takes. */
export interface NewNodes {
  /** Name and all fields of each node, with the names of the training data; null is a missing value. Without a node table: `id` and `features`. */
  readonly nodes: readonly object[];
  /** Their edges, to the graph and to each other. */
  readonly edges?: readonly NewEdge[];
}

/** An edge of a new node. */
export type NewEdge =
  | readonly [source: Name, target: Name]
  | { readonly source: Name; readonly target: Name; readonly relation?: Name };

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

/**
 * Outcome of an event. `accepted`: part of the stream; `waiting`: earlier events may still come; `duplicate`: its id is
 * known; `late`: before the watermark, treated by the option `late`; `quarantined`: not applied, see `quarantine()`.
 */
export type EventOutcome = 'accepted' | 'waiting' | 'duplicate' | 'late' | 'quarantined';

/** The answer to `append`. */
export interface AppendResult {
  /** One for each event, in the order of the request. */
  readonly outcomes: readonly EventOutcome[];
  /** Names that the stream did not have before. */
  readonly newNodes: number;
}

export interface AppendOptions {
  /** Where events come from; each source has its own clock. Default `''`. */
  readonly source?: string;
  /** A request with a known id is answered as the first time and changes nothing. At most 128 bytes. */
  readonly requestId?: string;
}

export interface Predictor {
  readonly kind: TaskKind;
  readonly answers: readonly Ability[];
  /** Classes in the order of their probabilities; empty unless the model classifies. */
  readonly classes: readonly string[];
  /** Metrics at the end of the run, by split, and of the best baseline on the test split (`baseline`); empty before. */
  readonly metrics: Readonly<Record<string, Metrics>>;
  /** Whether scores can be turned into probabilities. */
  readonly calibrated: boolean;
  /** Scores an edge: the decoder's score of its tail as the answer to (head, relation), or the logit of an event. */
  score(edge: EdgeName, options?: ScoreOptions): Promise<number>;
  score(edges: readonly EdgeName[], options?: ScoreOptions): Promise<Float32Array>;
  /** Returns the most likely other endpoints of an edge, best first. */
  rank(question: RankQuestion, options?: RankOptions): Promise<RankedName[]>;
  rank(questions: readonly RankQuestion[], options?: RankOptions): Promise<RankedName[][]>;
  /** Returns the nodes whose rows have the highest cosine similarity. */
  neighbors(name: Name, options?: NeighborOptions): Promise<RankedName[]>;
  neighbors(names: readonly Name[], options?: NeighborOptions): Promise<RankedName[][]>;
  /** Returns the class of a node and the probabilities of all classes. */
  classify(name: Name): Promise<ClassifiedName>;
  classify(names: readonly Name[]): Promise<ClassifiedName[]>;
  /** Classifies nodes that the model was not trained with, from their features and edges. */
  classify(nodes: NewNodes): Promise<ClassifiedName[]>;
  /** Returns the row of a node that the model compares. */
  embed(name: Name): Promise<Float32Array>;
  embed(names: readonly Name[]): Promise<Float32Array[]>;
  /** Returns the best tails for a node, among what its relation can point at: items for a user, never users. */
  recommend(name: Name, options?: RecommendOptions): Promise<RankedName[]>;
  recommend(names: readonly Name[], options?: RecommendOptions): Promise<RankedName[][]>;
  /** Returns the edges and features that the class of a node depends on. */
  explain(node: Name, options?: ExplainOptions): Promise<NodeExplanation>;
  /** Returns the known edges, or the past events, that the score of an edge depends on. */
  explain(edge: EdgeName, options?: ExplainOptions): Promise<LinkExplanation | EventExplanation>;
  /** Appends events to the stream; later answers take them into account. If one is invalid, none is appended. */
  append(events: readonly NamedEvent[], options?: AppendOptions): Promise<AppendResult>;
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
export type LinkPredictor = Omit<Predictor, 'classify' | 'explain' | 'append' | 'classes' | 'metrics'> & {
  explain(edge: EdgeName, options?: ExplainOptions): Promise<LinkExplanation>;
} & FinalMetrics;

/** A predictor that classifies nodes. */
export type NodePredictor = Omit<
  Predictor,
  'score' | 'rank' | 'recommend' | 'explain' | 'append' | 'metrics'
> & {
  explain(node: Name, options?: ExplainOptions): Promise<NodeExplanation>;
} & FinalMetrics;

/** A predictor that scores and ranks future events. */
export type EventStreamPredictor = Omit<
  Predictor,
  'classify' | 'classes' | 'neighbors' | 'embed' | 'explain' | 'metrics'
> & {
  explain(edge: EdgeName, options?: ExplainOptions): Promise<EventExplanation>;
} & FinalMetrics;
