/**
 * Optimiser steps: twins of `native/kernels/optim.cpp`, after PyTorch's torch.optim. The row forms call the dense
 * formula on the part of every array that belongs to a row.
 */
import type { FloatArray } from '../types.js';

export function sgdStep(
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
): void {
  for (let i = 0; i < n; i++) {
    let d = g[i] + weightDecay * p[i];
    if (buffer !== null) {
      const mixed = first ? d : momentum * buffer[i] + (1 - dampening) * d;
      buffer[i] = mixed;
      d = nesterov ? d + momentum * mixed : mixed;
    }
    p[i] -= lr * d;
  }
}

export function adagradStep(
  p: FloatArray,
  g: FloatArray,
  sum: FloatArray,
  n: number,
  lr: number,
  eps: number,
  weightDecay: number,
): void {
  for (let i = 0; i < n; i++) {
    const d = g[i] + weightDecay * p[i];
    const total = sum[i] + d * d;
    sum[i] = total;
    p[i] -= (lr * d) / (Math.sqrt(total) + eps);
  }
}

export function adamStep(
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
): void {
  const shrink = decoupled ? 1 - lr * weightDecay : 1;
  const decay = decoupled ? 0 : weightDecay;
  const rootC2 = Math.sqrt(c2);
  const step = lr / c1;
  for (let i = 0; i < n; i++) {
    const old = p[i] * shrink;
    const d = g[i] + decay * old;
    const a = m[i] * beta1 + (1 - beta1) * d;
    const b = v[i] * beta2 + (1 - beta2) * d * d;
    m[i] = a;
    v[i] = b;
    p[i] = old - (step * a) / (Math.sqrt(b) / rootC2 + eps);
  }
}

export function sgdStepRows(
  p: FloatArray,
  ids: Int32Array,
  g: FloatArray,
  buffer: FloatArray | null,
  n: number,
  width: number,
  lr: number,
  momentum: number,
  weightDecay: number,
): void {
  for (let i = 0; i < n; i++) {
    const at = ids[i] * width;
    const state = buffer === null ? null : buffer.subarray(at);
    sgdStep(p.subarray(at), g.subarray(i * width), state, width, lr, momentum, 0, weightDecay, false, false);
  }
}

export function adagradStepRows(
  p: FloatArray,
  ids: Int32Array,
  g: FloatArray,
  sum: FloatArray,
  n: number,
  width: number,
  lr: number,
  eps: number,
  weightDecay: number,
): void {
  for (let i = 0; i < n; i++) {
    const at = ids[i] * width;
    adagradStep(p.subarray(at), g.subarray(i * width), sum.subarray(at), width, lr, eps, weightDecay);
  }
}

export function adamStepRows(
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
): void {
  for (let i = 0; i < n; i++) {
    const at = ids[i] * width;
    adamStep(
      p.subarray(at),
      g.subarray(i * width),
      m.subarray(at),
      v.subarray(at),
      width,
      lr,
      beta1,
      beta2,
      eps,
      weightDecay,
      decoupled,
      c1,
      c2,
    );
  }
}
