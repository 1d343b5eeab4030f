/**
 * Reductions over the middle axis of [outer, mid, inner]. Long ones are computed in passes over parts whose boundaries
 * depend on sizes alone, and parts are combined in a fixed order: equal shapes give equal bits.
 */
import { type Kernels, reduceCode, referenceKernels } from '../../../native/index.js';
import { DeviceError } from '../../../util/errors.js';
import { grid } from '../../device/program.js';
import type { Argument, Compute } from '../compute.js';
import { tensorProgram } from '../tensor-program.js';
import { specialValues } from './elementwise.js';

const join = /* wgsl */ `
${specialValues}
fn identity() -> f32 {
  if (p.op == ${reduceCode.max}u) { return -infinity(); }
  if (p.op == ${reduceCode.min}u) { return infinity(); }
  return 0.0;
}
fn joined(a: f32, b: f32) -> f32 {
  if (p.op < ${reduceCode.max}u) { return a + b; }
  if (isNan(a)) { return a; }
  if (isNan(b)) { return b; }
  if (p.op == ${reduceCode.max}u) { return max(a, b); }
  return min(a, b);
}
`;

/** One invocation per part of a column: y [outer, parts, inner], each from up to `length` of the `mid` elements. */
const columns = tensorProgram({
  name: 'reduce.columns',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'op u32', 'mid u32', 'inner u32', 'parts u32', 'len u32', 'factor f32'],
  helpers: join,
  body: /* wgsl */ `
  let column = i % p.inner;
  let part = i / p.inner % p.parts;
  let start = p.x_at + i / (p.inner * p.parts) * p.mid * p.inner + column;
  var total = identity();
  let end = min(p.mid, (part + 1u) * p.len);
  for (var k = part * p.len; k < end; k++) { total = joined(total, x[start + k * p.inner]); }
  y[p.y_at + i] = total * p.factor;`,
});

/**
 * One workgroup per part of a row (inner 1): neighbouring invocations read neighbouring elements and combine them as a
 * tree.
 */
const rows = tensorProgram({
  name: 'reduce.rows',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'op u32', 'mid u32', 'inner u32', 'parts u32', 'len u32', 'factor f32'],
  helpers: `${join}\nvar<workgroup> totals: array<f32, 256>;`,
  main: /* wgsl */ `
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) t: u32,
) {
  let i = group.y * groups.x + group.x;
  if (i >= p.n) { return; }
  let part = i % p.parts;
  let start = p.x_at + i / p.parts * p.mid;
  var total = identity();
  let end = min(p.mid, (part + 1u) * p.len);
  for (var k = part * p.len + t; k < end; k += 256u) { total = joined(total, x[start + k]); }
  totals[t] = total;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (t < half) { totals[t] = joined(totals[t], totals[t + half]); }
    workgroupBarrier();
  }
  if (t == 0u) { y[p.y_at + i] = totals[0] * p.factor; }
}`,
});

/** Elements of a row for one workgroup, and of a column for one invocation. */
const rowPart = 4096;
const columnPart = 64;
/** Invocations that keep a large device busy. */
const wantedInvocations = 16384;

interface Plan {
  readonly byRow: boolean;
  readonly parts: number;
  readonly length: number;
}

function planOf(outer: number, mid: number, inner: number): Plan {
  const byRow = inner === 1 && mid > columnPart;
  if (byRow) return { byRow, parts: Math.ceil(mid / rowPart), length: rowPart };
  const useful = Math.max(1, Math.floor(wantedInvocations / Math.max(1, outer * inner)));
  const parts = Math.min(Math.ceil(mid / columnPart), useful);
  const length = Math.ceil(mid / Math.max(1, parts));
  return { byRow, parts: length === 0 ? 1 : Math.ceil(mid / length), length };
}

/** y [outer, inner] = op over the middle of x [outer, mid, inner]. */
export function reduce(
  c: Compute,
  op: number,
  x: Argument,
  y: Argument,
  outer: number,
  mid: number,
  inner: number,
): void {
  const isMean = op === reduceCode.mean;
  reduceBy(c, isMean ? reduceCode.sum : op, x, y, outer, mid, inner, isMean ? 1 / mid : 1);
}

function reduceBy(
  c: Compute,
  op: number,
  x: Argument,
  y: Argument,
  outer: number,
  mid: number,
  inner: number,
  factor: number,
): void {
  const { byRow, parts, length } = planOf(outer, mid, inner);
  const n = outer * parts * inner;
  if (n === 0) return;
  const isLast = parts === 1;
  const target = isLast ? y : c.allocate('f32', n, 'reduce parts');
  // An empty mean is 0 · NaN.
  const scale = !isLast ? 1 : mid === 0 && factor === Infinity ? NaN : factor;
  const params = [n, op, mid, inner, parts, length, scale];
  if (byRow) c.launch(rows, [x, target], params, { groups: grid(n, 1) });
  else c.launch(columns, [x, target], params, n);
  if (isLast) return;
  reduceBy(c, op, target, y, outer, parts, inner, factor);
  (target as { release(): void }).release();
}

/** WGSL: whether `value` at `at` beats the best so far. The first of equals and the first NaN win. */
const beats = /* wgsl */ `
${specialValues}
fn beats(value: f32, at: u32, best: f32, best_at: u32) -> bool {
  if (isNan(best)) { return isNan(value) && at < best_at; }
  if (isNan(value)) { return true; }
  if (value == best) { return at < best_at; }
  return select((value < best), (value > best), p.op == ${reduceCode.max}u);
}
`;

const argColumns = tensorProgram({
  name: 'argReduce.columns',
  arrays: ['read f32 x', 'write i32 index'],
  params: ['n u32', 'op u32', 'mid u32', 'inner u32'],
  helpers: beats,
  body: /* wgsl */ `
  let start = p.x_at + i / p.inner * p.mid * p.inner + i % p.inner;
  var best = x[start];
  var at = 0u;
  for (var k = 1u; k < p.mid; k++) {
    let value = x[start + k * p.inner];
    if (beats(value, k, best, at)) { best = value; at = k; }
  }
  index[p.index_at + i] = i32(at);`,
});

const argGroups = tensorProgram({
  name: 'argReduce.groups',
  arrays: ['read f32 x', 'write i32 index'],
  params: ['n u32', 'op u32', 'mid u32', 'inner u32'],
  helpers: `${beats}\nvar<workgroup> values: array<f32, 256>;\nvar<workgroup> places: array<u32, 256>;`,
  main: /* wgsl */ `
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) t: u32,
) {
  let i = group.y * groups.x + group.x;
  if (i >= p.n) { return; }
  let start = p.x_at + i / p.inner * p.mid * p.inner + i % p.inner;
  // There are more elements than invocations, so every one has a first.
  var best = x[start + t * p.inner];
  var at = t;
  for (var k = t + 256u; k < p.mid; k += 256u) {
    let value = x[start + k * p.inner];
    if (beats(value, k, best, at)) { best = value; at = k; }
  }
  values[t] = best;
  places[t] = at;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (t < half && beats(values[t + half], places[t + half], values[t], places[t])) {
      values[t] = values[t + half];
      places[t] = places[t + half];
    }
    workgroupBarrier();
  }
  if (t == 0u) { index[p.index_at + i] = i32(places[0]); }
}`,
});

const argScatter = tensorProgram({
  name: 'argScatter',
  arrays: ['read f32 gy', 'read i32 index', 'write f32 gx'],
  params: ['n u32', 'mid u32', 'inner u32'],
  body: /* wgsl */ `
  let source = i / (p.mid * p.inner) * p.inner + i % p.inner;
  let k = i / p.inner % p.mid;
  gx[p.gx_at + i] = select(0.0, gy[p.gy_at + source], index[p.index_at + source] == i32(k));`,
});

export function reduceKernels(c: Compute): Partial<Kernels> {
  return {
    reduce: (op, x, y, outer, mid, inner) => reduce(c, op, x, y, outer, mid, inner),
    argReduce(op, x, index, outer, mid, inner) {
      const n = outer * inner;
      const params = [n, op, mid, inner];
      if (n === 0) return;
      if (mid > 256) c.launch(argGroups, [x, index], params, { groups: grid(n, 1) });
      else c.launch(argColumns, [x, index], params, n);
    },
    argScatter(gy, index, gx, outer, mid, inner) {
      const n = outer * mid * inner;
      c.launch(argScatter, [gy, index, gx], [n, mid, inner], n);
    },
    /** Checks ids in memory; operations call it before they use ids. */
    findOutOfRange(ids, n, lo, hi) {
      if (ids instanceof Int32Array) return referenceKernels.findOutOfRange(ids, n, lo, hi);
      throw new DeviceError('webgpu: expected ids in memory to check, got ids on the device.', {
        reason: 'wait',
      });
    },
  };
}
