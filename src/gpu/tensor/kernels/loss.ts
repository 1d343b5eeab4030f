/**
 * Fused losses: the formulas of `native/reference/loss.ts`. Totals are not available as plain numbers from a device.
 */
import type { Kernels } from '../../../native/index.js';
import type { Compute } from '../compute.js';
import { launchRows, rowProgram } from '../row-program.js';
import { tensorProgram } from '../tensor-program.js';
import { specialValues } from './elementwise.js';
import { rowExponentials } from './softmax.js';

const crossEntropy = rowProgram({
  name: 'crossEntropy',
  arrays: ['read f32 x', 'read i32 labels', 'write f32 loss', 'write f32 lse'],
  helpers: specialValues,
  body: /* wgsl */ `${rowExponentials}
  if (isFirst) {
    let logTotal = log(total);
    let label = labels[p.labels_at + row];
    lse[p.lse_at + row] = top + logTotal;
    var value = 0.0;
    // The large numbers cancel first.
    if (label >= 0) { value = top - x[start + u32(label)] + logTotal; }
    loss[p.loss_at + row] = value;
  }`,
});

const crossEntropyBackward = tensorProgram({
  name: 'crossEntropyBackward',
  arrays: ['read f32 x', 'read i32 labels', 'read f32 lse', 'read f32 g', 'write f32 gx'],
  params: ['n u32', 'cols u32'],
  body: /* wgsl */ `
  let row = i / p.cols;
  let label = labels[p.labels_at + row];
  var slope = 0.0;
  if (label >= 0) {
    let hit = select(0.0, 1.0, u32(label) == i % p.cols);
    slope = g[p.g_at + row] * (exp(x[p.x_at + i] - lse[p.lse_at + row]) - hit);
  }
  gx[p.gx_at + i] = slope;`,
});

const bceWithLogits = tensorProgram({
  name: 'bceWithLogits',
  arrays: ['read f32 x', 'read f32 label', 'write f32 loss'],
  params: ['n u32'],
  body: /* wgsl */ `
  let v = x[p.x_at + i];
  loss[p.loss_at + i] = max(v, 0.0) - v * label[p.label_at + i] + log(1.0 + exp(-abs(v)));`,
});

const bceWithLogitsBackward = tensorProgram({
  name: 'bceWithLogitsBackward',
  arrays: ['read f32 x', 'read f32 label', 'read f32 g', 'write f32 gx'],
  params: ['n u32'],
  body: /* wgsl */ `
  let v = x[p.x_at + i];
  let e = exp(-abs(v));
  gx[p.gx_at + i] = g[p.g_at + i] * (select(1.0, e, v < 0.0) / (1.0 + e) - label[p.label_at + i]);`,
});

export function lossKernels(c: Compute): Partial<Kernels> {
  return {
    crossEntropy: (x, labels, loss, lse, rows, cols) =>
      launchRows(c, crossEntropy, [x, labels, loss, lse], rows, cols),
    crossEntropyBackward(x, labels, lse, g, gx, rows, cols) {
      const n = rows * cols;
      c.launch(crossEntropyBackward, [x, labels, lse, g, gx], [n, cols], n);
    },
    bceWithLogits: (x, target, loss, n) => c.launch(bceWithLogits, [x, target, loss], [n], n),
    bceWithLogitsBackward: (x, target, g, gx, n) =>
      c.launch(bceWithLogitsBackward, [x, target, g, gx], [n], n),
  };
}
