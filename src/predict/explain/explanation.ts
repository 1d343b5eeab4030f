/** Reasons of answers, by the users' names: what `explain` takes and returns; docs/explanations.md describes the methods. */

export interface ExplainOptions {
  /** Maximum number of reasons of each kind (default 10). Fidelity is that of so many reasons. */
  readonly k?: number;
  /**
   * For models with graph layers: learn masks of edges and features (`mask`, the default), or take one gradient times the
   * input (`gradient`), which is faster and coarser.
   */
  readonly method?: 'mask' | 'gradient';
  /** Steps in which a mask is learned, from each of three starts (default 100). */
  readonly steps?: number;
  /** For nodes: the class to explain. Default: that which the model predicts. */
  readonly class?: string;
  /** For links: the most edges of a path, at most 4 (default 2). */
  readonly length?: number;
  /** For events: past events of the two nodes that are left out in turn, the latest ones (default 40). */
  readonly events?: number;
  /** For models with graph layers: the most edges of a neighbourhood; a larger one is an error (default 100,000). */
  readonly maxEdges?: number;
  /**
   * Explain the same question by a model with random parameters too, and return the rank correlation of both lists of weights
   * (`sanity`): near 0 if the explanation depends on what the model has learned. Default false.
   */
  readonly randomize?: boolean;
  /** Seed of initial masks and of random parameters (default 1). */
  readonly seed?: number;
  /**
   * Called before each slice of about 10 ms of work, which begins when the promise resolves; a rejection ends the explanation.
   * Default: the event loop takes a turn.
   */
  readonly turn?: () => Promise<void>;
}

/** How much an answer depends on its explanation; `unit` is that of the two differences. */
export interface Fidelity {
  readonly unit: 'probability' | 'score';
  /** The loss of the answer without the reasons: large if they matter. */
  readonly plus: number;
  /** The loss of the answer with them alone: near 0 if they suffice. */
  readonly minus: number;
  /** Share of the known edges, facts or events that the explanation leaves out. */
  readonly sparsity: number;
}

/** The comparison with a model of random parameters. */
export interface Sanity {
  /**
   * Spearman's rank correlation of the weights; null with fewer than three of them, or if all are equal. Edges are compared with
   * those that as many layers follow: every model with graph layers depends most on the nearest edges.
   */
  readonly correlation: number | null;
  /** Number of weights that are compared. */
  readonly compared: number;
}

/** A known edge. */
export interface NamedEdge {
  readonly head: string;
  readonly relation?: string;
  readonly tail: string;
}

export interface WeightedEdge extends NamedEdge {
  readonly weight: number;
}

export interface WeightedFeature {
  readonly name: string;
  readonly weight: number;
}

/** How much a word of a text column adds to the score. */
export interface WeightedWord {
  readonly word: string;
  readonly column: string;
  readonly weight: number;
}

/** Why a node has its class. */
export interface NodeExplanation {
  readonly kind: 'node';
  readonly node: string;
  readonly class: string;
  readonly probability: number;
  readonly method: 'mask' | 'gradient';
  /** Edges that the class depends on, the most important first. */
  readonly edges: readonly WeightedEdge[];
  readonly features: readonly WeightedFeature[];
  readonly fidelity: Fidelity;
  readonly sanity?: Sanity;
}

/** A chain of known edges from the head to the tail; edges may be followed against their direction. */
export interface NamedPath {
  readonly edges: readonly NamedEdge[];
  /** Pairs connected by a path of the same relations that have the relation in question, and all such pairs, as counted. */
  readonly support: number;
  readonly pairs: number;
  /** Share of the former, drawn towards 0 where pairs are few. */
  readonly confidence: number;
}

/** Why an edge has its score. */
export interface LinkExplanation extends NamedEdge {
  readonly kind: 'link';
  readonly score: number;
  /** Only from calibrated models. */
  readonly probability?: number;
  /** `influence` for models that compare trained rows; masks or gradients for encoders that follow edges. */
  readonly method: 'influence' | 'mask' | 'gradient';
  /** Training edges that the score depends on, the most important first. */
  readonly facts: readonly WeightedEdge[];
  /** Short paths of training edges between the two nodes, the most trustworthy first. */
  readonly paths: readonly NamedPath[];
  /** Words of the head, where scores are sums over words. */
  readonly words?: readonly WeightedWord[];
  readonly fidelity: Fidelity;
  readonly sanity?: Sanity;
}

/** A past event and the score that the question loses without it. */
export interface WeightedEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
  readonly weight: number;
}

/** Why an event has its score. */
export interface EventExplanation {
  readonly kind: 'event';
  readonly head: string;
  readonly tail: string;
  readonly time: number;
  readonly score: number;
  /** `statistics`: these are counted again without the event; `neighbors`: it is not a neighbour, but memory keeps it. */
  readonly method: 'statistics' | 'neighbors';
  /** Past events of the two nodes, those that raise the score most first. */
  readonly events: readonly WeightedEvent[];
  readonly fidelity: Fidelity;
  readonly sanity?: Sanity;
}

export type Explanation = NodeExplanation | LinkExplanation | EventExplanation;
