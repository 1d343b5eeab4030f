/** Dropout with the random words of the CPU: the mask is the same bit for bit. */
import type { Kernels } from '../../../native/index.js';
import { philoxFunctions } from '../../wgsl/philox.js';
import type { Compute } from '../compute.js';
import { tensorProgram } from '../tensor-program.js';

/** One invocation per block of four words. */
const dropout = tensorProgram({
  name: 'dropout',
  arrays: ['read f32 x', 'write f32 y'],
  params: [
    ...['n u32', 'size u32', 'k0 u32', 'k1 u32', 's0 u32', 's1 u32'],
    ...['threshold u32', 'none u32', 'factor f32'],
  ],
  helpers: philoxFunctions,
  body: /* wgsl */ `
  let words = philox(vec4<u32>(i, 0u, p.s0, p.s1), vec2<u32>(p.k0, p.k1));
  for (var lane = 0u; lane < 4u; lane++) {
    let at = 4u * i + lane;
    if (at >= p.size) { return; }
    var value = 0.0;
    if (p.none == 0u && words[lane] >= p.threshold) { value = x[p.x_at + at] * p.factor; }
    y[p.y_at + at] = value;
  }`,
});

/** One invocation per element: the words of a row need not start at a block. */
const dropoutRows = tensorProgram({
  name: 'dropoutRows',
  arrays: ['read f32 x', 'read i32 ids', 'write f32 y'],
  params: [
    ...['n u32', 'width u32', 'k0 u32', 'k1 u32', 's0 u32', 's1 u32'],
    ...['threshold u32', 'none u32', 'factor f32'],
  ],
  helpers: philoxFunctions,
  body: /* wgsl */ `
  let key = vec4<u32>(p.k0, p.k1, p.s0, p.s1);
  var value = 0.0;
  if (p.none == 0u && rowWord(key, ids[p.ids_at + i / p.width], p.width, i % p.width) >= p.threshold) {
    value = x[p.x_at + i] * p.factor;
  }
  y[p.y_at + i] = value;`,
});

/**
 * Returns the threshold. Words are integers, so rounding the exact threshold up to an integer selects the same words.
 */
function bounds(probability: number): (number | boolean)[] {
  const threshold = Math.ceil(probability * 2 ** 32);
  const none = threshold >= 2 ** 32;
  return [none ? 0 : threshold, none, none ? 0 : 1 / (1 - probability)];
}

export function dropoutKernels(c: Compute): Partial<Kernels> {
  return {
    dropout(x, y, n, probability, key) {
      const blocks = Math.ceil(n / 4);
      c.launch(dropout, [x, y], [blocks, n, ...key, ...bounds(probability)], blocks);
    },
    dropoutRows(x, ids, y, rows, width, probability, key) {
      const n = rows * width;
      c.launch(dropoutRows, [x, ids, y], [n, width, ...key, ...bounds(probability)], n);
    },
  };
}
