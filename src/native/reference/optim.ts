/**
 * Optimiser steps: twins of `native/kernels/optim/optim.cpp`, after PyTorch's torch.optim. The row forms apply the dense
 * formula to the row's slice of every array.
 */
import type { Kernels } from '../kernels.js';

export const optimTwins = {
  sgdStep({ p, g, buffer, n, lr, momentum, dampening, weightDecay, nesterov, first }) {
    for (let i = 0; i < n; i++) {
      let d = g[i] + weightDecay * p[i];
      if (buffer !== null) {
        const mixed = first ? d : momentum * buffer[i] + (1 - dampening) * d;
        buffer[i] = mixed;
        d = nesterov ? d + momentum * mixed : mixed;
      }
      p[i] -= lr * d;
    }
  },
  adagradStep(p, g, sum, n, lr, eps, weightDecay) {
    for (let i = 0; i < n; i++) {
      const d = g[i] + weightDecay * p[i];
      const total = sum[i] + d * d;
      sum[i] = total;
      p[i] -= (lr * d) / (Math.sqrt(total) + eps);
    }
  },
  adamStep({ p, g, m, v, n, lr, beta1, beta2, eps, weightDecay, decoupled, c1, c2 }) {
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
  },
  sgdStepRows(args) {
    const { p, ids, g, buffer, n, width } = args;
    for (let i = 0; i < n; i++) {
      const at = ids[i] * width;
      const row = { p: p.subarray(at), g: g.subarray(i * width), buffer: buffer?.subarray(at) ?? null };
      optimTwins.sgdStep({ ...args, ...row, n: width, dampening: 0, nesterov: false, first: false });
    }
  },
  adagradStepRows({ p, ids, g, sum, n, width, lr, eps, weightDecay }) {
    for (let i = 0; i < n; i++) {
      const at = ids[i] * width;
      const [row, gradient] = [p.subarray(at), g.subarray(i * width)];
      optimTwins.adagradStep(row, gradient, sum.subarray(at), width, lr, eps, weightDecay);
    }
  },
  rowAdagradStepRows({ p, ids, g, sum, n, width, lr, eps, weightDecay }) {
    for (let i = 0; i < n; i++) {
      const at = ids[i] * width;
      let squares = 0;
      for (let j = 0; j < width; j++) squares += (g[i * width + j] + weightDecay * p[at + j]) ** 2;
      sum[ids[i]] += squares / width;
      const rate = lr / (Math.sqrt(sum[ids[i]]) + eps);
      for (let j = 0; j < width; j++) p[at + j] -= rate * (g[i * width + j] + weightDecay * p[at + j]);
    }
  },
  adamStepRows(args) {
    const { p, ids, g, m, v, n, width } = args;
    for (let i = 0; i < n; i++) {
      const at = ids[i] * width;
      const row = { p: p.subarray(at), g: g.subarray(i * width), m: m.subarray(at), v: v.subarray(at) };
      optimTwins.adamStep({ ...args, ...row, n: width });
    }
  },
} satisfies Partial<Kernels>;
