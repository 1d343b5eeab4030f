/**
 * Layer and batch normalisation: the formulas of `native/reference/norm.ts`. Sums over columns are a `reduce` of
 * products that are written to memory first.
 */
import { type Kernels, reduceCode } from '../../../native/index.js';
import type { Argument, Compute } from '../compute.js';
import { launchRows, rowProgram } from '../row-program.js';
import { tensorProgram } from '../tensor-program.js';
import { reduce } from './reduce.js';

const layerNorm = rowProgram({
  name: 'layerNorm',
  arrays: [
    ...['read f32 x', 'read f32 gamma', 'read f32 beta'],
    ...['write f32 y', 'write f32 mean', 'write f32 rstd'],
  ],
  params: ['eps f32', 'has_gamma u32', 'has_beta u32'],
  body: /* wgsl */ `
  let start = p.x_at + row * p.cols;
  var sum = 0.0;
  for (var k = lane; k < cols; k += lanes) { sum += x[start + k]; }
  let m = sumLanes(sum, t) / f32(p.cols);
  var squares = 0.0;
  for (var k = lane; k < cols; k += lanes) { let d = x[start + k] - m; squares += d * d; }
  let s = 1.0 / sqrt(sumLanes(squares, t) / f32(p.cols) + p.eps);
  if (isFirst) { mean[p.mean_at + row] = m; rstd[p.rstd_at + row] = s; }
  for (var k = lane; k < cols; k += lanes) {
    var value = (x[start + k] - m) * s;
    if (p.has_gamma != 0u) { value *= gamma[p.gamma_at + k]; }
    if (p.has_beta != 0u) { value += beta[p.beta_at + k]; }
    y[p.y_at + row * p.cols + k] = value;
  }`,
});

const layerNormBackward = rowProgram({
  name: 'layerNormBackward',
  arrays: [
    ...['read f32 x', 'read f32 gy', 'read f32 gamma', 'read f32 mean', 'read f32 rstd'],
    'write f32 gx',
  ],
  params: ['has_gamma u32'],
  helpers: /* wgsl */ `
fn upstream(at: u32, k: u32) -> f32 {
  let up = gy[p.gy_at + at + k];
  if (p.has_gamma == 0u) { return up; }
  return up * gamma[p.gamma_at + k];
}`,
  body: /* wgsl */ `
  let start = row * p.cols;
  var m = 0.0;
  var s = 0.0;
  if (row < p.rows) { m = mean[p.mean_at + row]; s = rstd[p.rstd_at + row]; }
  var sumG = 0.0;
  var sumGH = 0.0;
  for (var k = lane; k < cols; k += lanes) {
    let g = upstream(start, k);
    sumG += g;
    sumGH += g * (x[p.x_at + start + k] - m) * s;
  }
  let meanG = sumLanes(sumG, t) / f32(p.cols);
  let meanGH = sumLanes(sumGH, t) / f32(p.cols);
  for (var k = lane; k < cols; k += lanes) {
    let h = (x[p.x_at + start + k] - m) * s;
    gx[p.gx_at + start + k] = s * (upstream(start, k) - meanG - h * meanGH);
  }`,
});

/** gy · (x − mean) · rstd, with statistics by row or by column: the terms of the gradient of gamma. */
const gammaTerms = tensorProgram({
  name: 'norm.gammaTerms',
  arrays: ['read f32 x', 'read f32 gy', 'read f32 mean', 'read f32 rstd', 'write f32 out'],
  params: ['n u32', 'cols u32', 'by_row u32'],
  body: /* wgsl */ `
  let at = select(i % p.cols, i / p.cols, p.by_row != 0u);
  out[p.out_at + i] = gy[p.gy_at + i] * (x[p.x_at + i] - mean[p.mean_at + at]) * rstd[p.rstd_at + at];`,
});

const squaredDeviations = tensorProgram({
  name: 'norm.squaredDeviations',
  arrays: ['read f32 x', 'read f32 mean', 'write f32 out'],
  params: ['n u32', 'cols u32'],
  body: /* wgsl */ `
  let d = x[p.x_at + i] - mean[p.mean_at + i % p.cols];
  out[p.out_at + i] = d * d;`,
});

const batchNorm = tensorProgram({
  name: 'batchNorm',
  arrays: [
    ...['read f32 x', 'read f32 mean', 'read f32 rstd', 'read f32 gamma', 'read f32 beta'],
    'write f32 y',
  ],
  params: ['n u32', 'cols u32', 'has_gamma u32', 'has_beta u32'],
  body: /* wgsl */ `
  let k = i % p.cols;
  var value = (x[p.x_at + i] - mean[p.mean_at + k]) * rstd[p.rstd_at + k];
  if (p.has_gamma != 0u) { value *= gamma[p.gamma_at + k]; }
  if (p.has_beta != 0u) { value += beta[p.beta_at + k]; }
  y[p.y_at + i] = value;`,
});

const batchNormBackward = tensorProgram({
  name: 'batchNormBackward',
  arrays: [
    ...['read f32 x', 'read f32 gy', 'read f32 mean', 'read f32 rstd', 'read f32 gamma'],
    ...['read f32 ggamma', 'read f32 gbeta', 'write f32 gx'],
  ],
  params: ['n u32', 'cols u32', 'rows u32', 'has_gamma u32'],
  body: /* wgsl */ `
  let k = i % p.cols;
  let s = rstd[p.rstd_at + k];
  let h = (x[p.x_at + i] - mean[p.mean_at + k]) * s;
  let count = f32(p.rows);
  let centred = gy[p.gy_at + i] - gbeta[p.gbeta_at + k] / count - h * (ggamma[p.ggamma_at + k] / count);
  var scale = s;
  if (p.has_gamma != 0u) { scale *= gamma[p.gamma_at + k]; }
  gx[p.gx_at + i] = scale * centred;`,
});

export function normKernels(c: Compute): Partial<Kernels> {
  /** Sums the values that a program writes for every element over the rows. */
  const columnSums = (
    write: (terms: Argument, n: number) => void,
    out: Argument,
    op: number,
    rows: number,
    cols: number,
  ): void => {
    const terms = c.allocate('f32', rows * cols, 'norm terms');
    write(terms, rows * cols);
    reduce(c, op, terms, out, 1, rows, cols);
    terms.release();
  };
  return {
    layerNorm({ x, gamma, beta, y, mean, rstd, rows, cols, eps }) {
      const params = [eps, gamma !== null, beta !== null];
      launchRows(c, layerNorm, [x, gamma, beta, y, mean, rstd], rows, cols, params);
    },
    layerNormBackward({ x, gy, gamma, mean, rstd, gx, ggamma, gbeta, rows, cols }) {
      launchRows(c, layerNormBackward, [x, gy, gamma, mean, rstd, gx], rows, cols, [gamma !== null]);
      const write = (out: Argument, n: number): void =>
        c.launch(gammaTerms, [x, gy, mean, rstd, out], [n, cols, 1], n);
      if (ggamma !== null) columnSums(write, ggamma, reduceCode.sum, rows, cols);
      if (gbeta !== null) reduce(c, reduceCode.sum, gy, gbeta, 1, rows, cols);
    },
    columnStats(x, mean, variance, rows, cols) {
      reduce(c, reduceCode.mean, x, mean, 1, rows, cols);
      const write = (out: Argument, n: number): void =>
        c.launch(squaredDeviations, [x, mean, out], [n, cols], n);
      columnSums(write, variance, reduceCode.mean, rows, cols);
    },
    batchNorm(x, mean, rstd, gamma, beta, y, rows, cols) {
      const n = rows * cols;
      c.launch(batchNorm, [x, mean, rstd, gamma, beta, y], [n, cols, gamma !== null, beta !== null], n);
    },
    batchNormBackward({ x, gy, mean, rstd, gamma, gx, ggamma, gbeta, rows, cols }) {
      const size = rows * cols;
      const write = (out: Argument, n: number): void =>
        c.launch(gammaTerms, [x, gy, mean, rstd, out], [n, cols, 0], n);
      columnSums(write, ggamma, reduceCode.sum, rows, cols);
      reduce(c, reduceCode.sum, gy, gbeta, 1, rows, cols);
      const arrays = [x, gy, mean, rstd, gamma, ggamma, gbeta, gx];
      c.launch(batchNormBackward, arrays, [size, cols, rows, gamma !== null], size);
    },
  };
}
