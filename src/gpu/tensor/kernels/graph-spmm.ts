/** Products with a sparse structure. Formulas are those of `native/reference/graph-spmm.ts`. */
import { type Kernels, type Offsets, reduceCode } from '../../../native/index.js';
import type { Argument, Compute } from '../compute.js';
import { tensorProgram } from '../tensor-program.js';
import { specialValues } from './elementwise.js';
import { chunkRows, offsetsOn, rowOfEntry } from './sparse-rows.js';

const flag = { xScale: 1, weight: 2, slots: 4, yScale: 8, self: 16, mean: 32, accumulate: 64, entries: 128 };

const sumArrays = [
  'read f32 x',
  'read f32 w',
  'read f32 xScale',
  'read f32 yScale',
  'read i32 offsets',
  'read i32 indices',
  'read i32 slots',
  'write f32 y',
];
const sumParams = ['n u32', 'x_rows u32', 'width u32', 'w_cols u32', 'own i32', 'flags u32'];

const hasFlag = 'fn has(flag: u32) -> bool { return (p.flags & flag) != 0u; }';

/** WGSL: sum over entries. With `entries` set, entry e takes row e of x and there are no indices. */
const sumOfEntries = /* wgsl */ `
fn sumOf(first: u32, end: u32, f: u32) -> f32 {
  let g = f / (p.width / p.w_cols);
  var total = 0.0;
  for (var e = first; e < end; e++) {
    var u = e;
    if (!has(${flag.entries}u)) { u = u32(indices[p.indices_at + e]); }
    var factor = 1.0;
    if (has(${flag.xScale}u)) { factor = xScale[p.xScale_at + u]; }
    if (has(${flag.weight}u)) {
      var slot = e;
      if (has(${flag.slots}u)) { slot = u32(slots[p.slots_at + e]); }
      factor *= w[p.w_at + slot * p.w_cols + g];
    }
    total += factor * x[p.x_at + u * p.width + f];
  }
  return total;
}
`;

const finishRow = /* wgsl */ `
// The node's own row if it is included: its value and 1, else zeros.
fn ownRow(r: u32, f: u32) -> vec2<f32> {
  let u = i32(r) + p.own;
  if (!has(${flag.self}u) || u < 0 || u >= i32(p.x_rows)) { return vec2<f32>(0.0, 0.0); }
  var factor = 1.0;
  if (has(${flag.xScale}u)) { factor = xScale[p.xScale_at + u32(u)]; }
  return vec2<f32>(factor * x[p.x_at + u32(u) * p.width + f], 1.0);
}

fn finish(r: u32, f: u32, sum: f32, count: f32) {
  var value = sum;
  if (has(${flag.mean}u) && count > 0.0) { value = value / count; }
  if (has(${flag.yScale}u)) { value = yScale[p.yScale_at + r] * value; }
  let at = p.y_at + r * p.width + f;
  if (has(${flag.accumulate}u)) { value += y[at]; }
  y[at] = value;
}
`;

const spmmSum = tensorProgram({
  name: 'spmmSum',
  arrays: sumArrays,
  params: sumParams,
  helpers: `${hasFlag}${sumOfEntries}${finishRow}`,
  body: /* wgsl */ `
  let r = i / p.width;
  let f = i % p.width;
  let begin = u32(offsets[p.offsets_at + r]);
  let end = u32(offsets[p.offsets_at + r + 1u]);
  let own = ownRow(r, f);
  finish(r, f, own.x + sumOf(begin, end, f), own.y + f32(end - begin));`,
});

/** Combines the sums of chunks into those of rows. */
const spmmJoin = tensorProgram({
  name: 'spmmJoin',
  arrays: [
    'read f32 x',
    'read f32 xScale',
    'read f32 yScale',
    'read i32 offsets',
    'read i32 bounds',
    'read f32 sums',
    'write f32 y',
  ],
  params: sumParams,
  helpers: `${hasFlag}${finishRow}`,
  body: /* wgsl */ `
  let r = i / p.width;
  let f = i % p.width;
  let own = ownRow(r, f);
  var total = own.x;
  let end = u32(bounds[p.bounds_at + r + 1u]);
  for (var k = u32(bounds[p.bounds_at + r]); k < end; k++) { total += sums[p.sums_at + k * p.width + f]; }
  let entries = offsets[p.offsets_at + r + 1u] - offsets[p.offsets_at + r];
  finish(r, f, total, own.y + f32(entries));`,
});

const spmmExtreme = tensorProgram({
  name: 'spmmExtreme',
  arrays: [
    'read f32 x',
    'read f32 w',
    'read i32 offsets',
    'read i32 indices',
    'read i32 slots',
    'write f32 y',
    'write i32 won',
  ],
  params: ['n u32', 'width u32', 'w_cols u32', 'flags u32', 'sign f32', 'wants_won u32'],
  helpers: `${specialValues}${hasFlag}`,
  body: /* wgsl */ `
  let r = i / p.width;
  let f = i % p.width;
  let begin = u32(offsets[p.offsets_at + r]);
  let end = u32(offsets[p.offsets_at + r + 1u]);
  var best = 0.0;
  var winner = -1;
  for (var e = begin; e < end; e++) {
    let u = u32(indices[p.indices_at + e]);
    var slot = e;
    if (has(${flag.slots}u)) { slot = u32(slots[p.slots_at + e]); }
    var value = x[p.x_at + u * p.width + f];
    if (has(${flag.weight}u)) { value = w[p.w_at + slot * p.w_cols + f / (p.width / p.w_cols)] * value; }
    if (winner < 0 || p.sign * value > p.sign * best || (isNan(value) && !isNan(best))) {
      best = value;
      winner = i32(slot);
    }
  }
  y[p.y_at + i] = best;
  if (p.wants_won != 0u) { won[p.won_at + i] = winner; }`,
});

const spmmArgBackward = tensorProgram({
  name: 'spmmArgBackward',
  arrays: [
    'read f32 gy',
    'read f32 w',
    'read i32 won',
    'read i32 offsets',
    'read i32 indices',
    'read i32 slots',
    'write f32 gx',
  ],
  params: ['n u32', 'width u32', 'w_cols u32', 'weighted u32'],
  body: /* wgsl */ `
  let r = i / p.width;
  let f = i % p.width;
  let end = u32(offsets[p.offsets_at + r + 1u]);
  var total = 0.0;
  for (var e = u32(offsets[p.offsets_at + r]); e < end; e++) {
    let v = u32(indices[p.indices_at + e]) * p.width + f;
    let slot = slots[p.slots_at + e];
    if (won[p.won_at + v] != slot) { continue; }
    var factor = 1.0;
    if (p.weighted != 0u) { factor = w[p.w_at + u32(slot) * p.w_cols + f / (p.width / p.w_cols)]; }
    total += factor * gy[p.gy_at + v];
  }
  gx[p.gx_at + i] = total;`,
});

const sddmm = tensorProgram({
  name: 'sddmm',
  arrays: [
    'read f32 x',
    'read f32 y',
    'read f32 xScale',
    'read f32 yScale',
    'read i32 won',
    'read i32 offsets',
    'read i32 indices',
    'write f32 scores',
  ],
  params: ['n u32', 'rows u32', 'width u32', 'heads u32', 'scaled_x u32', 'scaled_y u32', 'chosen u32'],
  helpers: rowOfEntry,
  body: /* wgsl */ `
  let e = i / p.heads;
  let block = p.width / p.heads;
  let first = (i % p.heads) * block;
  let r = rowOf(e);
  let u = u32(indices[p.indices_at + e]);
  let to = r * p.width;
  var total = 0.0;
  for (var f = first; f < first + block; f++) {
    if (p.chosen != 0u && won[p.won_at + to + f] != i32(e)) { continue; }
    total += x[p.x_at + u * p.width + f] * y[p.y_at + to + f];
  }
  if (p.scaled_x != 0u) { total *= xScale[p.xScale_at + u]; }
  if (p.scaled_y != 0u) { total *= yScale[p.yScale_at + r]; }
  scores[p.scores_at + i] = total;`,
});

interface SumArguments {
  readonly x: Argument;
  readonly w: Argument;
  readonly xScale?: Argument;
  readonly yScale?: Argument;
  readonly offsets: Offsets;
  /** If null, entry e takes row e of x. */
  readonly indices: Int32Array | null;
  readonly slots?: Int32Array | null;
  readonly y: Argument;
  readonly xRows: number;
  readonly width: number;
  readonly wCols: number;
  readonly self?: number | null;
  readonly mean?: boolean;
  readonly accumulate?: boolean;
}

/** Sums the entries of each row; long rows in chunks. */
export function sumRows(c: Compute, a: SumArguments): void {
  const { width, offsets } = a;
  const rows = offsets.length - 1;
  if (rows === 0 || width === 0) return;
  const [w, xScale, yScale] = [a.w, a.xScale, a.yScale].map((factors) => lasting(c, factors));
  const ofEntries =
    (a.xScale ? flag.xScale : 0) |
    (a.w ? flag.weight : 0) |
    (a.slots ? flag.slots : 0) |
    (a.indices === null ? flag.entries : 0);
  const flags =
    ofEntries |
    (a.yScale ? flag.yScale : 0) |
    ((a.self ?? null) !== null ? flag.self : 0) |
    (a.mean ? flag.mean : 0) |
    (a.accumulate ? flag.accumulate : 0);
  const bounds = offsetsOn(c, offsets);
  const places = [a.indices && c.structure(a.indices), a.slots && c.structure(a.slots)];
  const params = (count: number, bits: number): number[] => [
    count * width,
    a.xRows,
    width,
    a.wCols,
    a.self ?? 0,
    bits,
  ];
  const chunked = chunkRows(offsets);
  if (chunked === null) {
    c.launch(spmmSum, [a.x, w, xScale, yScale, bounds, ...places, a.y], params(rows, flags), rows * width);
    return;
  }
  const count = chunked.chunks.length - 1;
  const sums = c.allocate('f32', count * width, 'sums');
  const chunks = c.structure(chunked.chunks);
  c.launch(spmmSum, [a.x, w, xScale, null, chunks, ...places, sums], params(count, ofEntries), count * width);
  const joined = [a.x, xScale, yScale, bounds, c.structure(chunked.bounds), sums, a.y];
  c.launch(spmmJoin, joined, params(rows, flags), rows * width);
  sums.release();
}

/** Caches host factors on the device: they belong to a graph, as its structure does. */
function lasting(c: Compute, factors: Argument): Argument {
  return factors instanceof Float32Array ? c.structure(factors) : (factors ?? null);
}

export function graphSpmmKernels(c: Compute): Partial<Kernels> {
  return {
    spmm(args) {
      const { op, x, w, xScale, yScale, offsets, indices } = args;
      const { positions: slots, y, arg, rows, xRows, width, wCols } = args;
      const { hasSelf, self, accumulate } = args;
      if (op === reduceCode.sum || op === reduceCode.mean) {
        sumRows(c, {
          x,
          w,
          xScale,
          yScale,
          offsets,
          indices,
          slots,
          y,
          xRows,
          width,
          wCols,
          self: hasSelf ? self : null,
          mean: op === reduceCode.mean,
          accumulate,
        });
        return;
      }
      const n = rows * width;
      const flags = (w === null ? 0 : flag.weight) | (slots === null ? 0 : flag.slots);
      const places = [offsetsOn(c, offsets), c.structure(indices), slots && c.structure(slots)];
      const sign = op === reduceCode.min ? -1 : 1;
      c.launch(
        spmmExtreme,
        [x, lasting(c, w), ...places, y, arg],
        [n, width, wCols, flags, sign, arg !== null],
        n,
      );
    },
    spmmArgBackward({ gy, w, arg, offsets, indices, positions: slots, gx, rows, width, wCols }) {
      const n = rows * width;
      const places = [offsetsOn(c, offsets), c.structure(indices), c.structure(slots)];
      c.launch(spmmArgBackward, [gy, lasting(c, w), arg, ...places, gx], [n, width, wCols, w !== null], n);
    },
    sddmm({ x, y, xScale, yScale, arg, offsets, indices, out, rows, width, heads }) {
      const n = indices.length * heads;
      const places = [offsetsOn(c, offsets), c.structure(indices)];
      c.launch(
        sddmm,
        [x, y, lasting(c, xScale), lasting(c, yScale), arg, ...places, out],
        [n, rows, width, heads, xScale !== null, yScale !== null, arg !== null],
        n,
      );
    },
  };
}
