/** Merges results over disjoint sets of edges: twins of `native/kernels/sparse/merge_parts.cpp`. */
import type { Kernels } from '../kernels.js';

export const mergeTwins = {
  mergeExtreme(max, y, arg, part, argPart, rows, count, width) {
    for (let i = 0; i < count; i++) {
      const at = (rows === null ? i : rows[i]) * width;
      for (let f = 0; f < width; f++) {
        const value = part[i * width + f];
        const position = argPart[i * width + f];
        const best = y[at + f];
        const before = arg[at + f];
        const better = max ? value > best : value < best;
        const [nan, bestNan] = [Number.isNaN(value), Number.isNaN(best)];
        // Two NaNs tie as two equal numbers do.
        const tie = value === best || (nan && bestNan);
        const wins = before < 0 || better || (nan && !bestNan) || (tie && position < before);
        if (!wins) continue;
        y[at + f] = value;
        arg[at + f] = position;
      }
    }
  },
  mergeAttention(y, lse, part, lsePart, rows, count, heads, width) {
    for (let i = 0; i < count; i++) {
      const row = rows === null ? i : rows[i];
      for (let h = 0; h < heads; h++) {
        const a = lse[row * heads + h];
        const b = lsePart[i * heads + h];
        const top = Math.max(a, b);
        const ea = Math.exp(a - top);
        const eb = Math.exp(b - top);
        lse[row * heads + h] = top + Math.log(ea + eb);
        const wa = ea / (ea + eb);
        const wb = eb / (ea + eb);
        const to = (row * heads + h) * width;
        const from = (i * heads + h) * width;
        for (let d = 0; d < width; d++) y[to + d] = wa * y[to + d] + wb * part[from + d];
      }
    }
  },
} satisfies Partial<Kernels>;
