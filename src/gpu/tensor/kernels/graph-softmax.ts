/**
 * Softmax over the entries of each row, for every head: first the largest score and the sum of each row, then each
 * entry independently. Formulas are those of `native/reference/graph-softmax.ts`.
 */
import type { Kernels, Offsets } from '../../../native/index.js';
import type { Argument, Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { tensorProgram } from '../tensor-program.js';
import { sumRows } from './graph-spmm.js';
import { chunkRows, offsetsOn, rowOfEntry } from './sparse-rows.js';

/** stats[r, h] = (top, Σ exp(score − top)); lse = top + log of the sum, 0 for an empty row. */
const finishStats = /* wgsl */ `
const lowest = -3.4028234e38;

fn finish(i: u32, result: vec2<f32>, isEmpty: bool) {
  stats[p.stats_at + 2u * i] = result.x;
  stats[p.stats_at + 2u * i + 1u] = result.y;
  if (p.wants_lse == 0u) { return; }
  if (isEmpty) { lse[p.lse_at + i] = 0.0; } else { lse[p.lse_at + i] = result.x + log(result.y); }
}
`;

const rowStats = tensorProgram({
  name: 'edgeSoftmaxStats',
  arrays: ['read f32 scores', 'read i32 offsets', 'write f32 stats', 'write f32 lse'],
  params: ['n u32', 'heads u32', 'wants_lse u32'],
  helpers: finishStats,
  body: /* wgsl */ `
  let begin = u32(offsets[p.offsets_at + i / p.heads]);
  let end = u32(offsets[p.offsets_at + i / p.heads + 1u]);
  let column = p.scores_at + i % p.heads;
  var top = lowest;
  for (var e = begin; e < end; e++) {
    let score = scores[column + e * p.heads];
    if (score > top) { top = score; }
  }
  var total = 0.0;
  for (var e = begin; e < end; e++) { total += exp(scores[column + e * p.heads] - top); }
  finish(i, vec2<f32>(top, total), begin == end);`,
});

/** Combines the statistics of chunks into those of rows. */
const joinStats = tensorProgram({
  name: 'edgeSoftmaxStatsJoin',
  arrays: ['read f32 parts', 'read i32 bounds', 'write f32 stats', 'write f32 lse'],
  params: ['n u32', 'heads u32', 'wants_lse u32'],
  helpers: finishStats,
  body: /* wgsl */ `
  let begin = u32(bounds[p.bounds_at + i / p.heads]);
  let end = u32(bounds[p.bounds_at + i / p.heads + 1u]);
  var top = lowest;
  var total = 0.0;
  for (var k = begin; k < end; k++) {
    let at = p.parts_at + 2u * (k * p.heads + i % p.heads);
    let before = top;
    top = max(top, parts[at]);
    total = total * exp(before - top) + parts[at + 1u] * exp(parts[at] - top);
  }
  finish(i, vec2<f32>(top, total), begin == end);`,
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

/** Returns the largest score and the sum for each row and head, in memory that the caller releases. */
export function softmaxStats(
  c: Compute,
  scores: Argument,
  offsets: Offsets,
  lse: Argument,
  rows: number,
  heads: number,
): GpuArray {
  const n = rows * heads;
  const stats = c.allocate('f32', 2 * n, 'softmax');
  const chunked = chunkRows(offsets);
  if (chunked === null) {
    c.launch(rowStats, [scores, offsetsOn(c, offsets), stats, lse], [n, heads, lse !== null], n);
    return stats;
  }
  const count = (chunked.chunks.length - 1) * heads;
  const parts = c.allocate('f32', 2 * count, 'softmax');
  c.launch(rowStats, [scores, c.structure(chunked.chunks), parts, null], [count, heads, false], count);
  c.launch(joinStats, [parts, c.structure(chunked.bounds), stats, lse], [n, heads, lse !== null], n);
  parts.release();
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
