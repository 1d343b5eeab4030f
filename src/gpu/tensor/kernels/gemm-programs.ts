/**
 * Matrix products in WGSL: a workgroup computes one tile of the result from slices of both factors in workgroup memory,
 * and every invocation keeps a small block of that tile in registers.
 *
 * Strides describe the four layouts, so that one program serves plain and transposed factors. Every element is the sum
 * over rising k in one accumulator, whichever tile is used: a row of a plain product depends on its input row alone. A
 * long k can be split into parts, which `sumParts` adds in order.
 */
import { type TensorProgram, tensorProgram } from '../tensor-program.js';

/** Operations on the result after the product. */
export const outcome = { accumulate: 1, bias: 2, relu: 4 } as const;

export interface GemmTile {
  readonly rows: number;
  readonly cols: number;
  readonly program: TensorProgram;
}

const depth = 16;
const threads = 256;

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/**
 * Defines a tile. Each of the 256 invocations computes `high` × `wide` elements, so rows · cols = 256 · high · wide.
 */
function tile(name: string, rows: number, cols: number, high: number, wide: number): GemmTile {
  const across = cols / wide;
  const block = range(high).flatMap((i) => range(wide).map((j) => [i, j] as const));
  const program = tensorProgram({
    name: `gemm.${name}`,
    arrays: ['read f32 a', 'read f32 b', 'read f32 bias', 'write f32 c'],
    params: [
      ...['m u32', 'n u32', 'k u32', 'a_row u32', 'a_step u32', 'b_step u32', 'b_col u32'],
      ...['a_part u32', 'b_part u32', 'c_part u32', 'k_part u32', 'z_from u32', 'outcome u32'],
    ],
    workgroup: threads,
    helpers: /* wgsl */ `
var<workgroup> left: array<f32, ${depth * (rows + 1)}>;
var<workgroup> right: array<f32, ${depth * (cols + 1)}>;
fn finished(sum: f32, row: u32, col: u32, start: u32) {
  if (row >= p.m || col >= p.n) { return; }
  let at = start + row * p.n + col;
  var value = sum;
  if ((p.outcome & ${outcome.bias}u) != 0u) { value += bias[p.bias_at + col]; }
  if ((p.outcome & ${outcome.accumulate}u) != 0u) { value += c[at]; }
  if ((p.outcome & ${outcome.relu}u) != 0u) { value = select(value, 0.0, value < 0.0); }
  c[at] = value;
}`,
    main: /* wgsl */ `
@compute @workgroup_size(${threads})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) t: u32,
) {
  let z = group.z + p.z_from;
  let across = (p.n + ${cols - 1}u) / ${cols}u;
  let index = group.y * groups.x + group.x;
  let row0 = index / across * ${rows}u;
  let col0 = index % across * ${cols}u;
  if (row0 >= p.m) { return; }
  let first = z * p.k_part;
  let end = select(min(p.k, first + p.k_part), p.k, p.k_part == 0u);
  let a0 = p.a_at + z * p.a_part;
  let b0 = p.b_at + z * p.b_part;
  let r0 = t / ${across}u * ${high}u;
  let c0 = t % ${across}u * ${wide}u;
  ${block.map(([i, j]) => `var s${i}_${j} = 0.0;`).join(' ')}
  for (var k0 = first; k0 < end; k0 += ${depth}u) {
    ${loadSlice('left', 'a', rows, 'p.a_row', 'p.m', 'row0', 'p.a_step')}
    ${loadSlice('right', 'b', cols, 'p.b_col', 'p.n', 'col0', 'p.b_step')}
    workgroupBarrier();
    for (var q = 0u; q < ${depth}u; q++) {
      ${range(high)
        .map((i) => `let u${i} = left[q * ${rows + 1}u + r0 + ${i}u];`)
        .join(' ')}
      ${range(wide)
        .map((j) => `let v${j} = right[q * ${cols + 1}u + c0 + ${j}u];`)
        .join(' ')}
      ${block.map(([i, j]) => `s${i}_${j} += u${i} * v${j};`).join(' ')}
    }
    workgroupBarrier();
  }
  let start = p.c_at + z * p.c_part;
  ${block.map(([i, j]) => `finished(s${i}_${j}, row0 + r0 + ${i}u, col0 + c0 + ${j}u, start);`).join('\n  ')}
}`,
  });
  return { rows, cols, program };
}

/**
 * Copies `width` lines of `depth` elements to workgroup memory, zeros beyond the edges. Neighbouring invocations read
 * neighbouring elements in either layout of the factor; lines are padded by one element, so that writes across them
 * fall into different banks.
 */
function loadSlice(
  slice: string,
  array: string,
  width: number,
  lineStride: string,
  lines: string,
  first: string,
  stepStride: string,
): string {
  return /* wgsl */ `
    for (var e = t; e < ${depth * width}u; e += ${threads}u) {
      let along = ${stepStride} == 1u;
      let line = select(e % ${width}u, e / ${depth}u, along);
      let step = select(e / ${width}u, e % ${depth}u, along);
      let inside = ${first} + line < ${lines} && k0 + step < end;
      var value = 0.0;
      if (inside) { value = ${array}[${array}0 + (${first} + line) * ${lineStride} + (k0 + step) * ${stepStride}]; }
      ${slice}[step * ${width + 1}u + line] = value;
    }`;
}

const square = tile('square', 64, 64, 4, 4);
const tall = tile('tall', 128, 16, 4, 2);
const flat = tile('flat', 16, 128, 2, 4);
const small = tile('small', 16, 16, 1, 1);

/** Chooses the tile that wastes little on a result of m rows and n columns, and distributes even a small one. */
export function chooseTile(m: number, n: number): GemmTile {
  if (m * n <= 4096) return small;
  if (n <= 16) return tall;
  return m <= 16 ? flat : square;
}

/** c = Σ parts in order, then bias and ReLU as in a product. */
export const sumParts = tensorProgram({
  name: 'gemm.sumParts',
  arrays: ['read f32 parts', 'read f32 bias', 'write f32 c'],
  params: ['n u32', 'count u32', 'cols u32', 'outcome u32'],
  body: /* wgsl */ `
  var sum = 0.0;
  for (var part = 0u; part < p.count; part++) { sum += parts[p.parts_at + part * p.n + i]; }
  if ((p.outcome & ${outcome.bias}u) != 0u) { sum += bias[p.bias_at + i % p.cols]; }
  if ((p.outcome & ${outcome.accumulate}u) != 0u) { sum += c[p.c_at + i]; }
  if ((p.outcome & ${outcome.relu}u) != 0u) { sum = select(sum, 0.0, sum < 0.0); }
  c[p.c_at + i] = sum;`,
});

/** h = g where y > 0, else 0. */
export const passRelu = tensorProgram({
  name: 'gemm.passRelu',
  arrays: ['read f32 g', 'read f32 y', 'write f32 h'],
  params: ['n u32'],
  body: 'h[p.h_at + i] = select(0.0, g[p.g_at + i], y[p.y_at + i] > 0.0);',
});
