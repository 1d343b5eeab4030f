/**
 * The softmax loss of link prediction with its gradients. Formulas are those of `native/reference/scores.ts` and
 * `edge-softmax-loss.ts`.
 *
 * Unlike on the CPU, the scores [edges, n] are stored during a call: a device has more bandwidth than memory per
 * workgroup for a row of them. One workgroup turns an edge's scores into the coefficients of its gradient, in place.
 */
import type { Kernels } from '../../../native/index.js';
import { grid } from '../../device/program.js';
import type { Compute } from '../compute.js';
import { type GpuArray, onGpu } from '../gpu-array.js';
import { type Temporaries, withTemporaries } from '../temporaries.js';
import { tensorProgram } from '../tensor-program.js';
import { scatterAdd } from './rows.js';
import { scoreChunks } from './scores.js';

const invocations = 32;
/** Edges, or negatives, per invocation, so that the other side's rows are read once for all of them. */
const side = 4;
const each = Array.from({ length: side }, (_, k) => k);

const softmaxShares = tensorProgram({
  name: 'softmaxShares',
  arrays: [
    'read f32 query',
    'read f32 found',
    'read u32 mask_offsets',
    'read u32 mask_positions',
    'write f32 scores',
    'write f32 loss',
    'write f32 factor',
  ],
  params: ['edges u32', 'width u32', 'count u32', 'masked u32', 'scale f32'],
  workgroup: invocations,
  helpers: /* wgsl */ `
const hidden = -3e38;
var<workgroup> part: array<f32, ${invocations}>;
fn sumAll(t: u32, value: f32) -> f32 {
  workgroupBarrier();
  part[t] = value;
  workgroupBarrier();
  var total = 0.0;
  for (var k = 0u; k < ${invocations}u; k++) { total += part[k]; }
  return total;
}
fn maxAll(t: u32, value: f32) -> f32 {
  workgroupBarrier();
  part[t] = value;
  workgroupBarrier();
  var most = part[0];
  for (var k = 1u; k < ${invocations}u; k++) { most = max(most, part[k]); }
  return most;
}
`,
  main: /* wgsl */ `
@compute @workgroup_size(${invocations})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let edge = group.y * groups.x + group.x;
  if (edge >= p.edges) { return; }
  let first = p.scores_at + edge * p.count;
  if (p.masked != 0u) {
    let end = mask_offsets[p.mask_offsets_at + edge + 1u];
    for (var k = mask_offsets[p.mask_offsets_at + edge] + t; k < end; k += ${invocations}u) {
      scores[first + mask_positions[p.mask_positions_at + k]] = hidden;
    }
  }
  storageBarrier();
  var dot = 0.0;
  for (var c = t; c < p.width; c += ${invocations}u) {
    let at = edge * p.width + c;
    dot += query[p.query_at + at] * found[p.found_at + at];
  }
  let positive = sumAll(t, dot);
  var most = positive;
  for (var j = t; j < p.count; j += ${invocations}u) { most = max(most, scores[first + j]); }
  let top = maxAll(t, most);
  var own = 0.0;
  for (var j = t; j < p.count; j += ${invocations}u) {
    let s = scores[first + j];
    let e = select(exp(s - top), 0.0, s <= hidden);
    scores[first + j] = e;
    own += e;
  }
  let rest = sumAll(t, own);
  let sum = rest + exp(positive - top);
  for (var j = t; j < p.count; j += ${invocations}u) { scores[first + j] = p.scale * scores[first + j] / sum; }
  if (t == 0u) {
    loss[p.loss_at + edge] = top - positive + log(sum);
    factor[p.factor_at + edge] = -p.scale * rest / sum;
  }
}`,
});

const softmaxEndGradients = tensorProgram({
  name: 'softmaxEndGradients',
  arrays: [
    'read f32 shares',
    'read f32 factor',
    'read f32 query',
    'read f32 found',
    'read f32 rows',
    'read u32 negatives',
    'write f32 g_query',
    'write f32 g_found',
  ],
  params: ['n u32', 'width u32', 'size u32', 'count u32', 'edges u32'],
  body: /* wgsl */ `
  let c = i % p.width;
  let down = (p.size + ${side - 1}u) / ${side}u;
  let chunk = i / p.width / down;
  let edge = chunk * p.size + i / p.width % down * ${side}u;
  let end = min((chunk + 1u) * p.size, p.edges);
  if (edge >= end) { return; }
  let first = p.negatives_at + chunk * p.count;
  ${each.map((a) => `let e${a} = min(edge + ${a}u, end - 1u);`).join(' ')}
  ${each.map((a) => `let g${a} = factor[p.factor_at + e${a}];`).join(' ')}
  ${each.map((a) => `var t${a} = g${a} * found[p.found_at + e${a} * p.width + c];`).join('\n  ')}
  for (var j = 0u; j < p.count; j++) {
    let v = rows[p.rows_at + negatives[first + j] * p.width + c];
    ${each.map((a) => `t${a} += shares[p.shares_at + e${a} * p.count + j] * v;`).join('\n    ')}
  }
  ${each
    .map(
      (a) => `if (edge + ${a}u < end) {
    let at = e${a} * p.width + c;
    g_query[p.g_query_at + at] = t${a};
    g_found[p.g_found_at + at] = g${a} * query[p.query_at + at];
  }`,
    )
    .join('\n  ')}`,
});

/** Gradient of every negative as it was read. */
const softmaxReadGradient = tensorProgram({
  name: 'softmaxReadGradient',
  arrays: ['read f32 shares', 'read f32 query', 'write f32 out'],
  params: ['n u32', 'width u32', 'size u32', 'count u32', 'edges u32'],
  body: /* wgsl */ `
  let c = i % p.width;
  let across = (p.count + ${side - 1}u) / ${side}u;
  let chunk = i / p.width / across;
  let j = i / p.width % across * ${side}u;
  let first = chunk * p.size;
  ${each.map((b) => `let j${b} = p.shares_at + min(j + ${b}u, p.count - 1u);`).join('\n  ')}
  ${each.map((b) => `var t${b} = 0.0;`).join(' ')}
  for (var edge = first; edge < min(first + p.size, p.edges); edge++) {
    let u = query[p.query_at + edge * p.width + c];
    ${each.map((b) => `t${b} += shares[j${b} + edge * p.count] * u;`).join('\n    ')}
  }
  ${each
    .map(
      (b) =>
        `if (j + ${b}u < p.count) { out[p.out_at + (chunk * p.count + j + ${b}u) * p.width + c] = t${b}; }`,
    )
    .join('\n  ')}`,
});

/** Queries operator(rows[sources], table[relations]) and their target rows. */
const edgeQueries = tensorProgram({
  name: 'edgeQueries',
  arrays: [
    'read f32 rows',
    'read u32 sources',
    'read u32 targets',
    'read f32 table',
    'read u32 relations',
    'write f32 query',
    'write f32 found',
  ],
  params: ['n u32', 'op u32', 'width u32'],
  body: /* wgsl */ `
  let edge = i / p.width;
  let c = i % p.width;
  found[p.found_at + i] = rows[p.rows_at + targets[p.targets_at + edge] * p.width + c];
  let source = p.rows_at + sources[p.sources_at + edge] * p.width;
  var q = rows[source + c];
  if (p.op != 0u) {
    let relation = p.table_at + relations[p.relations_at + edge] * p.width;
    if (p.op == 1u) { q = q * table[relation + c]; }
    else {
      let width = p.width / 2u;
      let re = c % width;
      let u = vec2<f32>(rows[source + re], rows[source + re + width]);
      var v = vec2<f32>(table[relation + re], table[relation + re + width]);
      if (p.op == 3u) { v.y = -v.y; }
      q = select(u.x * v.y + u.y * v.x, u.x * v.x - u.y * v.y, c < width);
    }
  }
  query[p.query_at + i] = q;`,
});

/**
 * Gradients of sources and relations from that of the queries: products with the conjugate of the other. For conjugate
 * relations (op 3) the product with conj(conj(relation)), and source · conj(gradient).
 */
const edgeQueryGradients = tensorProgram({
  name: 'edgeQueryGradients',
  arrays: [
    'read f32 g_query',
    'read f32 rows',
    'read u32 sources',
    'read f32 table',
    'read u32 relations',
    'write f32 g_source',
    'write f32 g_relation',
  ],
  params: ['n u32', 'op u32', 'width u32', 'want_relation u32'],
  helpers: /* wgsl */ `
fn conjugateProduct(g: vec2<f32>, x: vec2<f32>, isReal: bool) -> f32 {
  return select(g.y * x.x - g.x * x.y, g.x * x.x + g.y * x.y, isReal);
}
`,
  body: /* wgsl */ `
  let edge = i / p.width;
  let c = i % p.width;
  let g = g_query[p.g_query_at + i];
  if (p.op == 0u) { g_source[p.g_source_at + i] = g; return; }
  let source = p.rows_at + sources[p.sources_at + edge] * p.width;
  let relation = p.table_at + relations[p.relations_at + edge] * p.width;
  if (p.op == 1u) {
    g_source[p.g_source_at + i] = g * table[relation + c];
    if (p.want_relation != 0u) { g_relation[p.g_relation_at + i] = g * rows[source + c]; }
    return;
  }
  let width = p.width / 2u;
  let re = c % width;
  let from_real = p.g_query_at + edge * p.width + re;
  let both = vec2<f32>(g_query[from_real], g_query[from_real + width]);
  let isReal = c < width;
  var v = vec2<f32>(table[relation + re], table[relation + re + width]);
  if (p.op == 3u) { v.y = -v.y; }
  g_source[p.g_source_at + i] = conjugateProduct(both, v, isReal);
  if (p.want_relation != 0u) {
    let u = vec2<f32>(rows[source + re], rows[source + re + width]);
    g_relation[p.g_relation_at + i] =
      select(conjugateProduct(both, u, isReal), conjugateProduct(u, both, isReal), p.op == 3u);
  }`,
});

/** Sizes of a batch and its scores. */
interface Sizes {
  readonly edges: number;
  readonly width: number;
  readonly chunks: number;
  readonly n: number;
}

interface Shares {
  readonly shares: GpuArray;
  readonly factor: GpuArray;
}

/** Computes the loss of each edge, and the coefficients of its gradients. */
function shareScores(
  c: Compute,
  take: Temporaries,
  query: unknown,
  found: unknown,
  rows: unknown,
  negatives: unknown,
  mask: readonly [unknown, unknown],
  loss: unknown,
  scale: number,
  { edges, width, chunks, n }: Sizes,
): Shares {
  const shares = take.floats(edges * n);
  const factor = take.floats(edges);
  scoreChunks(c, 0, query, rows, negatives, shares, edges, width, chunks, n);
  const arrays = [query, found, ...mask, shares, loss, factor];
  const params = [edges, width, n, mask[0] !== null, scale];
  c.launch(softmaxShares, arrays, params, { groups: grid(edges, 1) });
  return { shares, factor };
}

/** Computes gradients of queries and targets, and of every negative as it was read (null: not needed). */
function gradientsOfScores(
  c: Compute,
  { shares, factor }: Shares,
  inputs: readonly [query: unknown, found: unknown, rows: unknown, negatives: unknown],
  gQuery: unknown,
  gFound: unknown,
  gRead: unknown,
  { edges, width, chunks, n }: Sizes,
): void {
  const size = Math.ceil(edges / chunks);
  const own = chunks * Math.ceil(size / side) * width;
  c.launch(
    softmaxEndGradients,
    [shares, factor, ...inputs, gQuery, gFound],
    [own, width, size, n, edges],
    own,
  );
  if (gRead === null) return;
  const read = chunks * Math.ceil(n / side) * width;
  c.launch(softmaxReadGradient, [shares, inputs[0], gRead], [read, width, size, n, edges], read);
}

function chunkedSoftmaxLoss(c: Compute): Kernels['chunkedSoftmaxLoss'] {
  return (args) => {
    const { query, target, rows, negatives, maskOffsets, maskPositions, loss, gQuery, gTarget } = args;
    const { gRows, edges, width, rowCount, chunks, n, scale } = args;
    if (edges === 0) return;
    const sizes = { edges, width, chunks, n };
    withTemporaries(c, (take) => {
      const ids = take.ids(negatives);
      const mask = [maskOffsets, maskPositions] as const;
      const shares = shareScores(c, take, query, target, rows, ids, mask, loss, scale, sizes);
      if (gQuery === null || gTarget === null) return;
      const gRead = gRows === null ? null : take.floats(chunks * n * width);
      gradientsOfScores(c, shares, [query, target, rows, ids], gQuery, gTarget, gRead, sizes);
      if (gRead === null) return;
      scatterAdd(c, 'chunkedSoftmaxLoss', negatives, gRead, gRows, chunks * n, rowCount, width);
    });
  };
}

function edgeSoftmaxLoss(c: Compute): Kernels['edgeSoftmaxLoss'] {
  return (args) => {
    const { op, rows, sources, targets, table, relations, negatives, maskOffsets, maskPositions } = args;
    const { loss, gRead, gRelations, edges, width, chunks, n, scale } = args;
    if (edges === 0) {
      if (gRead !== null) clear(c, onGpu(gRead), chunks * n * width);
      return;
    }
    const sizes = { edges, width, chunks, n };
    const own = edges * width;
    withTemporaries(c, (take) => {
      const [from, kinds, ids] = [take.ids(sources), take.ids(relations), take.ids(negatives)];
      const [query, found] = [take.floats(own), take.floats(own)];
      c.launch(edgeQueries, [rows, from, targets, table, kinds, query, found], [own, op, width], own);
      const mask = [maskOffsets, maskPositions] as const;
      const shares = shareScores(c, take, query, found, rows, ids, mask, loss, scale, sizes);
      if (gRead === null) return;
      const all = onGpu(gRead);
      const gQuery = take.floats(own);
      const others = all.subarray(2 * own);
      gradientsOfScores(c, shares, [query, found, rows, ids], gQuery, all.subarray(own), others, sizes);
      const params = [own, op, width, gRelations !== null];
      c.launch(edgeQueryGradients, [gQuery, rows, from, table, kinds, all, gRelations], params, own);
    });
  };
}

export function softmaxLossKernels(c: Compute): Partial<Kernels> {
  return { chunkedSoftmaxLoss: chunkedSoftmaxLoss(c), edgeSoftmaxLoss: edgeSoftmaxLoss(c) };
}

function clear(c: Compute, array: GpuArray, length: number): void {
  if (length > 0) c.gpu.clear(array.buffer, array.offset * 4, length * 4);
}
