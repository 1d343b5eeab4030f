/**
 * Softmax over the entries of each row, for every head: first the largest score and the sum of each row, then every entry on
 * its own. Formulas are those of `native/reference/graph-softmax.ts`.
 */
import type { Kernels, Offsets } from '../../../native/index.js';
import { grid } from '../../device/program.js';
import type { Argument, Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { tensorProgram } from '../tensor-program.js';
import { sumRows } from './graph-spmm.js';
import { hasLongRows, offsetsOn, rowOfEntry, teamColumns, teamMain, teamSize } from './sparse-rows.js';

const statsArrays = ['read f32 scores', 'read i32 offsets', 'write f32 stats', 'write f32 lse'];
const statsParams = ['n u32', 'rows u32', 'heads u32', 'wants_lse u32'];

/** stats[r, h] = (top, Σ exp(score − top)); lse = top + log of the sum, 0 for an empty row. */
const statsHelpers = /* wgsl */ `
const lowest = -3.4028234e38;

// The largest score and the sum of entries first, first + step, …
fn statsOf(first: u32, end: u32, step: u32, h: u32) -> vec2<f32> {
  var top = lowest;
  for (var e = first; e < end; e += step) {
    let s = scores[p.scores_at + e * p.heads + h];
    if (s > top) { top = s; }
  }
  var total = 0.0;
  for (var e = first; e < end; e += step) { total += exp(scores[p.scores_at + e * p.heads + h] - top); }
  return vec2<f32>(top, total);
}

fn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let top = max(a.x, b.x);
  return vec2<f32>(top, a.y * exp(a.x - top) + b.y * exp(b.x - top));
}

fn finish(r: u32, h: u32, result: vec2<f32>, isEmpty: bool) {
  let i = r * p.heads + h;
  stats[p.stats_at + 2u * i] = result.x;
  stats[p.stats_at + 2u * i + 1u] = result.y;
  if (p.wants_lse == 0u) { return; }
  if (isEmpty) { lse[p.lse_at + i] = 0.0; } else { lse[p.lse_at + i] = result.x + log(result.y); }
}
`;

const rowStats = tensorProgram({
  name: 'edgeSoftmaxStats',
  arrays: statsArrays,
  params: statsParams,
  helpers: statsHelpers,
  body: /* wgsl */ `
  let r = i / p.heads;
  let h = i % p.heads;
  let begin = u32(offsets[p.offsets_at + r]);
  let end = u32(offsets[p.offsets_at + r + 1u]);
  finish(r, h, statsOf(begin, end, 1u, h), begin == end);`,
});

const rowStatsTeam = tensorProgram({
  name: 'edgeSoftmaxStatsTeam',
  arrays: statsArrays,
  params: [...statsParams, 'columns u32', 'tiles u32'],
  workgroup: teamSize,
  helpers: /* wgsl */ `
${statsHelpers}
var<workgroup> parts: array<vec2<f32>, ${teamSize}>;

fn team(g: u32, lane: u32) {
  if (g >= p.rows * p.tiles) { return; }
  let r = g / p.tiles;
  let h = (g % p.tiles) * p.columns + lane % p.columns;
  let share = lane / p.columns;
  let shares = ${teamSize}u / p.columns;
  let begin = u32(offsets[p.offsets_at + r]);
  let end = u32(offsets[p.offsets_at + r + 1u]);
  if (h < p.heads) { parts[lane] = statsOf(begin + share, end, shares, h); }
  workgroupBarrier();
  for (var half = shares / 2u; half > 0u; half /= 2u) {
    if (share < half) { parts[lane] = joined(parts[lane], parts[lane + half * p.columns]); }
    workgroupBarrier();
  }
  if (share == 0u && h < p.heads) { finish(r, h, parts[lane], begin == end); }
}
`,
  main: teamMain,
});

const softmaxEntries = tensorProgram({
  name: 'edgeSoftmax',
  arrays: ['read f32 scores', 'read f32 stats', 'read i32 offsets', 'write f32 y'],
  params: ['n u32', 'rows u32', 'heads u32'],
  helpers: rowOfEntry,
  body: /* wgsl */ `
  let at = p.stats_at + 2u * (rowOf(i / p.heads) * p.heads + i % p.heads);
  y[p.y_at + i] = exp(scores[p.scores_at + i] - stats[at]) / stats[at + 1u];`,
});

const softmaxBackward = tensorProgram({
  name: 'edgeSoftmaxBackward',
  arrays: ['read f32 y', 'read f32 gy', 'read f32 dots', 'read i32 offsets', 'write f32 gx'],
  params: ['n u32', 'rows u32', 'heads u32'],
  helpers: rowOfEntry,
  body: /* wgsl */ `
  let dot = dots[p.dots_at + rowOf(i / p.heads) * p.heads + i % p.heads];
  gx[p.gx_at + i] = y[p.y_at + i] * (gy[p.gy_at + i] - dot);`,
});

/** The largest score and the sum for each row and head, in memory that the caller releases. */
export function softmaxStats(
  c: Compute,
  scores: Argument,
  offsets: Offsets,
  lse: Argument,
  rows: number,
  heads: number,
): GpuArray {
  const stats = c.allocate('f32', 2 * rows * heads, 'softmax');
  const arrays = [scores, offsetsOn(c, offsets), stats, lse];
  const params = [rows * heads, rows, heads, lse !== null];
  if (!hasLongRows(offsets)) {
    c.launch(rowStats, arrays, params, rows * heads);
    return stats;
  }
  const columns = teamColumns(heads);
  const tiles = Math.ceil(heads / columns);
  c.launch(rowStatsTeam, arrays, [...params, columns, tiles], {
    groups: grid(rows * tiles * teamSize, teamSize),
  });
  return stats;
}

export function graphSoftmaxKernels(c: Compute): Partial<Kernels> {
  return {
    edgeSoftmax(scores, offsets, out, rows, heads) {
      const n = offsets[rows] * heads;
      const stats = softmaxStats(c, scores, offsets, null, rows, heads);
      c.launch(softmaxEntries, [scores, stats, offsetsOn(c, offsets), out], [n, rows, heads], n);
      stats.release();
    },
    edgeSoftmaxBackward(out, gout, offsets, gscores, rows, heads) {
      const n = offsets[rows] * heads;
      const dots = c.allocate('f32', rows * heads, 'softmax');
      const sum = { x: out, w: gout, y: dots, width: heads, wCols: heads, xRows: offsets[rows] };
      sumRows(c, { ...sum, offsets, indices: null });
      c.launch(softmaxBackward, [out, gout, dots, offsetsOn(c, offsets), gscores], [n, rows, heads], n);
      dots.release();
    },
  };
}
