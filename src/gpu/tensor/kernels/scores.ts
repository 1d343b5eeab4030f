/**
 * Scores of edges: pairs, and the edges of a chunk against the negatives that they share. Formulas are those of
 * `native/reference/scores.ts`.
 *
 * No sum uses atomics: every element has one invocation that adds in ascending order. Gradients of rows that several
 * negatives share are first computed for each negative, then summed by row in an order that the host computes.
 */
import { type Kernels, scoreOps } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import { withTemporaries } from '../temporaries.js';
import { tensorProgram } from '../tensor-program.js';
import { scatterAdd } from './rows.js';

/**
 * WGSL: one element's term of a score, the score, and its slope along the first of the two values; swapped for the
 * second.
 */
const scoreHelpers = /* wgsl */ `
fn term(op: u32, u: f32, v: f32) -> f32 {
  let d = u - v;
  if (op == 0u) { return u * v; }
  return select(d * d, abs(d), op == 2u);
}
fn scoreOf(op: u32, total: f32) -> f32 {
  if (op == 0u) { return total; }
  return select(-total, -sqrt(max(total, 1e-8)), op == 1u);
}
fn slope(op: u32, u: f32, v: f32, score: f32) -> f32 {
  if (op == 0u) { return v; }
  if (op == 2u) { return sign(v - u); }
  if (op == 3u) { return 2.0 * (v - u); }
  // Equal rows have no direction.
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

/**
 * An invocation computes this many edges times this many negatives, so that every value that is read is used several
 * times.
 */
const side = 4;
const each = Array.from({ length: side }, (_, k) => k);
const pairs = each.flatMap((a) => each.map((b) => [a, b] as const));

const chunkedScores = tensorProgram({
  name: 'chunkedScores',
  arrays: ['read f32 query', 'read f32 rows', 'read u32 negatives', 'write f32 y'],
  params: ['n u32', 'op u32', 'edges u32', 'width u32', 'size u32', 'count u32'],
  helpers: scoreHelpers,
  body: /* wgsl */ `
  let across = (p.count + ${side - 1}u) / ${side}u;
  let down = (p.size + ${side - 1}u) / ${side}u;
  let chunk = i / (across * down);
  let edge = chunk * p.size + i / across % down * ${side}u;
  let end = min((chunk + 1u) * p.size, p.edges);
  if (edge >= end) { return; }
  let j = i % across * ${side}u;
  ${each.map((a) => `let q${a} = p.query_at + min(edge + ${a}u, end - 1u) * p.width;`).join('\n  ')}
  let first = p.negatives_at + chunk * p.count;
  ${each.map((b) => `let r${b} = p.rows_at + negatives[first + min(j + ${b}u, p.count - 1u)] * p.width;`).join('\n  ')}
  ${pairs.map(([a, b]) => `var s${a}${b} = 0.0;`).join(' ')}
  for (var k = 0u; k < p.width; k++) {
    ${each.map((a) => `let u${a} = query[q${a} + k];`).join(' ')}
    ${each.map((b) => `let v${b} = rows[r${b} + k];`).join(' ')}
    ${pairs.map(([a, b]) => `s${a}${b} += term(p.op, u${a}, v${b});`).join('\n    ')}
  }
  ${pairs
    .map(
      ([a, b]) =>
        `if (edge + ${a}u < end && j + ${b}u < p.count) { y[p.y_at + (edge + ${a}u) * p.count + j + ${b}u] = scoreOf(p.op, s${a}${b}); }`,
    )
    .join('\n  ')}`,
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

/** Gradient of every negative as it was read. */
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
  checkOp(op);
  if (edges === 0) return;
  const size = Math.ceil(edges / chunks);
  const blocks = chunks * Math.ceil(n / side) * Math.ceil(size / side);
  c.launch(chunkedScores, [query, rows, negatives, out], [blocks, op, edges, width, size, n], blocks);
}

/** Throws for comparisons whose columns are not alike: moduli of pairs of columns, and biases. */
function checkOp(op: number): void {
  if (scoreOps[op] === 'modulus' || scoreOps[op] === 'biasedSquaredL2')
    throw new DeviceError(
      `chunkedScores: expected a comparison that the GPU has (dot, l2, l1, squaredL2), got ${scoreOps[op]}. Compute on the CPU.`,
      { reason: 'no-kernel' },
    );
}

export function scoreKernels(c: Compute): Partial<Kernels> {
  return {
    complexProduct: (a, b, out, rows, half, conjugate) =>
      c.launch(complexProduct, [a, b, out], [rows * half, half, conjugate ? -1 : 1], rows * half),
    pairScores(op, a, b, out, pairs, width) {
      checkOp(op);
      c.launch(pairScores, [a, b, out], [pairs, op, width], pairs);
    },
    pairScoresBackward({ op, gy, y, a, b, ga, gb, pairs, width }) {
      const n = pairs * width;
      const params = [n, op, width, ga !== null, gb !== null];
      c.launch(pairScoresBackward, [gy, y, a, b, ga, gb], params, n);
    },
    chunkedScores: ({ op, query, rows, negatives, out, edges, width, chunks, n }) =>
      scoreChunks(c, op, query, rows, negatives, out, edges, width, chunks, n),
    chunkedScoresBackward(args) {
      const { op, gy, y, query, rows, negatives, gQuery, gRows, edges, width, rowCount, chunks, n } = args;
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
