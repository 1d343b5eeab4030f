/** The twin of queryLoss: one query at a time, its scores and their gradient in double precision. */
import { philoxWords } from '../../util/philox.js';
import type { Kernels } from '../kernels.js';
import { queryKinds } from '../op-codes.js';
import type { FloatArray, RandomKey } from '../types.js';

/** One query: its lists, weights, and scores, which become their gradient. */
interface Row {
  readonly s: Float64Array;
  readonly answers: Int32Array;
  readonly known: Int32Array;
  readonly omega: number;
  readonly tau: number;
  readonly sigma: number;
  readonly offset: number;
}

export const queryLossTwins = {
  queryLoss(args) {
    const { kind, query, table, bias, answerOffsets, answers, knownOffsets, known } = args;
    const { omega, tau, sigma, offset, drop, key, loss, gQuery, gTable, gBias, queries, count, width } = args;
    const rows = table.slice(0, count * width);
    const factors = key === null ? null : factorsOf(key, drop, rows);
    multiply(rows, factors);
    const sumsOfRows = new Float64Array(gTable === null ? 0 : count * width);
    const sumsOfBias = new Float64Array(count);
    const s = new Float64Array(count);
    for (let i = 0; i < queries; i++) {
      const q = query.subarray(i * width, (i + 1) * width);
      scoresOf(q, rows, bias, s);
      const listOf = (offsets: Int32Array, ids: Int32Array): Int32Array =>
        ids.subarray(offsets[i], offsets[i + 1]);
      loss[i] = lossOf(kind, {
        s,
        answers: listOf(answerOffsets, answers),
        known: knownOffsets === null || known === null ? new Int32Array(0) : listOf(knownOffsets, known),
        omega: omega[i],
        tau: tau[i],
        sigma: sigma[i],
        offset,
      });
      if (gQuery !== null) addRows(s, rows, gQuery.subarray(i * width, (i + 1) * width));
      for (let j = 0; j < count; j++) {
        sumsOfBias[j] += s[j];
        for (let c = 0; gTable !== null && c < width; c++) sumsOfRows[j * width + c] += s[j] * q[c];
      }
    }
    gBias?.set(sumsOfBias);
    gTable?.set(sumsOfRows);
    if (gTable !== null) multiply(gTable, factors);
  },
} satisfies Partial<Kernels>;

/** Returns 0 or 1 / (1 − p) for each element, in its precision. */
function factorsOf(key: RandomKey, p: number, rows: FloatArray): FloatArray {
  const threshold = Math.round(p * 65536);
  const words = new Uint32Array(Math.ceil(rows.length / 2));
  philoxWords(key, 0, words.length, words);
  return rows.map((_, i) =>
    ((words[i >> 1] >>> (16 * (i & 1))) & 0xffff) < threshold ? 0 : 65536 / (65536 - threshold),
  );
}

function multiply(values: FloatArray, factors: FloatArray | null): void {
  if (factors === null) return;
  for (const [i, factor] of factors.entries()) values[i] = factor === 0 ? 0 : values[i] * factor;
}

function scoresOf(q: FloatArray, rows: FloatArray, bias: FloatArray | null, s: Float64Array): void {
  const width = q.length;
  for (let j = 0; j < s.length; j++) {
    let sum = bias === null ? 0 : bias[j];
    for (let c = 0; c < width; c++) sum += q[c] * rows[j * width + c];
    s[j] = sum;
  }
}

/** out = Σⱼ g[j] · rows[j]. */
function addRows(g: Float64Array, rows: FloatArray, out: FloatArray): void {
  const sums = new Float64Array(out.length);
  for (let j = 0; j < g.length; j++) {
    for (let c = 0; c < out.length; c++) sums[c] += g[j] * rows[j * out.length + c];
  }
  out.set(sums);
}

function lossOf(kind: number, row: Row): number {
  if (row.s.length === 0) return 0;
  switch (queryKinds[kind]) {
    case 'softmax':
      return softmax(row);
    case 'masked_softmax':
      return maskedSoftmax(row);
    case 'bce':
      return bce(row);
    default:
      return squares(row);
  }
}

function softmax({ s, answers, omega, tau, sigma }: Row): number {
  let loss = 0;
  for (const o of answers) loss -= tau * s[o];
  for (let j = 0; sigma !== 0 && j < s.length; j++) loss -= sigma * s[j];
  const lse = exponentials(s);
  for (let j = 0; j < s.length; j++) s[j] = omega * s[j] - sigma;
  for (const o of answers) s[o] -= tau;
  return loss + omega * lse;
}

function maskedSoftmax({ s, answers, known, omega, tau, sigma }: Row): number {
  const own = Array.from(answers, (o) => s[o]);
  const out = [...answers, ...known];
  for (const j of out) s[j] = -Infinity;
  let loss = 0;
  for (let j = 0; sigma !== 0 && j < s.length; j++) if (s[j] !== -Infinity) loss -= sigma * s[j];
  const lse = exponentials(s);
  const count = Math.max(1, answers.length);
  const weight = omega / count;
  const less = tau + sigma / count;
  let others = 0;
  for (const x of own) {
    loss += weight * softplus(lse - x) + (weight - less) * x;
    others += weight * sigmoid(lse - x);
  }
  for (let j = 0; j < s.length; j++) s[j] = others * s[j] - sigma;
  for (const j of out) s[j] = 0;
  for (const [k, o] of answers.entries()) s[o] += weight - less - weight * sigmoid(lse - own[k]);
  return loss;
}

function bce({ s, answers, omega, tau, sigma, offset }: Row): number {
  let loss = 0;
  for (const o of answers) loss -= tau * (s[o] + offset);
  for (let j = 0; j < s.length; j++) {
    const x = s[j] + offset;
    loss += omega * softplus(x) - (sigma === 0 ? 0 : sigma * x);
    s[j] = omega * sigmoid(x) - sigma;
  }
  for (const o of answers) s[o] -= tau;
  return loss;
}

function squares({ s, answers, omega, tau, sigma }: Row): number {
  let loss = 0;
  if (omega !== 0) for (const o of answers) s[o] -= tau / omega;
  for (let j = 0; j < s.length; j++) {
    const r = omega === 0 ? s[j] : s[j] - sigma / omega;
    loss += omega * r * r;
    s[j] = 2 * omega * r;
  }
  return loss;
}

/** Turns scores into their softmax, which is 0 where all are -Infinity; returns the log of the sum of exponentials. */
function exponentials(s: Float64Array): number {
  let top = -Infinity;
  for (const x of s) top = x > top ? x : top;
  if (top === -Infinity) top = 0;
  let sum = 0;
  for (let j = 0; j < s.length; j++) {
    s[j] = Math.exp(s[j] - top);
    sum += s[j];
  }
  for (let j = 0; sum !== 0 && j < s.length; j++) s[j] /= sum;
  return top + Math.log(sum);
}

function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

function sigmoid(x: number): number {
  const e = Math.exp(-Math.abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
