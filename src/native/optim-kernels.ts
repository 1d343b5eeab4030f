/**
 * The steps of optimisers, by PyTorch's formulas; part of the contract in `kernels.ts`, whose rules hold here too. Parameters
 * and state change in place.
 */
import type { FloatArray } from './types.js';

export interface OptimKernels {
  sgdStep(
    p: FloatArray,
    g: FloatArray,
    buffer: FloatArray | null,
    n: number,
    lr: number,
    momentum: number,
    dampening: number,
    weightDecay: number,
    nesterov: boolean,
    first: boolean,
  ): void;
  adagradStep(
    p: FloatArray,
    g: FloatArray,
    sum: FloatArray,
    n: number,
    lr: number,
    eps: number,
    weightDecay: number,
  ): void;
  /** `decoupled` selects AdamW; c1 = 1 − beta1^t, c2 = 1 − beta2^t. */
  adamStep(
    p: FloatArray,
    g: FloatArray,
    m: FloatArray,
    v: FloatArray,
    n: number,
    lr: number,
    beta1: number,
    beta2: number,
    eps: number,
    weightDecay: number,
    decoupled: boolean,
    c1: number,
    c2: number,
  ): void;
  /** Sparse-row forms: row ids[i] of p and of the state takes gradient row i; ids are unique. */
  sgdStepRows(
    p: FloatArray,
    ids: Int32Array,
    g: FloatArray,
    buffer: FloatArray | null,
    n: number,
    width: number,
    lr: number,
    momentum: number,
    weightDecay: number,
  ): void;
  adagradStepRows(
    p: FloatArray,
    ids: Int32Array,
    g: FloatArray,
    sum: FloatArray,
    n: number,
    width: number,
    lr: number,
    eps: number,
    weightDecay: number,
  ): void;
  adamStepRows(
    p: FloatArray,
    ids: Int32Array,
    g: FloatArray,
    m: FloatArray,
    v: FloatArray,
    n: number,
    width: number,
    lr: number,
    beta1: number,
    beta2: number,
    eps: number,
    weightDecay: number,
    decoupled: boolean,
    c1: number,
    c2: number,
  ): void;
}
