/**
 * Results whose bits are the same at every level with fused multiply-adds, and at the portable level on every
 * architecture: digests recorded in test/golden, one file for the two kinds of level. After a change that is meant to
 * change results, run `npx vitest run -u test/kernels/level-bits.test.ts` once with SKEIN_NATIVE=portable and once without.
 */
import { createHash } from 'node:crypto';
import { type FloatArray, nativeStatus } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  queryCode,
  reduceCode,
  scoreCode,
  unaryCode,
} from '#internal/native/index.js';
import { type FloatType, floatTypes, randomFloats, randomIds, zeros } from './harness.js';

type Cases = Record<string, string>;

function digest(...views: readonly ArrayBufferView[]): string {
  const hash = createHash('sha256');
  for (const view of views) hash.update(Buffer.from(view.buffer, view.byteOffset, view.byteLength));
  return hash.digest('hex').slice(0, 16);
}

/** m, n, k: edges of vectors and tiles, several steps of k, k split into parts where a is transposed. */
const shapes = [
  ...[1, 2, 3, 5, 7, 8, 9, 13, 17, 33].map((size) => [size, size + 1, size] as const),
  [1, 300, 70],
  [300, 1, 70],
  [64, 65, 63],
  [127, 129, 128],
  [513, 47, 260],
  [40, 40, 5000],
  [1000, 64, 128],
  [7, 1100, 600],
] as const;

function products(kernels: Kernels, type: FloatType): Cases {
  const found: Cases = {};
  for (const [m, n, k] of shapes) {
    const a = randomFloats(type, m * k, 1, -1, 1);
    const b = randomFloats(type, k * n, 2, -1, 1);
    const bias = randomFloats(type, n, 3);
    for (const [transA, transB] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ]) {
      const c = randomFloats(type, m * n, 4);
      kernels.gemm({ a, b, bias, c, m, n, k, transA, transB, accumulate: true });
      found[`gemm ${type} ${m}x${n}x${k}${transA ? ' aT' : ''}${transB ? ' bT' : ''}`] = digest(c);
    }
  }
  return found;
}

function pairsOfProducts(kernels: Kernels, type: FloatType): Cases {
  const found: Cases = {};
  for (const [m, n, k1, k2] of [
    [5, 3, 7, 2],
    [100, 47, 32, 64],
    [3000, 17, 20, 5],
  ] as const) {
    const a1 = randomFloats(type, m * k1, 1);
    const a2 = randomFloats(type, m * k2, 2);
    const bias = randomFloats(type, n, 5);
    const c = zeros(type, m * n);
    const b1 = randomFloats(type, n * k1, 3);
    const b2 = randomFloats(type, n * k2, 4);
    kernels.gemmPair({ a1, b1, k1, a2, b2, k2, bias, c, m, n, relu: true });
    const [gb1, gb2, gbias] = [zeros(type, n * k1), zeros(type, n * k2), zeros(type, n)];
    const g = randomFloats(type, m * n, 6);
    kernels.gemmPairBackward({ g, y: c, a1, gb1, k1, a2, gb2, k2, gbias, m, n });
    found[`gemmPair ${type} ${m}x${n}x${k1}+${k2}`] = digest(c, gb1, gb2, gbias);
  }
  return found;
}

function scores(kernels: Kernels, type: FloatType): Cases {
  const [pairs, width] = [50, 101];
  const a = randomFloats(type, pairs * width, 1);
  const b = randomFloats(type, pairs * width, 2);
  return Object.fromEntries(
    Object.entries(scoreCode).map(([name, code]) => {
      const out = zeros(type, pairs);
      kernels.pairScores(code, a, b, out, pairs, width);
      return [`pairScores ${name} ${type}`, digest(out)];
    }),
  );
}

/** Moduli against shared negatives, whose gradients have tiles of their own. */
function moduli(kernels: Kernels, type: FloatType): Cases {
  const [edges, width, n, rowCount] = [150, 70, 37, 40];
  const query = randomFloats(type, edges * width, 1);
  const rows = randomFloats(type, rowCount * width, 2);
  const negatives = randomIds(n, rowCount, 3);
  const gy = randomFloats(type, edges * n, 4);
  const [out, gQuery, gRows] = [edges * n, edges * width, rowCount * width].map((size) => zeros(type, size));
  const shared = { op: scoreCode.modulus, query, rows, negatives, edges, width, chunks: 1, n };
  kernels.chunkedScores({ ...shared, out });
  kernels.chunkedScoresBackward({ ...shared, gy, y: out, gQuery, gRows, rowCount });
  return { [`moduli ${type}`]: digest(out, gQuery, gRows) };
}

/** Several tiles, the last one short; bias, label smoothing and dropout. */
function queries(kernels: Kernels, type: FloatType): Cases {
  const [rows, count, width] = [70, 603, 41];
  const offsets = Int32Array.from({ length: rows + 1 }, (_, i) => 2 * i);
  const ids = randomIds(2 * rows, count, 1);
  return Object.fromEntries(
    Object.entries(queryCode).map(([name, kind]) => {
      const [loss, gQuery, gTable] = [
        zeros(type, rows),
        zeros(type, rows * width),
        zeros(type, count * width),
      ];
      const gBias = zeros(type, count);
      kernels.queryLoss({
        kind,
        query: randomFloats(type, rows * width, 2, -1, 1),
        table: randomFloats(type, count * width, 3, -1, 1),
        bias: randomFloats(type, count, 4),
        answerOffsets: offsets,
        answers: ids,
        knownOffsets: offsets,
        known: ids,
        omega: randomFloats(type, rows, 5, 0.5, 1),
        tau: randomFloats(type, rows, 6, 0.2, 0.5),
        sigma: randomFloats(type, rows, 7, 0.001, 0.01),
        offset: 0.5,
        drop: 0.3,
        key: Uint32Array.of(1, 2, 3, 4),
        loss,
        gQuery,
        gTable,
        gBias,
        queries: rows,
        count,
        width,
      });
      return [`queryLoss ${name} ${type}`, digest(loss, gQuery, gTable, gBias)];
    }),
  );
}

/** Functions of vecmath; the f64 forms of gelu call the C library, which differs between systems. */
function functions(kernels: Kernels, type: FloatType): Cases {
  const n = 10_000;
  const found: Cases = {};
  for (const [name, code] of Object.entries(unaryCode)) {
    if (name === 'gelu' && type === 'f64') continue;
    const positive = name === 'log' || name === 'sqrt';
    const x = randomFloats(type, n, 1, positive ? 1e-3 : -20, 20);
    const y = zeros(type, n);
    kernels.unary(code, x, y, n, 0.1);
    found[`${name} ${type}`] = digest(y);
  }
  return found;
}

/** Sine and cosine of arguments beyond the range of the vector code, which have the same bits at every level. */
function hugeAngles(kernels: Kernels, type: FloatType): Cases {
  const n = 10_000;
  const [least, count] = type === 'f32' ? [29, 98] : [47, 976];
  const x = randomFloats(type, n, 1, 1, 2).map((value, i) => value * 2 ** (least + (i % count)));
  const [sin, cos] = [zeros(type, n), zeros(type, n)];
  kernels.unary(unaryCode.sin, x, sin, n, 0);
  kernels.unary(unaryCode.cos, x, cos, n, 0);
  return { [`huge angles ${type}`]: digest(sin, cos) };
}

function rowwise(kernels: Kernels, type: FloatType): Cases {
  const found: Cases = {};
  for (const [rows, cols] of [
    [9, 1],
    [9, 7],
    [40, 33],
    [3, 2000],
  ] as const) {
    const x = randomFloats(type, rows * cols, 1, -5, 5);
    const make = (): FloatArray => zeros(type, rows * cols);
    const [soft, logSoft, norm] = [make(), make(), make()];
    const [mean, rstd, sums] = [zeros(type, rows), zeros(type, rows), zeros(type, rows)];
    kernels.softmax(x, soft, rows, cols);
    kernels.logSoftmax(x, logSoft, rows, cols);
    kernels.layerNorm({ x, gamma: null, beta: null, y: norm, mean, rstd, rows, cols, eps: 1e-5 });
    kernels.reduce(reduceCode.sum, x, sums, rows, cols, 1);
    found[`softmax ${type} ${rows}x${cols}`] = digest(soft, logSoft);
    found[`layerNorm ${type} ${rows}x${cols}`] = digest(norm, mean, rstd);
    found[`sum ${type} ${rows}x${cols}`] = digest(sums);
  }
  return found;
}

/** A sum over neighbours, its softmax weights and their gradient. */
function neighbours(kernels: Kernels, type: FloatType): Cases {
  const [rows, degree, heads] = [60, 5, 4];
  const entries = rows * degree;
  const offsets = Int32Array.from({ length: rows + 1 }, (_, i) => i * degree);
  const indices = randomIds(entries, rows, 1);
  const found: Cases = {};
  for (const width of [4, 12, 100]) {
    const x = randomFloats(type, rows * width, 2);
    const weights = zeros(type, entries * heads);
    kernels.edgeSoftmax(randomFloats(type, entries * heads, 3), offsets, weights, rows, heads);
    const y = zeros(type, rows * width);
    const { sum } = reduceCode;
    kernels.spmm({
      op: sum,
      x,
      w: weights,
      xScale: null,
      yScale: null,
      offsets,
      indices,
      positions: null,
      y,
      arg: null,
      rows,
      xRows: rows,
      width,
      wCols: heads,
      hasSelf: true,
      self: 0,
      accumulate: false,
    });
    const dots = zeros(type, entries * heads);
    kernels.sddmm({
      x,
      y,
      xScale: null,
      yScale: null,
      arg: null,
      offsets,
      indices,
      out: dots,
      rows,
      width,
      heads,
    });
    found[`neighbours ${type} ${width}`] = digest(weights, y, dots);
  }
  return found;
}

function random(kernels: Kernels, type: FloatType): Cases {
  const key = Uint32Array.of(1, 2, 3, 4);
  const n = 1003;
  const [uniform, normal, dropped, bits] = [
    zeros(type, n),
    zeros(type, n),
    zeros(type, n),
    new Uint32Array(n),
  ];
  kernels.randomBits(bits, n, key, 5);
  kernels.randomUniform(uniform, n, -1, 1, key, 5);
  kernels.randomNormal(normal, n, 0, 1, key, 5);
  kernels.dropout(normal, dropped, n, 0.3, key);
  return { [`random ${type}`]: digest(bits, uniform, normal, dropped) };
}

const { SKEIN_NATIVE: asked = '' } = process.env;

it.runIf(/^[a-z]/.test(asked))('the requested level runs', () => {
  expect(nativeStatus()).toMatchObject({ backend: 'native', level: asked });
});

describe.runIf(nativeKernels !== null)('bits of a level', () => {
  it('are those recorded for levels of its kind', async () => {
    const kernels = nativeKernels as Kernels;
    const kind = nativeStatus().level === 'portable' ? 'portable' : 'fused';
    const families = [
      products,
      pairsOfProducts,
      scores,
      moduli,
      queries,
      functions,
      hugeAngles,
      rowwise,
      neighbours,
      random,
    ];
    const found = families.flatMap((family) =>
      floatTypes.flatMap((type) => Object.entries(family(kernels, type))),
    );
    const text = `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`../golden/bits-${kind}.json`);
  });
});
