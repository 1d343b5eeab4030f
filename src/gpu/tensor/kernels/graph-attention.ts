/**
 * Attention with additive scores, in passes that each touch at most eight arrays: scores, their softmax, the weighted
 * sum. No array per edge and feature is stored. Formulas are those of `native/reference/graph-attention.ts`; the
 * dropout mask is the same as on the CPU.
 */
import type { Kernels, RandomKey } from '../../../native/index.js';
import { philoxFunctions } from '../../wgsl/philox.js';
import type { Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { tensorProgram } from '../tensor-program.js';
import { softmaxStats } from './graph-softmax.js';
import { sumRows } from './graph-spmm.js';
import { offsetsOn, rowOfEntry } from './sparse-rows.js';

const maskParams = [
  ...['key0 u32', 'key1 u32', 'key2 u32', 'key3 u32', 'drops u32', 'least u32', 'scale f32', 'has_ids u32'],
];

/**
 * WGSL: the factor of number i = e · heads + h. drops: 0 none, 1 by random words below `least`, 2 all.
 * Random words are indexed by edge ids, or by entries.
 */
const maskOf = /* wgsl */ `
${philoxFunctions}
fn maskOf(i: u32) -> f32 {
  if (p.drops == 0u) { return 1.0; }
  if (p.drops == 2u) { return 0.0; }
  let e = i / p.heads;
  var id = i32(e);
  if (p.has_ids != 0u) { id = ids[p.ids_at + e]; }
  let word = rowWord(vec4<u32>(p.key0, p.key1, p.key2, p.key3), id, p.heads, i % p.heads);
  return select(p.scale, 0.0, word < p.least);
}
`;

function maskValues(key: RandomKey | null, drop: number, ids: Int32Array | null): (number | boolean)[] {
  if (key === null) return [0, 0, 0, 0, 0, 0, 1, false];
  if (drop >= 1) return [...key, 2, 0, 0, false];
  return [...key, 1, Math.ceil(drop * 2 ** 32), 1 / (1 - drop), ids !== null];
}

/** WGSL: el + er + ee of entry i = e · heads + h. */
const sumOfScores = /* wgsl */ `
${rowOfEntry}
fn sumOf(i: u32, r: u32) -> f32 {
  let e = i / p.heads;
  let h = i % p.heads;
  var sum = el[p.el_at + u32(indices[p.indices_at + e]) * p.heads + h] + er[p.er_at + r * p.heads + h];
  if (p.has_edge != 0u) { sum += ee[p.ee_at + i]; }
  return sum;
}
`;

const ends = ['read f32 el', 'read f32 er', 'read f32 ee', 'read i32 offsets', 'read i32 indices'];

const scores = tensorProgram({
  name: 'gatScores',
  arrays: [...ends, 'write f32 scores'],
  params: ['n u32', 'rows u32', 'heads u32', 'has_edge u32', 'slope f32'],
  helpers: sumOfScores,
  body: /* wgsl */ `
  let sum = sumOf(i, rowOf(i / p.heads));
  scores[p.scores_at + i] = select(p.slope * sum, sum, sum > 0.0);`,
});

/** Turns scores into weights, in place. */
const weights = tensorProgram({
  name: 'gatWeights',
  arrays: ['read f32 stats', 'read i32 offsets', 'read i32 ids', 'write f32 weights'],
  params: ['n u32', 'rows u32', 'heads u32', ...maskParams],
  helpers: `${rowOfEntry}${maskOf}`,
  body: /* wgsl */ `
  let at = p.stats_at + 2u * (rowOf(i / p.heads) * p.heads + i % p.heads);
  let alpha = exp(weights[p.weights_at + i] - stats[at]) / stats[at + 1u];
  weights[p.weights_at + i] = maskOf(i) * alpha;`,
});

/** Recomputes the softmax of every entry, and the slope of its leaky ReLU. */
const alphas = tensorProgram({
  name: 'gatAlphas',
  arrays: [...ends, 'read f32 lse', 'write f32 alpha', 'write f32 slopes'],
  params: ['n u32', 'rows u32', 'heads u32', 'has_edge u32', 'slope f32'],
  helpers: sumOfScores,
  body: /* wgsl */ `
  let r = rowOf(i / p.heads);
  let sum = sumOf(i, r);
  let score = select(p.slope * sum, sum, sum > 0.0);
  alpha[p.alpha_at + i] = exp(score - lse[p.lse_at + r * p.heads + i % p.heads]);
  slopes[p.slopes_at + i] = select(p.slope, 1.0, sum > 0.0);`,
});

/** dots[r, h] = gy · y. */
const rowDots = tensorProgram({
  name: 'gatRowDots',
  arrays: ['read f32 y', 'read f32 gy', 'write f32 dots'],
  params: ['n u32', 'width u32'],
  body: /* wgsl */ `
  var total = 0.0;
  for (var d = i * p.width; d < (i + 1u) * p.width; d++) { total += gy[p.gy_at + d] * y[p.y_at + d]; }
  dots[p.dots_at + i] = total;`,
});

/** Turns softmax and slope into the weight and the gradient of the score, in place. */
const scoreGradients = tensorProgram({
  name: 'gatScoreGradients',
  arrays: [
    'read f32 z',
    'read f32 gy',
    'read f32 dots',
    'read i32 offsets',
    'read i32 indices',
    'read i32 ids',
    'write f32 attention',
    'write f32 gscore',
  ],
  params: ['n u32', 'rows u32', 'heads u32', 'width u32', ...maskParams],
  helpers: `${rowOfEntry}${maskOf}`,
  body: /* wgsl */ `
  let e = i / p.heads;
  let h = i % p.heads;
  let to = rowOf(e) * p.heads + h;
  let alpha = attention[p.attention_at + i];
  let mask = maskOf(i);
  var dot = 0.0;
  // A dropped entry does not contribute to y, whatever z holds.
  if (mask != 0.0) {
    let u = u32(indices[p.indices_at + e]) * p.heads + h;
    for (var d = 0u; d < p.width; d++) {
      dot += gy[p.gy_at + to * p.width + d] * z[p.z_at + u * p.width + d];
    }
  }
  attention[p.attention_at + i] = mask * alpha;
  gscore[p.gscore_at + i] = alpha * (mask * dot - dots[p.dots_at + to]) * gscore[p.gscore_at + i];`,
});

/** Returns the ids of a graph's edges on the device, cached as the rest of its structure. */
function idsOn(c: Compute, ids: Int32Array | null): GpuArray | null {
  return ids === null ? null : c.structure(ids);
}

export function graphAttentionKernels(c: Compute): Partial<Kernels> {
  return {
    gatAttention({ z, el, er, ee, offsets, indices, ids, key, drop, y, lse, rows, heads, width, slope }) {
      const entries = indices.length;
      const n = entries * heads;
      const weight = c.allocate('f32', n, 'attention');
      const bounds = offsetsOn(c, offsets);
      const places = [bounds, c.structure(indices)];
      c.launch(scores, [el, er, ee, ...places, weight], [n, rows, heads, ee !== null, slope], n);
      const stats = softmaxStats(c, weight, offsets, lse, rows, heads);
      c.launch(
        weights,
        [stats, bounds, idsOn(c, ids), weight],
        [n, rows, heads, ...maskValues(key, drop, ids)],
        n,
      );
      const sum = { x: z, w: weight, y, width: heads * width, wCols: heads };
      sumRows(c, { ...sum, xRows: z.length / (heads * width), offsets, indices });
      stats.release();
      weight.release();
    },
    gatAttentionBackward(args) {
      const { z, el, er, ee, y, lse, gy, offsets, indices, ids, key, drop, attention, gscore, rows } = args;
      const { heads, width, slope } = args;
      const n = indices.length * heads;
      const places = [offsetsOn(c, offsets), c.structure(indices)];
      const dots = c.allocate('f32', rows * heads, 'attention');
      c.launch(rowDots, [y, gy, dots], [rows * heads, width], rows * heads);
      c.launch(
        alphas,
        [el, er, ee, ...places, lse, attention, gscore],
        [n, rows, heads, ee !== null, slope],
        n,
      );
      c.launch(
        scoreGradients,
        [z, gy, dots, ...places, idsOn(c, ids), attention, gscore],
        [n, rows, heads, width, ...maskValues(key, drop, ids)],
        n,
      );
      dots.release();
    },
  };
}
