/** Recurrent cells and time encoding: twins of `native/kernels/elementwise/cells.cpp` and `time_encode.cpp`. */
import type { Kernels } from '../kernels.js';

const sigmoid = (x: number): number => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

export const cellTwins = {
  gruCell(gi, gh, h, out, gates, batch, hidden) {
    for (let row = 0; row < batch; row++) {
      const at = row * hidden;
      for (let j = 0; j < hidden; j++) {
        const reset = 3 * at + j;
        const update = reset + hidden;
        const fresh = update + hidden;
        const r = sigmoid(gi[reset] + gh[reset]);
        const z = sigmoid(gi[update] + gh[update]);
        const n = Math.tanh(gi[fresh] + r * gh[fresh]);
        const kept = 4 * at + j;
        gates[kept] = r;
        gates[kept + hidden] = z;
        gates[kept + 2 * hidden] = n;
        gates[kept + 3 * hidden] = gh[fresh];
        out[at + j] = n + z * (h[at + j] - n);
      }
    }
  },
  gruCellBackward(gout, h, gates, dgi, dgh, dh, batch, hidden) {
    for (let row = 0; row < batch; row++) {
      const at = row * hidden;
      for (let j = 0; j < hidden; j++) {
        const kept = 4 * at + j;
        const r = gates[kept];
        const z = gates[kept + hidden];
        const n = gates[kept + 2 * hidden];
        const g = gout[at + j];
        const dn = g * (1 - z) * (1 - n * n);
        const dr = dn * gates[kept + 3 * hidden] * r * (1 - r);
        const dz = g * (h[at + j] - n) * z * (1 - z);
        const reset = 3 * at + j;
        const update = reset + hidden;
        const fresh = update + hidden;
        dgi[reset] = dr;
        dgi[update] = dz;
        dgi[fresh] = dn;
        dgh[reset] = dr;
        dgh[update] = dz;
        dgh[fresh] = dn * r;
        if (dh !== null) dh[at + j] = g * z;
      }
    }
  },
  rnnCell(gi, gh, out, n, relu) {
    if (relu) {
      for (let i = 0; i < n; i++) {
        const sum = gi[i] + gh[i];
        out[i] = sum < 0 ? 0 : sum;
      }
    } else {
      for (let i = 0; i < n; i++) out[i] = Math.tanh(gi[i] + gh[i]);
    }
  },
  rnnCellBackward(gout, out, g, n, relu) {
    if (relu) {
      for (let i = 0; i < n; i++) g[i] = out[i] > 0 ? gout[i] : 0;
    } else {
      for (let i = 0; i < n; i++) g[i] = gout[i] * (1 - out[i] * out[i]);
    }
  },
  timeEncode(t, w, b, y, n, d) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < d; j++) y[i * d + j] = Math.cos(t[i] * w[j] + b[j]);
    }
  },
  timeEncodeBackward({ t, w, b, gy, gt, gw, gb, n, d }) {
    const sumW = new Float64Array(d);
    const sumB = new Float64Array(d);
    for (let i = 0; i < n; i++) {
      let sumT = 0;
      for (let j = 0; j < d; j++) {
        const slope = -Math.sin(t[i] * w[j] + b[j]) * gy[i * d + j];
        sumW[j] += slope * t[i];
        sumB[j] += slope;
        sumT += slope * w[j];
      }
      if (gt !== null) gt[i] = sumT;
    }
    gw.set(sumW.subarray(0, d));
    gb.set(sumB.subarray(0, d));
  },
} satisfies Partial<Kernels>;
