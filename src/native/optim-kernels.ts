/**
 * The steps of optimisers, by PyTorch's formulas; part of the contract in `kernels.ts`, whose rules hold here too. Parameters
 * and optimiser state change in place.
 */
import type { FloatArray } from './types.js';

/** A parameter, its gradient and what all optimisers have. */
interface StepArguments {
  /** The parameter. */
  readonly p: FloatArray;
  /** Its gradient; in the row forms [n, width], a row for each of `ids`. */
  readonly g: FloatArray;
  /** Number of elements; in the row forms, of rows. */
  readonly n: number;
  /** Learning rate. */
  readonly lr: number;
  readonly weightDecay: number;
}

/** Row ids[i] of the parameter and of the optimiser state takes gradient row i. */
export interface RowStepArguments extends StepArguments {
  /** Rows of p and of the optimiser state; unique. */
  readonly ids: Int32Array;
  /** Elements per row. */
  readonly width: number;
}

interface Momentum {
  /** Momentum buffer, in the shape of p; null without momentum. */
  readonly buffer: FloatArray | null;
  readonly momentum: number;
}

interface AdamState {
  /** First moment, in the shape of p. */
  readonly m: FloatArray;
  /** Second moment, in the shape of p. */
  readonly v: FloatArray;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  /** Selects AdamW. */
  readonly decoupled: boolean;
  /** 1 − beta1^t in step t. */
  readonly c1: number;
  /** 1 − beta2^t in step t. */
  readonly c2: number;
}

export interface SgdStepArguments extends StepArguments, Momentum {
  readonly dampening: number;
  readonly nesterov: boolean;
  /** Whether the buffer is empty and takes the gradient as it is. */
  readonly first: boolean;
}

export interface AdamStepArguments extends StepArguments, AdamState {}

export interface SgdStepRowsArguments extends RowStepArguments, Momentum {}

export interface AdagradStepRowsArguments extends RowStepArguments {
  /** Sum of squared gradients, in the shape of p. */
  readonly sum: FloatArray;
  readonly eps: number;
}

export interface RowAdagradStepRowsArguments extends RowStepArguments {
  /** Sum of the mean squared gradients of each row. */
  readonly sum: FloatArray;
  readonly eps: number;
}

export interface AdamStepRowsArguments extends RowStepArguments, AdamState {}

export interface OptimKernels {
  sgdStep(args: SgdStepArguments): void;
  adagradStep(
    p: FloatArray,
    g: FloatArray,
    sum: FloatArray,
    n: number,
    lr: number,
    eps: number,
    weightDecay: number,
  ): void;
  adamStep(args: AdamStepArguments): void;
  /** Steps of single rows of an embedding table; other rows and their optimiser state stay as they are. */
  sgdStepRows(args: SgdStepRowsArguments): void;
  adagradStepRows(args: AdagradStepRowsArguments): void;
  /** d = g + weightDecay · p; sum[r] += mean of d² over the row; p −= lr · d / (√sum[r] + eps). */
  rowAdagradStepRows(args: RowAdagradStepRowsArguments): void;
  adamStepRows(args: AdamStepRowsArguments): void;
}
