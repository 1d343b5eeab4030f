/**
 * Scores of GATv2 and their gradients. Formulas are those of `native/reference/graph-gatv2.ts`. A gradient that would
 * need more than eight arrays is computed in two passes.
 */
import type { Kernels } from '../../../native/index.js';
import type { Argument, Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { tensorProgram } from '../tensor-program.js';
import { offsetsOn, rowOfEntry } from './sparse-rows.js';

const ends = ['read f32 xl', 'read f32 xr', 'read f32 a', 'read f32 ee'];
const places = ['read i32 offsets', 'read i32 indices'];
const params = ['n u32', 'rows u32', 'heads u32', 'width u32', 'has_edge u32', 'slope f32'];

/** WGSL: xl[u] + xr[r] + ee[e] for feature f of all heads. */
const sumAt = /* wgsl */ `
fn sumAt(e: u32, u: u32, r: u32, f: u32) -> f32 {
  let all = p.heads * p.width;
  var sum = xl[p.xl_at + u * all + f] + xr[p.xr_at + r * all + f];
  if (p.has_edge != 0u) { sum += ee[p.ee_at + e * all + f]; }
  return sum;
}
fn source(e: u32) -> u32 { return u32(indices[p.indices_at + e]); }
fn slopeAt(sum: f32) -> f32 { return select(p.slope, 1.0, sum > 0.0); }
`;

const gatv2Scores = tensorProgram({
  name: 'gatv2Scores',
  arrays: [...ends, ...places, 'write f32 scores'],
  params,
  helpers: `${rowOfEntry}${sumAt}`,
  body: /* wgsl */ `
  let e = i / p.heads;
  let r = rowOf(e);
  let u = source(e);
  let first = (i % p.heads) * p.width;
  var score = 0.0;
  for (var f = first; f < first + p.width; f++) {
    let sum = sumAt(e, u, r, f);
    score += a[p.a_at + f] * slopeAt(sum) * sum;
  }
  scores[p.scores_at + i] = score;`,
});

/** Gradient of the destinations' rows. */
const gradientOfRows = tensorProgram({
  name: 'gatv2GradientOfRows',
  arrays: [...ends, 'read f32 gy', ...places, 'write f32 gxr'],
  params,
  helpers: sumAt,
  body: /* wgsl */ `
  let all = p.heads * p.width;
  let r = i / all;
  let f = i % all;
  var total = 0.0;
  let end = u32(offsets[p.offsets_at + r + 1u]);
  for (var e = u32(offsets[p.offsets_at + r]); e < end; e++) {
    total += gy[p.gy_at + e * p.heads + f / p.width] * slopeAt(sumAt(e, source(e), r, f));
  }
  gxr[p.gxr_at + i] = total * a[p.a_at + f];`,
});

/** Contribution of each destination to the gradient of a. */
const sharesOfWeights = tensorProgram({
  name: 'gatv2SharesOfWeights',
  arrays: ['read f32 xl', 'read f32 xr', 'read f32 ee', 'read f32 gy', ...places, 'write f32 shares'],
  params,
  helpers: sumAt,
  body: /* wgsl */ `
  let all = p.heads * p.width;
  let r = i / all;
  let f = i % all;
  var total = 0.0;
  let end = u32(offsets[p.offsets_at + r + 1u]);
  for (var e = u32(offsets[p.offsets_at + r]); e < end; e++) {
    let sum = sumAt(e, source(e), r, f);
    total += gy[p.gy_at + e * p.heads + f / p.width] * slopeAt(sum) * sum;
  }
  shares[p.shares_at + i] = total;`,
});

/** Sums of up to `chunk` rows of x [x_rows, width] each. */
const sumOfChunks = tensorProgram({
  name: 'gatv2SumOfChunks',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'x_rows u32', 'width u32', 'chunk u32'],
  body: /* wgsl */ `
  let first = (i / p.width) * p.chunk;
  var total = 0.0;
  for (var r = first; r < min(first + p.chunk, p.x_rows); r++) {
    total += x[p.x_at + r * p.width + i % p.width];
  }
  y[p.y_at + i] = total;`,
});

const gradientOfEdges = tensorProgram({
  name: 'gatv2GradientOfEdges',
  arrays: [...ends, 'read f32 gy', ...places, 'write f32 gee'],
  params,
  helpers: `${rowOfEntry}${sumAt}`,
  body: /* wgsl */ `
  let all = p.heads * p.width;
  let e = i / all;
  let f = i % all;
  let slope = slopeAt(sumAt(e, source(e), rowOf(e), f));
  gee[p.gee_at + i] = gy[p.gy_at + e * p.heads + f / p.width] * a[p.a_at + f] * slope;`,
});

/** xl[r] + xr[v] of every entry of the transposed structure, where rows are sources. */
const sumsBySource = tensorProgram({
  name: 'gatv2SumsBySource',
  arrays: ['read f32 xl', 'read f32 xr', ...places, 'write f32 sums'],
  params: ['n u32', 'rows u32', 'all u32'],
  helpers: rowOfEntry,
  body: /* wgsl */ `
  let e = i / p.all;
  let f = i % p.all;
  let v = u32(indices[p.indices_at + e]);
  sums[p.sums_at + i] = xl[p.xl_at + rowOf(e) * p.all + f] + xr[p.xr_at + v * p.all + f];`,
});

/**
 * Gradient of the sources' rows. With edge features `xl` holds the sums of the entries, otherwise the rows themselves.
 */
const gradientOfSources = tensorProgram({
  name: 'gatv2GradientOfSources',
  arrays: [
    'read f32 xl',
    'read f32 other',
    'read f32 a',
    'read f32 gy',
    'read i32 offsets',
    'read i32 indices',
    'read i32 slots',
    'write f32 gxl',
  ],
  params,
  helpers: 'fn slopeAt(sum: f32) -> f32 { return select(p.slope, 1.0, sum > 0.0); }',
  body: /* wgsl */ `
  let all = p.heads * p.width;
  let r = i / all;
  let f = i % all;
  var total = 0.0;
  let end = u32(offsets[p.offsets_at + r + 1u]);
  for (var e = u32(offsets[p.offsets_at + r]); e < end; e++) {
    let slot = u32(slots[p.slots_at + e]);
    var sum = 0.0;
    if (p.has_edge != 0u) {
      sum = xl[p.xl_at + e * all + f] + other[p.other_at + slot * all + f];
    } else {
      sum = xl[p.xl_at + i] + other[p.other_at + u32(indices[p.indices_at + e]) * all + f];
    }
    total += gy[p.gy_at + slot * p.heads + f / p.width] * slopeAt(sum);
  }
  gxl[p.gxl_at + i] = total * a[p.a_at + f];`,
});

const chunk = 256;

/** y[:] = Σ of the rows of x [rows, width], one chunk after another; releases x. */
function sumColumns(c: Compute, x: GpuArray, rows: number, width: number, y: Argument): void {
  let part = x;
  let left = rows;
  while (left > chunk) {
    const groups = Math.ceil(left / chunk);
    const next = c.allocate('f32', groups * width, 'gatv2');
    c.launch(sumOfChunks, [part, next], [groups * width, left, width, chunk], groups * width);
    part.release();
    part = next;
    left = groups;
  }
  c.launch(sumOfChunks, [part, y], [width, left, width, chunk], width);
  part.release();
}

export function graphGatv2Kernels(c: Compute): Partial<Kernels> {
  return {
    gatv2Scores({ xl, xr, a, ee, offsets, indices, out, rows, heads, width, slope }) {
      const n = indices.length * heads;
      const structure = [offsetsOn(c, offsets), c.structure(indices)];
      c.launch(
        gatv2Scores,
        [xl, xr, a, ee, ...structure, out],
        [n, rows, heads, width, ee !== null, slope],
        n,
      );
    },
    gatv2ScoresBackward({ xl, xr, a, ee, gout, offsets, indices, gxr, ga, gee, rows, heads, width, slope }) {
      const all = heads * width;
      const n = rows * all;
      const structure = [offsetsOn(c, offsets), c.structure(indices)];
      const sizes = [rows, heads, width, ee !== null, slope];
      c.launch(gradientOfRows, [xl, xr, a, ee, gout, ...structure, gxr], [n, ...sizes], n);
      const shares = c.allocate('f32', n, 'gatv2');
      c.launch(sharesOfWeights, [xl, xr, ee, gout, ...structure, shares], [n, ...sizes], n);
      sumColumns(c, shares, rows, all, ga);
      const edges = indices.length * all;
      if (gee !== null)
        c.launch(gradientOfEdges, [xl, xr, a, ee, gout, ...structure, gee], [edges, ...sizes], edges);
    },
    gatv2ScoresBackwardSource(args) {
      const { xl, xr, a, ee, gout, offsets, indices } = args;
      const { positions: slots, gxl, rows, heads, width, slope } = args;
      const all = heads * width;
      const n = rows * all;
      const structure = [offsetsOn(c, offsets), c.structure(indices)];
      const sizes = [n, rows, heads, width, ee !== null, slope];
      const bySlot = [...structure, c.structure(slots), gxl];
      if (ee === null) {
        c.launch(gradientOfSources, [xl, xr, a, gout, ...bySlot], sizes, n);
        return;
      }
      const entries = indices.length * all;
      const sums = c.allocate('f32', entries, 'gatv2');
      c.launch(sumsBySource, [xl, xr, ...structure, sums], [entries, rows, all], entries);
      c.launch(gradientOfSources, [sums, ee, a, gout, ...bySlot], sizes, n);
      sums.release();
    },
  };
}
