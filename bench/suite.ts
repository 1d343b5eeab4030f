/**
 * A benchmark suite: a table of cases, each with our side as code and the peer's side by name. Both define the sizes
 * and report figures of their results, so that only equal work is compared.
 */

/** The limit of the machine that bounds a case: arithmetic, sequential memory traffic, or random rows. */
export type LimitName = 'gemm' | 'copy' | 'rows';

/** One figure of a result; two sides agree if their values differ by at most tolerance · scale. */
export interface Check {
  readonly name: string;
  readonly value: number;
  readonly scale: number;
}

/** A case with its data prepared. */
export interface Prepared {
  /** The timed work; a promise is awaited. */
  run(): void | Promise<void>;
  /** Figures of the results, read after exactly `checkedRuns` runs from fresh data. */
  check(): Check[];
}

export interface Case {
  readonly name: string;
  /** Arithmetic of one run; only if `limit` is 'gemm'. */
  readonly flops?: number;
  /** Minimum traffic of one run in bytes, read plus written: each input and each result once. */
  readonly bytes?: number;
  readonly limit: LimitName;
  /** Runs before the clock starts, for long loops that the engine compiles while they run (default 1). */
  readonly warmUpRuns?: number;
  /** Allowed difference between the sides as a fraction of the figure's scale (default 1e-4). */
  readonly tolerance?: number;
  /** Case in the suite's Python file; null if there is no counterpart. */
  readonly peer: string | null;
  /** Items that one run produces, for cases whose rate is counted in these rather than in bytes or operations. */
  readonly items?: { readonly count: number; readonly unit: string };
  /** Whether a run takes seconds rather than milliseconds: fewer repeats and rounds. */
  readonly long?: boolean;
  /** Threads, if the case fixes them. */
  readonly threads?: number;
  /** Name of the case with the same work of ours, if only the peer's differs: two trees are compared on one of them. */
  readonly sameAs?: string;
  /** Writes files that the peer reads; runs once, before the sides. */
  share?(folder: string): void | Promise<void>;
  /** Generates the data; not timed. */
  ours(): Prepared;
}

export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** Runs of both sides before their results are compared, so that state such as an optimiser's has changed. */
export const checkedRuns = 3;

/** Environment variable with the folder of the files that `share` wrote. */
export const sharedFolderVariable = 'SKEIN_BENCH_SHARED';
/** Environment variable with the minimum number of repeats of the peer. */
export const leastRepeatsVariable = 'SKEIN_BENCH_REPEATS';
