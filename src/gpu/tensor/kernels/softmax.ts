/** Softmax and its logarithm over rows: the formulas of `native/reference/softmax.ts`. */
import type { Kernels } from '../../../native/index.js';
import type { Compute } from '../compute.js';
import { launchRows, rowProgram } from '../row-program.js';
import { specialValues } from './elementwise.js';

/** WGSL: the largest element of the row in `top`, Σ exp(x − top) in `total`. */
export const rowExponentials = /* wgsl */ `
  let start = p.x_at + row * p.cols;
  var largest = -infinity();
  for (var k = lane; k < cols; k += lanes) { largest = max(largest, x[start + k]); }
  let top = maxLanes(largest, t);
  var sum = 0.0;
  for (var k = lane; k < cols; k += lanes) { sum += exp(x[start + k] - top); }
  let total = sumLanes(sum, t);
`;

const softmax = rowProgram({
  name: 'softmax',
  arrays: ['read f32 x', 'write f32 y'],
  helpers: specialValues,
  body: /* wgsl */ `${rowExponentials}
  let out = p.y_at + row * p.cols;
  for (var k = lane; k < cols; k += lanes) { y[out + k] = exp(x[start + k] - top) / total; }`,
});

const logSoftmax = rowProgram({
  name: 'logSoftmax',
  arrays: ['read f32 x', 'write f32 y'],
  helpers: specialValues,
  body: /* wgsl */ `${rowExponentials}
  let logTotal = log(total);
  let out = p.y_at + row * p.cols;
  for (var k = lane; k < cols; k += lanes) { y[out + k] = x[start + k] - top - logTotal; }`,
});

const softmaxBackward = rowProgram({
  name: 'softmaxBackward',
  arrays: ['read f32 y', 'read f32 gy', 'write f32 gx'],
  body: /* wgsl */ `
  let start = row * p.cols;
  var sum = 0.0;
  for (var k = lane; k < cols; k += lanes) { sum += y[p.y_at + start + k] * gy[p.gy_at + start + k]; }
  let dotted = sumLanes(sum, t);
  for (var k = lane; k < cols; k += lanes) {
    gx[p.gx_at + start + k] = y[p.y_at + start + k] * (gy[p.gy_at + start + k] - dotted);
  }`,
});

const logSoftmaxBackward = rowProgram({
  name: 'logSoftmaxBackward',
  arrays: ['read f32 y', 'read f32 gy', 'write f32 gx'],
  body: /* wgsl */ `
  let start = row * p.cols;
  var sum = 0.0;
  for (var k = lane; k < cols; k += lanes) { sum += gy[p.gy_at + start + k]; }
  let total = sumLanes(sum, t);
  for (var k = lane; k < cols; k += lanes) {
    gx[p.gx_at + start + k] = gy[p.gy_at + start + k] - exp(y[p.y_at + start + k]) * total;
  }`,
});

export function softmaxKernels(c: Compute): Partial<Kernels> {
  return {
    softmax: (x, y, rows, cols) => launchRows(c, softmax, [x, y], rows, cols),
    logSoftmax: (x, y, rows, cols) => launchRows(c, logSoftmax, [x, y], rows, cols),
    softmaxBackward: (y, gy, gx, rows, cols) => launchRows(c, softmaxBackward, [y, gy, gx], rows, cols),
    logSoftmaxBackward: (y, gy, gx, rows, cols) => launchRows(c, logSoftmaxBackward, [y, gy, gx], rows, cols),
  };
}
