/** Scores of edges: twins of the kernels in `native/kernels/score/score.h`, within tolerance. */
import type { Kernels } from '../kernels.js';
import { addGradient, scoreOf } from './score-pair.js';

export const scoreTwins = {
  complexProduct(a, b, out, rows, half, conjugate) {
    for (let i = 0; i < rows; i++) {
      for (let re = 2 * i * half; re < (2 * i + 1) * half; re++) {
        const im = re + half;
        const other = conjugate ? -b[im] : b[im];
        out[re] = a[re] * b[re] - a[im] * other;
        out[im] = a[re] * other + a[im] * b[re];
      }
    }
  },
  pairScores(op, a, b, out, pairs, width) {
    for (let i = 0; i < pairs; i++) out[i] = scoreOf(op, a, i * width, b, i * width, width);
  },
  pairScoresBackward({ op, gy, y, a, b, ga, gb, pairs, width }) {
    ga?.fill(0, 0, pairs * width);
    gb?.fill(0, 0, pairs * width);
    for (let i = 0; i < pairs; i++) {
      const at = i * width;
      addGradient(op, gy[i], y[i], a, at, b, at, ga, at, gb, at, width);
    }
  },
  chunkedScores({ op, query, rows, negatives, out, edges, width, chunks, n }) {
    const size = Math.ceil(edges / chunks);
    for (let i = 0; i < edges; i++) {
      const from = Math.floor(i / size) * n;
      for (let j = 0; j < n; j++)
        out[i * n + j] = scoreOf(op, query, i * width, rows, negatives[from + j] * width, width);
    }
  },
  chunkedScoresBackward(args) {
    const { op, gy, y, query, rows, negatives, gQuery, gRows, edges, width, rowCount, chunks, n } = args;
    const size = Math.ceil(edges / chunks);
    const total = new Float64Array(rowCount * width);
    const own = new Float64Array(width);
    for (let i = 0; i < edges; i++) {
      const from = Math.floor(i / size) * n;
      const at = i * width;
      own.fill(0);
      for (let j = 0; j < n; j++) {
        const row = negatives[from + j] * width;
        addGradient(op, gy[i * n + j], y[i * n + j], query, at, rows, row, own, 0, total, row, width);
      }
      gQuery?.set(own, at);
    }
    if (gRows !== null) for (let i = 0; i < total.length; i++) gRows[i] += total[i];
  },
  chunkedSoftmaxLoss(args) {
    const { query, target, rows, negatives, maskOffsets, maskPositions, loss, gQuery, gTarget } = args;
    const { gRows, edges, width, rowCount, chunks, n, scale } = args;
    const size = Math.ceil(edges / chunks);
    const dot = 0;
    const scores = new Float64Array(n);
    const own = new Float64Array(width);
    const others = new Float64Array(gRows === null ? 0 : rowCount * width);
    for (let i = 0; i < edges; i++) {
      const from = Math.floor(i / size) * n;
      const at = i * width;
      const positive = scoreOf(dot, query, at, target, at, width);
      for (let j = 0; j < n; j++)
        scores[j] = scoreOf(dot, query, at, rows, negatives[from + j] * width, width);
      if (maskOffsets !== null && maskPositions !== null)
        for (let k = maskOffsets[i]; k < maskOffsets[i + 1]; k++) scores[maskPositions[k]] = -Infinity;
      let top = positive;
      for (let j = 0; j < n; j++) top = scores[j] > top ? scores[j] : top;
      let rest = 0;
      for (let j = 0; j < n; j++) {
        scores[j] = Math.exp(scores[j] - top);
        rest += scores[j];
      }
      const sum = rest + Math.exp(positive - top);
      loss[i] = top - positive + Math.log(sum);
      if (gQuery === null || gTarget === null) continue;
      const g = (-scale * rest) / sum;
      for (let c = 0; c < width; c++) {
        own[c] = g * target[at + c];
        gTarget[at + c] = g * query[at + c];
      }
      for (let j = 0; j < n; j++) {
        const row = negatives[from + j] * width;
        const share = (scale * scores[j]) / sum;
        for (let c = 0; c < width; c++) own[c] += share * rows[row + c];
        if (gRows !== null) for (let c = 0; c < width; c++) others[row + c] += share * query[at + c];
      }
      gQuery.set(own, at);
    }
    if (gRows !== null) for (let i = 0; i < others.length; i++) gRows[i] += others[i];
  },
  rankTile(args) {
    const { op, query, positive, positiveIds, tile, first, filterOffsets, filterIds, greater } = args;
    const { equal, queries, width, count } = args;
    for (let q = 0; q < queries; q++) {
      const listed = new Set(
        filterOffsets === null ? [] : filterIds?.subarray(filterOffsets[q], filterOffsets[q + 1]),
      );
      for (let j = 0; j < count; j++) {
        if (first + j === positiveIds[q] || listed.has(first + j)) continue;
        const score = scoreOf(op, query, q * width, tile, j * width, width);
        if (!(score <= positive[q])) greater[q]++;
        else if (score === positive[q]) equal[q]++;
      }
    }
  },
} satisfies Partial<Kernels>;
