/** Softmax over the entries of each row: twins of `native/kernels/attention/edge_softmax.cpp`. */
import type { Kernels } from '../kernels.js';

export const edgeSoftmaxTwins = {
  edgeSoftmax(scores, offsets, out, rows, heads) {
    for (let r = 0; r < rows; r++) {
      const begin = offsets[r] * heads;
      const end = offsets[r + 1] * heads;
      for (let h = 0; h < heads; h++) {
        let top = -Infinity;
        let sum = 0;
        for (let i = begin + h; i < end; i += heads) if (scores[i] > top) top = scores[i];
        for (let i = begin + h; i < end; i += heads) sum += Math.exp(scores[i] - top);
        for (let i = begin + h; i < end; i += heads) out[i] = Math.exp(scores[i] - top) / sum;
      }
    }
  },
  edgeSoftmaxBackward(out, gout, offsets, gscores, rows, heads) {
    for (let r = 0; r < rows; r++) {
      const begin = offsets[r] * heads;
      const end = offsets[r + 1] * heads;
      for (let h = 0; h < heads; h++) {
        let dot = 0;
        for (let i = begin + h; i < end; i += heads) dot += out[i] * gout[i];
        for (let i = begin + h; i < end; i += heads) gscores[i] = out[i] * (gout[i] - dot);
      }
    }
  },
} satisfies Partial<Kernels>;
