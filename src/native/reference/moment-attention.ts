/** Attention of nodes at many times: the twin of `native/kernels/attention/moment_attention.cpp`. */
import type { Kernels } from '../kernels.js';

export const momentAttentionTwins = {
  momentAttention(args) {
    const {
      fixed,
      mapped,
      mappedRows,
      eventRows,
      eventTimes,
      offsets,
      query,
      own,
      w,
      b,
      merge,
      cutoffs,
      times,
    } = args;
    const { y, numNodes, numTimes, fanout, heads, dimTime, hidden, scale, slope } = args;
    const cosines = new Float64Array(fanout * dimTime);
    const shares = new Float64Array(fanout * heads);
    const sums = new Float64Array(heads * dimTime);
    const row = new Float64Array(hidden);
    for (let node = 0; node < numNodes; node++) {
      for (let i = 0; i < numTimes; i++) {
        let end = offsets[node];
        while (end < offsets[node + 1] && eventRows[end] < cutoffs[i]) end++;
        const from = Math.max(offsets[node], end - fanout);
        const count = end - from;
        for (let p = 0; p < count; p++) {
          const span = Math.fround(times[i] - eventTimes[from + p]);
          for (let j = 0; j < dimTime; j++) cosines[p * dimTime + j] = Math.cos(span * w[j] + b[j]);
          for (let k = 0; k < heads; k++) {
            let raw = fixed[(from + p) * heads + k];
            const at = (node * heads + k) * dimTime;
            for (let j = 0; j < dimTime; j++) raw += query[at + j] * cosines[p * dimTime + j];
            shares[p * heads + k] = scale * (raw > 0 ? raw : slope * raw);
          }
        }
        for (let k = 0; k < heads; k++) softmax(shares, count, heads, k);
        sums.fill(0);
        for (let f = 0; f < hidden; f++) row[f] = own[node * hidden + f];
        for (let c = 0; c < count * heads; c++) {
          const [p, k] = [Math.floor(c / heads), c % heads];
          const at = (mappedRows[from + p] * heads + k) * hidden;
          for (let j = 0; j < dimTime; j++) sums[k * dimTime + j] += shares[c] * cosines[p * dimTime + j];
          for (let f = 0; f < hidden; f++) row[f] += shares[c] * mapped[at + f];
        }
        for (let c = 0; c < sums.length; c++)
          for (let f = 0; f < hidden; f++) row[f] += sums[c] * merge[c * hidden + f];
        for (let f = 0; f < hidden; f++) y[(node * numTimes + i) * hidden + f] = Math.max(0, row[f]);
      }
    }
  },
} satisfies Partial<Kernels>;

/** Softmax of the scores of head k [count, heads], in place. */
function softmax(scores: Float64Array, count: number, heads: number, k: number): void {
  let top = Number.NEGATIVE_INFINITY;
  for (let p = 0; p < count; p++) top = Math.max(top, scores[p * heads + k]);
  let total = 0;
  for (let p = 0; p < count; p++) total += scores[p * heads + k] = Math.exp(scores[p * heads + k] - top);
  for (let p = 0; p < count; p++) scores[p * heads + k] /= total;
}
