/**
 * One case of one operation: how to make its inputs and how to call it. The same table serves the comparison of native
 * and reference kernels, the finite-difference check of gradients, strided input and thread counts.
 */
import type { FloatDType, Tensor } from 'skein/tensor';

export interface Input {
  readonly shape: readonly number[];
  /** Values are uniform in [lo, hi), −1.5 … 1.5 unless given. */
  readonly lo?: number;
  readonly hi?: number;
  /** Keeps values at least this far from 0, where a function has a kink. */
  readonly away?: number;
  /** Distinct values in random order, for max, min and their gradients. */
  readonly distinct?: boolean;
  /** Not differentiated (targets, times). */
  readonly constant?: boolean;
}

export interface OpCase {
  /** Exported name of the operation; every operation has at least one case. */
  readonly op: string;
  readonly name: string;
  readonly inputs: readonly Input[];
  readonly run: (...tensors: Tensor[]) => Tensor;
  /** Set for operations without a gradient. */
  readonly forwardOnly?: true;
  /** Multiplies the tolerances, with the reason. */
  readonly loose?: readonly [factor: number, reason: string];
}

/** Lengths on the edges of vectors and blocks. */
export const edges = [0, 1, 7, 8, 9, 127, 128, 129] as const;

/** Relative to max(1, |expected|). Native f32 differs from the f64-accumulating twins by a few ulp per step. */
export const tolerance: Readonly<Record<FloatDType, number>> = { f32: 3e-5, f64: 1e-11 };

export function input(shape: readonly number[], options: Omit<Input, 'shape'> = {}): Input {
  return { shape, ...options };
}

export function makeCases(
  op: string,
  run: OpCase['run'],
  inputs: Readonly<Record<string, readonly Input[]>>,
  options: Pick<OpCase, 'forwardOnly' | 'loose'> = {},
): OpCase[] {
  return Object.entries(inputs).map(([name, list]) => ({ op, name, inputs: list, run, ...options }));
}
