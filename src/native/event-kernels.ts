/**
 * The kernel of running statistics of events; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Integers are the same in C++ and TypeScript; floats differ by rounding, since logarithms and powers do. Partners are
 * stored as node + 1, pairs and slots as index + 1, so that an array of zeros is an empty store.
 */

/** How the arrays of `eventStatistics` are laid out. */
export const eventLayout = {
  /** Per node and side: events, distinct partners, run, repeats, last event, newest pair, related start and size, partners. */
  nodeInts: 26,
  /** Per node and side: 5 fading counts, novelty of partners, share of new pairs, logarithm of the gap. */
  nodeValues: 8,
  /** Per pair: source, destination, count, events of either end at the last meeting, visits, the pair before it. */
  pairInts: 7,
  /** Per pair: 3 fading counts, logarithm of the gap. */
  pairValues: 4,
  /** Per entry: partners in common, times it came next, times it came before. */
  relations: 3,
  /** Entries per row of related nodes. */
  mostRelated: 128,
  /** Entries that must be free for one more event. */
  relatedSlack: 6400,
  /** Position of the newest pair in the integers of a node, and of the older pair in those of a pair. */
  newestPair: 5,
  olderPair: 6,
  /** Position and number of the last distinct partners in the integers of a node. */
  recent: 8,
  numRecent: 10,
  halfLives: 5,
} as const;

/** The numbers of a pair by group, in order: where each begins. */
export const pairNumbers = {
  pair: 0,
  destination: 23,
  related: 40,
  source: 49,
  product: 62,
  reverse: 67,
  all: 93,
} as const;

export interface EventStatisticsArguments {
  /** [2·numNodes, nodeInts], a node as a source, then as a destination; like all of the store, read and written. */
  readonly nodeInts: Int32Array;
  /** Time of the last event by node and side. */
  readonly nodeTimes: Float64Array;
  readonly nodeValues: Float32Array;
  readonly pairInts: Int32Array;
  /** Time of the last meeting. */
  readonly pairTimes: Float64Array;
  readonly pairValues: Float32Array;
  /** Open addressing: the pair, + 1, or 0. */
  readonly pairSlots: Int32Array;
  /** Related nodes of all rows; a row is a block of 4, 8, … or `mostRelated` entries. */
  readonly relatedIds: Int32Array;
  readonly relatedCounts: Float32Array;
  /** Events, pairs and entries in use. */
  readonly totals: Int32Array;
  /** Zeros [2·numNodes], before the call and after it. */
  readonly slots: Int32Array;
  readonly numNodes: number;
  /** Pairs that the arrays have room for. */
  readonly pairRoom: number;
  /** Length of pairSlots, a power of two. */
  readonly slotCount: number;
  readonly relatedRoom: number;
  /** 1 / unit of ages, then 1 / half-life of the fading counts, the shortest first. */
  readonly clock: Float64Array;
  /** Sources of the events to observe. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Ascending, and not before those of earlier calls. */
  readonly times: Float64Array;
  readonly numEvents: number;
  readonly querySrc: Int32Array;
  readonly queryTimes: Float64Array;
  /** Events of the call that a query sees, ascending. */
  readonly queryBefore: Int32Array;
  /** Boundaries of the queries' candidates. */
  readonly offsets: Int32Array;
  readonly candidates: Int32Array;
  readonly numQueries: number;
  /** Subtracted from each number. */
  readonly shift: Float32Array;
  /** Multiplies each difference, before it is limited to ±6; 0 removes a number. */
  readonly scale: Float32Array;
  /** The numbers of every candidate [·, width], written. */
  readonly out: Float32Array;
  /** `pairNumbers.reverse`, or `pairNumbers.all` with those of the opposite direction. */
  readonly width: number;
}

/** Numbers of a pair of `pairFeatures`. */
export const pairFeatureWidth = 22;

export interface PairFeaturesArguments {
  /** The lists of a stream, as `TemporalGraph.moment` returns them. */
  readonly starts: Int32Array;
  readonly neighbors: Int32Array;
  readonly rows: Int32Array;
  readonly time: Float64Array;
  /** Events of the stream. */
  readonly limit: number;
  readonly src: Int32Array;
  readonly times: Float64Array;
  /** A query sees the events in rows below its cutoff. */
  readonly cutoffs: Int32Array;
  readonly numQueries: number;
  /** Destinations of all queries [numDst]; with perQuery 1, of each query [numDst, numQueries]. */
  readonly dst: Int32Array;
  readonly numDst: number;
  /** 0 or 1. */
  readonly perQuery: number;
  /** Latest events of either node that are searched for the other. */
  readonly depth: number;
  /** The result [numDst, numQueries, pairFeatureWidth]. */
  readonly out: Float32Array;
}

export interface EventKernels {
  /**
   * Observes events in order, and describes the candidates of queries by the events before them. Returns the number of events
   * that were observed, less than numEvents where the store has no room for the next; queries up to that event are answered.
   */
  eventStatistics(args: EventStatisticsArguments): number;
  /**
   * For the source of a query and each destination, then the other way round: whether they met among the latest `depth` events,
   * ⅒ log(1 + how long ago), log(1 + how often), the share of these events, 1 / (events since); then ⅒ log(1 + age) of the 1st,
   * 4th, 16th and 64th latest event (2 without one), whether there is none, and ⅒ log(1 + number of events).
   */
  pairFeatures(args: PairFeaturesArguments): void;
}
