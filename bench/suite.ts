/**
 * What a benchmark suite is: a table of cases, each with our side as code and the peer's side by name. The sizes stand in
 * both, and both report figures of their results, so that only equal work is compared.
 */

/** Which limit of the machine bounds a case: arithmetic, moving memory in order, moving rows picked at random. */
export type LimitName = 'gemm' | 'copy' | 'rows';

/** One figure of a result; two sides agree when their values differ by at most tolerance · scale. */
export interface Check {
  readonly name: string;
  readonly value: number;
  readonly scale: number;
}

/** A case with its data in place. */
export interface Prepared {
  /** The work that is timed; a promise is waited for. */
  run(): void | Promise<void>;
  /** Figures of the results, read after exactly `checkedRuns` runs from fresh data. */
  check(): Check[];
}

export interface Case {
  readonly name: string;
  /** Arithmetic of one run; only where `limit` is 'gemm'. */
  readonly flops?: number;
  /** Least traffic of one run in bytes, read plus written: each input and each result once. */
  readonly bytes?: number;
  readonly limit: LimitName;
  /** Runs before the clock starts, where a loop is long and the engine compiles it as it goes. Default 1. */
  readonly warmUpRuns?: number;
  /** Allowed difference between the sides as a share of the figure's scale; 1e-4 unless said. */
  readonly tolerance?: number;
  /** Case in the suite's Python file; null where there is no counterpart. */
  readonly peer: string | null;
  /** What one run makes, for cases whose rate is counted in these rather than in bytes or operations. */
  readonly items?: { readonly count: number; readonly unit: string };
  /** Seconds rather than milliseconds a run: fewer repeats and rounds. */
  readonly long?: boolean;
  /** Threads, when the case fixes them. */
  readonly threads?: number;
  /** Name of the case with the same work of ours, where only the peer's differs: two trees are compared on one of them. */
  readonly sameAs?: string;
  /** Writes files that the peer reads; runs once, before the sides. */
  share?(folder: string): void | Promise<void>;
  /** Makes the data; not timed. */
  ours(): Prepared;
}

export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** How often both sides run before their results are compared: state such as an optimiser's has moved by then. */
export const checkedRuns = 3;

/** Where the peer finds what `share` wrote. */
export const sharedFolderVariable = 'SKEIN_BENCH_SHARED';
/** How few repeats are enough for the peer. */
export const leastRepeatsVariable = 'SKEIN_BENCH_REPEATS';
