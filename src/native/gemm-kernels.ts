/** Matrix products, row-major and contiguous; part of the contract in `kernels.ts`, whose rules hold here too. */
import type { FloatArray } from './types.js';

/** Sizes and modes of c[m, n] = (accumulate ? c : 0) + op(a) · op(b). */
interface ProductArguments {
  /** [m, k], or [k, m] with `transA`. */
  readonly a: FloatArray;
  /** [k, n], or [n, k] with `transB`. */
  readonly b: FloatArray;
  /** The result. */
  readonly c: FloatArray;
  /** Rows of c. */
  readonly m: number;
  /** Columns of c. */
  readonly n: number;
  /** Columns of op(a) and rows of op(b). */
  readonly k: number;
  /** Whether op(a) is the transpose of a. */
  readonly transA: boolean;
  /** Whether op(b) is the transpose of b. */
  readonly transB: boolean;
  /** Whether the product is added to c. */
  readonly accumulate: boolean;
}

export interface GemmArguments extends ProductArguments {
  /** [n], added to every row; null for none. */
  readonly bias: FloatArray | null;
}

export interface GemmBatchedArguments extends ProductArguments {
  /** Number of products, stored one after another in a, b and c. */
  readonly batch: number;
}

/** Two matrices with the same rows, a1[m, k1] and a2[m, k2], and the size of their joint product. */
interface PairArguments {
  readonly a1: FloatArray;
  /** Columns of a1. */
  readonly k1: number;
  readonly a2: FloatArray;
  /** Columns of a2. */
  readonly k2: number;
  /** Rows of the product. */
  readonly m: number;
  /** Columns of the product. */
  readonly n: number;
}

export interface GemmPairArguments extends PairArguments {
  /** Weights [n, k1] of a1. */
  readonly b1: FloatArray;
  /** Weights [n, k2] of a2. */
  readonly b2: FloatArray;
  /** [n]; null for none. */
  readonly bias: FloatArray | null;
  /** The result [m, n]. */
  readonly c: FloatArray;
  /** Whether negative results become 0. */
  readonly relu: boolean;
}

export interface GemmPairBackwardArguments extends PairArguments {
  /** Gradient [m, n] of the result. */
  readonly g: FloatArray;
  /** Result of the forward pass with relu; null without relu. */
  readonly y: FloatArray | null;
  /** Gradient of b1, overwritten. */
  readonly gb1: FloatArray;
  /** Gradient of b2, overwritten. */
  readonly gb2: FloatArray;
  /** Gradient of the bias, overwritten; null if it is not needed. */
  readonly gbias: FloatArray | null;
}

export interface GemmKernels {
  /**
   * c[m, n] = (accumulate ? c : 0) + bias[n] + op(a) · op(b). Row-invariant: a row of c depends on the row of a, on b and on
   * bias alone (when a is not transposed).
   */
  gemm(args: GemmArguments): void;
  /** c = (accumulate ? c : 0) + op(a) · op(b) for each of `batch` products. */
  gemmBatched(args: GemmBatchedArguments): void;
  /** c[m, n] = f(bias + a1[m, k1] · b1[n, k1]ᵀ + a2[m, k2] · b2[n, k2]ᵀ), f = relu or identity; row-invariant as gemm. */
  gemmPair(args: GemmPairArguments): void;
  /**
   * With h = g where y > 0 (everywhere if y is null), else 0: gb1 = hᵀ · a1, gb2 = hᵀ · a2, gbias = Σ rows of h. Meant for m
   * far above n and k, because it divides the rows among threads.
   */
  gemmPairBackward(args: GemmPairBackwardArguments): void;
}
