/**
 * Scores of edges: pairs, and the edges of a chunk against the negatives that they share. Formulas are those of
 * `native/reference/scores.ts`.
 *
 * No sum is made with atomics: every element has one invocation that adds in ascending order. Gradients of rows that
 * several negatives name are first made for each negative, then added up by row in an order that the host works out.
 */
import type { Kernels } from '../../../native/index.js';
import type { Compute } from '../compute.js';
import { withTemporaries } from '../temporaries.js';
import { tensorProgram } from '../tensor-program.js';
import { scatterAdd } from './rows.js';

/** One element's part of a score, the score, and its slope along the first of the two values; swapped for the second. */
const scoreHelpers = /* wgsl */ `
fn term(op: u32, u: f32, v: f32) -> f32 {
  let d = u - v;
  if (op == 0u) { return u * v; }
  return select(abs(d), d * d, op == 1u);
}
fn scoreOf(op: u32, total: f32) -> f32 {
  if (op == 0u) { return total; }
  return select(-total, -sqrt(max(total, 1e-8)), op == 1u);
}
fn slope(op: u32, u: f32, v: f32, score: f32) -> f32 {
  if (op == 0u) { return v; }
  if (op == 2u) { return sign(v - u); }
  // Rows that lie on each other have no direction.
  return select(0.0, (u - v) / score, -score > 1.00001e-4);
}
`;

const complexProduct = tensorProgram({
  name: 'complexProduct',
  arrays: ['read f32 a', 'read f32 b', 'write f32 y'],
  params: ['n u32', 'half_width u32', 'sign f32'],
  body: /* wgsl */ `
  let re = (i / p.half_width) * 2u * p.half_width + i % p.half_width;
  let im = re + p.half_width;
  let u = vec2<f32>(a[p.a_at + re], a[p.a_at + im]);
  let v = vec2<f32>(b[p.b_at + re], p.sign * b[p.b_at + im]);
  y[p.y_at + re] = u.x * v.x - u.y * v.y;
  y[p.y_at + im] = u.x * v.y + u.y * v.x;`,
});

const pairScores = tensorProgram({
  name: 'pairScores',
  arrays: ['read f32 a', 'read f32 b', 'write f32 y'],
  params: ['n u32', 'op u32', 'width u32'],
  helpers: scoreHelpers,
  body: /* wgsl */ `
  var total = 0.0;
  for (var k = i * p.width; k < (i + 1u) * p.width; k++) {
    total += term(p.op, a[p.a_at + k], b[p.b_at + k]);
  }
  y[p.y_at + i] = scoreOf(p.op, total);`,
});

const pairScoresBackward = tensorProgram({
  name: 'pairScoresBackward',
  arrays: ['read f32 gy', 'read f32 y', 'read f32 a', 'read f32 b', 'write f32 ga', 'write f32 gb'],
  params: ['n u32', 'op u32', 'width u32', 'want_a u32', 'want_b u32'],
  helpers: scoreHelpers,
  body: /* wgsl */ `
  let pair = i / p.width;
  let g = gy[p.gy_at + pair];
  let score = y[p.y_at + pair];
  let u = a[p.a_at + i];
  let v = b[p.b_at + i];
  if (p.want_a != 0u) { ga[p.ga_at + i] = g * slope(p.op, u, v, score); }
  if (p.want_b != 0u) { gb[p.gb_at + i] = g * slope(p.op, v, u, score); }`,
});

const tile = 16;

/** Tiles of 16 edges by 16 negatives, 16 columns of both at a time. */
const chunkedScores = tensorProgram({
  name: 'chunkedScores',
  arrays: ['read f32 query', 'read f32 rows', 'read u32 negatives', 'write f32 y'],
  params: ['op u32', 'edges u32', 'width u32', 'size u32', 'count u32'],
  helpers: /* wgsl */ `
${scoreHelpers}
var<workgroup> left: array<array<f32, 17>, 16>;
var<workgroup> right: array<array<f32, 17>, 16>;
`,
  main: /* wgsl */ `
@compute @workgroup_size(${tile}, ${tile})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) own: vec3<u32>) {
  let first = group.z * p.size;
  let last = min(first + p.size, p.edges);
  let edge = first + group.y * 16u + own.y;
  let j = group.x * 16u + own.x;
  let other = group.x * 16u + own.y;
  let hasEdge = edge < last;
  let hasOther = other < p.count;
  var row = 0u;
  if (hasOther) { row = negatives[p.negatives_at + group.z * p.count + other]; }
  var total = 0.0;
  for (var k = 0u; k < p.width; k += 16u) {
    let c = k + own.x;
    var u = 0.0;
    var v = 0.0;
    if (hasEdge && c < p.width) { u = query[p.query_at + edge * p.width + c]; }
    if (hasOther && c < p.width) { v = rows[p.rows_at + row * p.width + c]; }
    left[own.y][own.x] = u;
    right[own.y][own.x] = v;
    workgroupBarrier();
    for (var t = 0u; t < 16u; t++) { total += term(p.op, left[own.y][t], right[own.x][t]); }
    workgroupBarrier();
  }
  if (hasEdge && j < p.count) { y[p.y_at + edge * p.count + j] = scoreOf(p.op, total); }
}`,
});

const chunkedQueryGradient = tensorProgram({
  name: 'chunkedQueryGradient',
  arrays: [
    'read f32 gy',
    'read f32 y',
    'read f32 query',
    'read f32 rows',
    'read u32 negatives',
    'write f32 out',
  ],
  params: ['n u32', 'op u32', 'width u32', 'size u32', 'count u32'],
  helpers: scoreHelpers,
  body: /* wgsl */ `
  let edge = i / p.width;
  let c = i % p.width;
  let first = (edge / p.size) * p.count;
  let u = query[p.query_at + i];
  var total = 0.0;
  for (var j = 0u; j < p.count; j++) {
    let v = rows[p.rows_at + negatives[p.negatives_at + first + j] * p.width + c];
    let at = edge * p.count + j;
    total += gy[p.gy_at + at] * slope(p.op, u, v, y[p.y_at + at]);
  }
  out[p.out_at + i] = total;`,
});

/** The gradient of every negative as it was read. */
const chunkedReadGradient = tensorProgram({
  name: 'chunkedReadGradient',
  arrays: [
    'read f32 gy',
    'read f32 y',
    'read f32 query',
    'read f32 rows',
    'read u32 negatives',
    'write f32 out',
  ],
  params: ['n u32', 'op u32', 'width u32', 'size u32', 'count u32', 'edges u32'],
  helpers: scoreHelpers,
  body: /* wgsl */ `
  let place = i / p.width;
  let c = i % p.width;
  let first = (place / p.count) * p.size;
  let j = place % p.count;
  let v = rows[p.rows_at + negatives[p.negatives_at + place] * p.width + c];
  var total = 0.0;
  for (var edge = first; edge < min(first + p.size, p.edges); edge++) {
    let at = edge * p.count + j;
    let u = query[p.query_at + edge * p.width + c];
    total += gy[p.gy_at + at] * slope(p.op, v, u, y[p.y_at + at]);
  }
  out[p.out_at + i] = total;`,
});

/** out[i, j] = score(query[i], rows[negatives[c·n + j]]) with c the chunk of i. */
export function scoreChunks(
  c: Compute,
  op: number,
  query: unknown,
  rows: unknown,
  negatives: unknown,
  out: unknown,
  edges: number,
  width: number,
  chunks: number,
  n: number,
): void {
  if (edges === 0) return;
  const size = Math.ceil(edges / chunks);
  const groups = [Math.ceil(n / tile), Math.ceil(size / tile), chunks] as const;
  c.launch(chunkedScores, [query, rows, negatives, out], [op, edges, width, size, n], { groups });
}

export function scoreKernels(c: Compute): Partial<Kernels> {
  return {
    complexProduct: (a, b, out, rows, half, conjugate) =>
      c.launch(complexProduct, [a, b, out], [rows * half, half, conjugate ? -1 : 1], rows * half),
    pairScores: (op, a, b, out, pairs, width) => c.launch(pairScores, [a, b, out], [pairs, op, width], pairs),
    pairScoresBackward(op, gy, y, a, b, ga, gb, pairs, width) {
      const n = pairs * width;
      const params = [n, op, width, ga !== null, gb !== null];
      c.launch(pairScoresBackward, [gy, y, a, b, ga, gb], params, n);
    },
    chunkedScores: (op, query, rows, negatives, out, edges, width, chunks, n) =>
      scoreChunks(c, op, query, rows, negatives, out, edges, width, chunks, n),
    chunkedScoresBackward(
      op,
      gy,
      y,
      query,
      rows,
      negatives,
      gQuery,
      gRows,
      edges,
      width,
      rowCount,
      chunks,
      n,
    ) {
      const size = Math.ceil(edges / chunks);
      if (edges === 0) return;
      withTemporaries(c, (take) => {
        const ids = take.ids(negatives);
        const inputs = [gy, y, query, rows, ids];
        const total = edges * width;
        if (gQuery !== null)
          c.launch(chunkedQueryGradient, [...inputs, gQuery], [total, op, width, size, n], total);
        if (gRows === null) return;
        const read = chunks * n * width;
        const gRead = take.floats(read);
        c.launch(chunkedReadGradient, [...inputs, gRead], [read, op, width, size, n, edges], read);
        scatterAdd(c, 'chunkedScores', negatives, gRead, gRows, chunks * n, rowCount, width);
      });
    },
  };
}
