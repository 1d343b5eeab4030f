/**
 * Single kernels on flat arrays, results into existing memory on both sides. `peers/kernels.py` has the same cases; a
 * size changed here must change there, or the comparison of results rejects the case.
 */

import { zeros } from 'skein/tensor';
import { binaryCode, kernels, reduceCode, unaryCode } from '#internal/native/index.js';
import { defaultRandom } from '#internal/tensor/random.js';
import { distribution, figures, floats, integers } from '../inputs.js';
import type { Case, Prepared, Suite } from '../suite.js';
import { tensorCases } from './kernels-tensor.js';
import { trainingCases } from './kernels-training.js';

const array = (seed: number, shape: readonly number[], scale = 1): Float32Array =>
  floats(seed, shape, scale).dataSync() as Float32Array;
const empty = (n: number): Float32Array => zeros([n]).dataSync() as Float32Array;

/** c[m, n] = op(a)·b, with a stored as [k, m] when transposed. */
function product(name: string, m: number, k: number, n: number, transposed = false): Case {
  return {
    name,
    peer: name,
    flops: 2 * m * k * n,
    limit: 'gemm',
    ours() {
      const a = array(1, transposed ? [k, m] : [m, k]);
      const b = array(2, [k, n]);
      const c = empty(m * n);
      return {
        run: () =>
          kernels().gemm({
            a,
            b,
            bias: null,
            c,
            m,
            n,
            k,
            transA: transposed,
            transB: false,
            accumulate: false,
          }),
        check: () => figures('c', c),
      };
    },
  };
}

const rowCount = 1_000_000;
const width = 128;
const rowBytes = width * 4;

const gatherRows: Case = {
  name: 'gather_rows_1m_128',
  peer: 'gather_rows_1m_128',
  bytes: 2 * rowCount * rowBytes,
  limit: 'rows',
  ours() {
    const table = array(1, [rowCount, width]);
    const ids = integers(2, rowCount, rowCount);
    const out = empty(rowCount * width);
    return {
      run: () => kernels().gatherRows(table, ids, out, rowCount, rowBytes),
      check: () => figures('y', out),
    };
  },
};

function scatterAddRows(name: string, rows: number): Case {
  return {
    name,
    peer: name,
    bytes: (rowCount + 2 * rows) * rowBytes,
    limit: 'rows',
    ours() {
      const src = array(1, [rowCount, width]);
      const ids = integers(2, rowCount, rows);
      const dst = empty(rows * width);
      return {
        run: () => kernels().scatterAddRows(ids, src, dst, rowCount, rows, width),
        check: () => figures('dst', dst),
      };
    },
  };
}

const segmentSum: Case = {
  name: 'segment_sum_1m_128',
  peer: 'segment_sum_1m_128',
  bytes: (rowCount + 100_000) * rowBytes,
  limit: 'copy',
  ours() {
    const x = array(1, [rowCount, width]);
    const offsets = new Int32Array(100_001);
    for (const id of integers(2, rowCount, 100_000)) offsets[id + 1]++;
    for (let i = 0; i < 100_000; i++) offsets[i + 1] += offsets[i];
    const y = empty(100_000 * width);
    return {
      run: () => kernels().segmentReduce(reduceCode.sum, x, offsets, y, null, 100_000, width),
      check: () => figures('y', y),
    };
  },
};

/** A case that is bound by moving `bytes` sequentially. */
function streaming(name: string, bytes: number, ours: () => Prepared, tolerance = 1e-4): Case {
  return { name, peer: name, bytes, limit: 'copy', tolerance, ours };
}

const softmax = streaming('softmax_100000x47', 2 * 4 * 100_000 * 47, () => {
  const x = array(1, [100_000, 47], 4);
  const y = empty(100_000 * 47);
  return { run: () => kernels().softmax(x, y, 100_000, 47), check: () => figures('y', y) };
});

const addBiasRelu = streaming('add_bias_relu_100000x256', 2 * 4 * 100_000 * 256, () => {
  const n = 100_000 * 256;
  const x = array(1, [100_000, 256]);
  const bias = array(2, [256]);
  const y = empty(n);
  const dims = Int32Array.of(2, 100_000, 256, 256, 1, 0, 1);
  return {
    run() {
      kernels().binary(binaryCode.add, x, bias, y, n, dims);
      kernels().unary(unaryCode.relu, y, y, n, 0);
    },
    check: () => figures('y', y),
  };
});

const columnSum = streaming('column_sum_100000x256', 4 * 100_000 * 256, () => {
  const x = array(1, [100_000, 256]);
  const y = empty(256);
  return { run: () => kernels().reduce(reduceCode.sum, x, y, 1, 100_000, 256), check: () => figures('y', y) };
});

const transpose = streaming('transpose_4096', 2 * 4 * 4096 * 4096, () => {
  const x = array(1, [4096, 4096]);
  const y = empty(4096 * 4096);
  const dims = Int32Array.of(2, 4096, 4096, 1, 4096, 4096, 1);
  return { run: () => kernels().copyStrided(x, y, 4, dims), check: () => figures('y', y) };
});

const normal = streaming(
  'normal_10m',
  4 * 10_000_000,
  () => {
    const y = empty(10_000_000);
    const random = defaultRandom();
    const run = (): void =>
      kernels().randomNormal(y, y.length, 0, 1, random.key, random.reserve(4 * y.length));
    return { run, check: () => distribution('y', y) };
  },
  2e-3,
);

const permutation = streaming('permutation_1m', 4 * 1_000_000, () => {
  const y = new Int32Array(1_000_000);
  const random = defaultRandom();
  const run = (): void => kernels().randomPermutation(y, y.length, random.split(random.reserve(1)).key);
  return { run, check: () => distribution('y', y) };
});

export const kernelSuite: Suite = {
  name: 'kernels',
  cases: [
    product('gemm_square_1024', 1024, 1024, 1024),
    product('gemm_tall_100000x128x256', 100_000, 128, 256),
    product('gemm_tall_100000x128x64', 100_000, 128, 64),
    product('gemm_tn_128x100000x256', 128, 100_000, 256, true),
    gatherRows,
    scatterAddRows('scatter_add_rows_1m_128', rowCount),
    scatterAddRows('scatter_add_rows_1m_128_into_100k', 100_000),
    ...tensorCases,
    ...trainingCases,
    softmax,
    addBiasRelu,
    segmentSum,
    columnSum,
    transpose,
    normal,
    permutation,
  ],
};
