/**
 * Matrix products on the GPU: chooses the tile, and splits long sums. Both depend on sizes alone, so equal shapes give
 * equal bits.
 */
import { type FloatArray, type Kernels, reduceCode } from '../../../native/index.js';
import { grid, maxGroups } from '../../device/program.js';
import type { Compute } from '../compute.js';
import type { GpuArray } from '../gpu-array.js';
import { chooseTile, type GemmTile, outcome, passRelu, sumParts } from './gemm-programs.js';
import { reduce } from './reduce.js';

type Memory = FloatArray | GpuArray;

interface Product {
  readonly a: Memory;
  readonly b: Memory;
  readonly bias: Memory | null;
  readonly c: Memory;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transA: boolean;
  readonly transB: boolean;
  readonly outcome: number;
}

/** Workgroups that fill a large device; a product with fewer tiles and a long k is split. */
const wantedGroups = 256;
const shortestPart = 256;
const mostPartElements = 2 ** 24;

/** Returns the number of parts of k. Only the gradients of weights (a transposed) have few tiles and a long k. */
function partsOf({ m, n, k, transA }: Product, tile: GemmTile): number {
  if (!transA || k < 2 * shortestPart) return 1;
  const tiles = Math.ceil(m / tile.rows) * Math.ceil(n / tile.cols);
  const fits = Math.max(1, Math.floor(mostPartElements / (m * n)));
  return Math.min(Math.ceil(wantedGroups / tiles), Math.ceil(k / shortestPart), fits);
}

/** Runs a product `layers` times; layers are `a`, `b` and `c` elements apart, or are parts of k. */
function launchTiles(
  compute: Compute,
  product: Product,
  tile: GemmTile,
  layers: number,
  apart: { readonly a: number; readonly b: number; readonly c: number; readonly k: number },
): void {
  const { a, b, bias, c, m, n, k, transA, transB } = product;
  const [x, y] = grid(Math.ceil(m / tile.rows) * Math.ceil(n / tile.cols), 1);
  const strides = [...(transA ? [1, m] : [k, 1]), ...(transB ? [1, k] : [n, 1])];
  for (let from = 0; from < layers; from += maxGroups) {
    const groups = [x, y, Math.min(maxGroups, layers - from)] as const;
    const params = [m, n, k, ...strides, apart.a, apart.b, apart.c, apart.k, from, product.outcome];
    compute.launch(tile.program, [a, b, bias, c], params, { groups });
  }
}

function multiply(compute: Compute, product: Product): void {
  const { bias, c, m, n, k } = product;
  if (m === 0 || n === 0) return;
  const tile = chooseTile(m, n);
  const parts = partsOf(product, tile);
  if (parts === 1) {
    launchTiles(compute, product, tile, 1, { a: 0, b: 0, c: 0, k: 0 });
    return;
  }
  const sums = compute.allocate('f32', parts * m * n, 'gemm parts');
  const partial = { ...product, bias: null, c: sums, outcome: 0 };
  launchTiles(compute, partial, tile, parts, { a: 0, b: 0, c: m * n, k: Math.ceil(k / parts) });
  compute.launch(sumParts, [sums, bias, c], [m * n, parts, n, product.outcome], m * n);
  sums.release();
}

const outcomeOf = (bias: unknown, accumulate: boolean, relu = false): number =>
  (bias === null ? 0 : outcome.bias) | (accumulate ? outcome.accumulate : 0) | (relu ? outcome.relu : 0);

export function gemmKernels(compute: Compute): Partial<Kernels> {
  return {
    gemm({ a, b, bias, c, m, n, k, transA, transB, accumulate }) {
      multiply(compute, { a, b, bias, c, m, n, k, transA, transB, outcome: outcomeOf(bias, accumulate) });
    },
    gemmBatched({ a, b, c, batch, m, n, k, transA, transB, accumulate }) {
      if (m === 0 || n === 0) return;
      const each = { a, b, bias: null, c, m, n, k, transA, transB, outcome: outcomeOf(null, accumulate) };
      launchTiles(compute, each, chooseTile(m, n), batch, { a: m * k, b: k * n, c: m * n, k: 0 });
    },
    gemmPair({ a1, b1, k1, a2, b2, k2, bias, c, m, n, relu }) {
      const both = { c, m, n, transA: false, transB: true };
      multiply(compute, { ...both, a: a1, b: b1, k: k1, bias, outcome: outcomeOf(bias, false) });
      multiply(compute, { ...both, a: a2, b: b2, k: k2, bias: null, outcome: outcomeOf(null, true, relu) });
    },
    gemmPairBackward({ g, y, a1, gb1, k1, a2, gb2, k2, gbias, m, n }) {
      const passed = y === null ? null : compute.allocate('f32', m * n, 'passed gradient');
      if (passed !== null) compute.launch(passRelu, [g, y, passed], [m * n], m * n);
      const both = { a: passed ?? g, m: n, k: m, bias: null, transA: true, transB: false, outcome: 0 };
      multiply(compute, { ...both, b: a1, c: gb1, n: k1 });
      multiply(compute, { ...both, b: a2, c: gb2, n: k2 });
      if (gbias !== null) reduce(compute, reduceCode.sum, passed ?? g, gbias, 1, m, n);
      passed?.release();
    },
  };
}
