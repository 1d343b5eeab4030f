/**
 * One valid call of every kernel by position, small, and tight: every array is exactly as long as the kernel needs, and the last row of
 * every table is named by some id, so that one element less anywhere is one too few.
 */
import { type Kernels, recordParameters } from '#internal/native/index.js';

type Argument = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array | number | boolean | null;
export type KernelCall = readonly Argument[];

const f = (n: number): Float32Array => new Float32Array(n).fill(0.5);
const i = (...values: number[]): Int32Array => Int32Array.from(values);
const zeros = (n: number): Int32Array => new Int32Array(n);
const key = (): Uint32Array => Uint32Array.of(1, 2, 3, 4);
/** Two rows with the entries 0 and 1, 2; the three nodes at their other ends. */
const offsets = (): Int32Array => i(0, 1, 3);
const ends = (): Int32Array => i(0, 2, 1);
const slots = (): Int32Array => i(2, 0, 1);
/** Three nodes in a ring, by destination. */
const ring = { offsets: (): Int32Array => i(0, 1, 2, 3), indices: (): Int32Array => i(1, 2, 0) };
/** Two arrays of shape [2, 3], of which the second repeats its row. */
const dims = (): Int32Array => i(2, 2, 3, 3, 1, 0, 1);
/** Numbers per destination of temporal attention: 2 of the node, 2 of the edge, 2 of the time, 1. */
const row = 7;

const products: Record<string, () => KernelCall> = {
  gemm: () => [f(6), f(12), f(4), f(8), 2, 4, 3, false, false, false],
  gemmBatched: () => [f(12), f(24), f(16), 2, 2, 4, 3, false, false, false],
  gemmPair: () => [f(6), f(12), 3, f(4), f(8), 2, f(4), f(8), 2, 4, true],
  gemmPairBackward: () => [f(8), f(8), f(6), f(12), 3, f(4), f(8), 2, f(4), 2, 4],
  complexProduct: () => [f(8), f(8), f(8), 2, 2, false],
};

const random: Record<string, () => KernelCall> = {
  randomBits: () => [new Uint32Array(9), 9, key(), 5],
  randomUniform: () => [f(9), 9, 0, 1, key(), 5],
  randomNormal: () => [f(9), 9, 0, 1, key(), 5],
  randomBernoulli: () => [new Uint8Array(9), 9, 0.5, key(), 5],
  randomIntegers: () => [zeros(9), 9, -3, 7, key(), 5],
  randomPermutation: () => [zeros(9), 9, key()],
  dropout: () => [f(9), f(9), 9, 0.5, key()],
  dropoutRows: () => [f(6), i(2, 5), f(6), 2, 3, 0.5, key()],
  dropoutEntries: () => [f(3), offsets(), ends(), i(2, 5), f(3), 2, 9, 0.5, key()],
};

const rows: Record<string, () => KernelCall> = {
  gatherRows: () => [f(6), i(2, 0), f(4), 2, 8],
  gatherRowsStrided: () => [f(6), i(2, -1), f(5), 2, 8, 12],
  putRows: () => [f(4), i(2, 0), f(6), 2, 8],
  scatterAddRows: () => [i(2, 0), f(4), f(6), 2, 3, 2],
  sumRows: () => [i(2, 0), f(4), f(6), 2, 3, 2],
  coalesceRows: () => [i(2, 0), f(4), zeros(2), f(4), 2, 3, 2],
  rowPenalty: () => [f(6), i(2, 0), f(2), f(2), f(4), 2, 2, 3, true],
  segmentReduce: () => [2, f(6), offsets(), f(4), zeros(4), 2, 2],
  segmentReduceBackward: () => [2, f(4), offsets(), zeros(4), f(6), 2, 2],
  groupByKey: () => [i(2, 0, 1), zeros(4), zeros(3), 3, 3],
  mergeExtreme: () => [true, f(6), zeros(6), f(4), zeros(4), i(2, 0), 2, 2],
  mergeAttention: () => [f(12), f(6), f(8), f(4), i(2, 0), 2, 2, 2],
};

const graphs: Record<string, () => KernelCall> = {
  spmm: () => [
    ...[0, f(6), f(3), f(3), f(2), offsets(), ends(), slots(), f(4), zeros(4)],
    ...[2, 3, 2, 1, true, 0, false],
  ],
  spmmArgBackward: () => [f(6), f(3), zeros(6), offsets(), ends(), slots(), f(4), 2, 2, 1],
  sddmm: () => [f(6), f(4), f(3), f(2), zeros(4), offsets(), ends(), f(3), 2, 2, 1],
  edgeSoftmax: () => [f(6), offsets(), f(6), 2, 2],
  edgeSoftmaxBackward: () => [f(6), f(6), offsets(), f(6), 2, 2],
  gatAttention: () => [
    ...[f(12), f(6), f(4), f(6), offsets(), ends(), slots(), key(), 0.5, f(8), f(4)],
    ...[2, 2, 2, 0.2],
  ],
  gatAttentionBackward: () => [
    ...[f(12), f(6), f(4), f(6), f(8), f(4), f(8), offsets(), ends(), slots(), key(), 0.5, f(6), f(6)],
    ...[2, 2, 2, 0.2],
  ],
  gatv2Scores: () => [f(12), f(8), f(4), f(12), offsets(), ends(), f(6), 2, 2, 2, 0.2],
  gatv2ScoresBackward: () => [
    ...[f(12), f(8), f(4), f(12), f(6), offsets(), ends(), f(8), f(4), f(12)],
    ...[2, 2, 2, 0.2],
  ],
  gatv2ScoresBackwardSource: () => [
    ...[f(8), f(12), f(4), f(12), f(6), offsets(), ends(), slots(), f(8)],
    ...[2, 2, 2, 0.2],
  ],
};

const training: Record<string, () => KernelCall> = {
  gruCell: () => [f(18), f(18), f(6), f(6), f(24), 2, 3],
  gruCellBackward: () => [f(6), f(6), f(24), f(18), f(18), f(6), 2, 3],
  rnnCell: () => [f(6), f(6), f(6), 6, false],
  rnnCellBackward: () => [f(6), f(6), f(6), 6, true],
  timeEncode: () => [f(3), f(2), f(2), f(6), 3, 2],
  timeEncodeBackward: () => [f(3), f(2), f(2), f(6), f(3), f(2), f(2), 3, 2],
  sgdStep: () => [f(6), f(6), f(6), 6, 0.1, 0.9, 0, 0, false, false],
  adagradStep: () => [f(6), f(6), f(6), 6, 0.1, 1e-8, 0],
  adamStep: () => [f(6), f(6), f(6), f(6), 6, 0.1, 0.9, 0.99, 1e-8, 0, false, 0.1, 0.01],
  sgdStepRows: () => [f(6), i(2, 0), f(4), f(6), 2, 2, 0.1, 0.9, 0],
  rowAdagradStepRows: () => [f(6), i(2, 0), f(4), f(3), 2, 2, 0.1, 1e-8, 0],
  adagradStepRows: () => [f(6), i(2, 0), f(4), f(6), 2, 2, 0.1, 1e-8, 0],
  adamStepRows: () => [f(6), i(2, 0), f(4), f(6), f(6), 2, 2, 0.1, 0.9, 0.99, 1e-8, 0, false, 0.1, 0.01],
  softmax: () => [f(6), f(6), 2, 3],
  softmaxBackward: () => [f(6), f(6), f(6), 2, 3],
  logSoftmax: () => [f(6), f(6), 2, 3],
  logSoftmaxBackward: () => [f(6), f(6), f(6), 2, 3],
  crossEntropy: () => [f(6), i(2, -1), f(2), f(2), 2, 3],
  crossEntropyBackward: () => [f(6), i(2, -1), f(2), f(2), f(6), 2, 3],
  crossEntropyTotal: () => [f(6), i(2, -1), f(2), 1, f(6), 2, 3],
  bceWithLogits: () => [f(6), f(6), f(6), 6],
  bceWithLogitsBackward: () => [f(6), f(6), f(6), f(6), 6],
  layerNorm: () => [f(6), f(3), f(3), f(6), f(2), f(2), 2, 3, 1e-5],
  layerNormBackward: () => [f(6), f(6), f(3), f(2), f(2), f(6), f(3), f(3), 2, 3],
  columnStats: () => [f(6), f(3), f(3), 2, 3],
  batchNorm: () => [f(6), f(3), f(3), f(3), f(3), f(6), 2, 3],
  batchNormBackward: () => [f(6), f(6), f(3), f(3), f(3), f(6), f(3), f(3), 2, 3],
};

const elements: Record<string, () => KernelCall> = {
  argScatter: () => [f(4), i(2, 0, 1, 2), f(12), 2, 3, 2],
  unary: () => [0, f(9), f(9), 9, 0],
  unaryBackward: () => [0, f(9), f(9), f(9), f(9), 9, 0],
  binary: () => [0, f(6), f(3), f(6), 6, dims()],
  binaryI32: () => [0, zeros(6), zeros(3), zeros(6), 6, dims()],
  compare: () => [0, f(6), f(3), new Uint8Array(6), 6, dims()],
  compareI32: () => [0, zeros(6), zeros(3), new Uint8Array(6), 6, dims()],
  where: () => [new Uint8Array(9), f(9), f(9), f(9), 9],
  clamp: () => [f(9), f(9), 9, 0, 1],
  axpy: () => [2, f(9), f(9), 9],
  scale: () => [f(9), 9, 2],
  fill: () => [f(9), 9, 2],
  copyStrided: () => [f(6), f(6), 4, i(2, 2, 3, 1, 2, 3, 1)],
  cast: () => [f(9), 0, new Float64Array(9), 1, 9],
  crc32: () => [new Uint8Array(9), 9, 0],
  reduce: () => [0, f(12), f(4), 2, 3, 2],
  argReduce: () => [2, f(12), zeros(4), 2, 3, 2],
  sumSquares: () => [f(9), 9],
  allFinite: () => [f(9), 9],
  findOutOfRange: () => [i(1, 2, 3), 3, 0, 4],
};

const samplers: Record<string, () => KernelCall> = {
  sampleNeighbors: () => [
    ...[ring.offsets(), ring.indices(), Uint32Array.of(5, 5, 5), i(0, 1, 2), 3, i(-1), Uint32Array.of(1), 1],
    ...[false, key(), 0, 0, zeros(3).fill(-1), zeros(3), zeros(6), null],
    ...[zeros(7), zeros(3), zeros(3), zeros(3), 3],
  ],
  sampleHop: () => [
    ...[ring.offsets(), ring.indices(), Uint32Array.of(5, 5, 5), i(0, 1, 2), 3, -1, 0, false],
    ...[key(), 0, 0, zeros(3).fill(-1), zeros(3), 0, zeros(4), zeros(3), zeros(3), 3],
  ],
  drawNeighbors: () => [
    ...[ring.offsets(), Uint32Array.of(5, 5, 5), i(10, 11, 12), 3, 10, -1, 0, false],
    ...[key(), 0, 0, zeros(4), zeros(3), 3],
  ],
  // The list of both nodes starts at 1, has room for 2 entries and holds both events.
  sampleTemporalHop: () => [
    ...[i(1, 1), i(0, 0, 0), i(2, 0, 1), Float64Array.of(1, 2), 2, Float32Array.of(1, 1)],
    ...[i(1, 0, 0, 0, 0, 0), Float64Array.of(9, 9, 0, 0, 0, 0), i(-1, -1, 0, 0, 0, 0), 2],
    ...[2, -1, Number.POSITIVE_INFINITY, 0, false, false, key(), 0, 0],
    ...[zeros(3), zeros(4), zeros(4), f(4), 4],
  ],
  // Two nodes, one of which meets the other; a query at the end.
  eventStatistics: () => [
    ...[zeros(104), new Float64Array(4), f(32), zeros(7), new Float64Array(1), f(4), zeros(2)],
    ...[zeros(6400), f(19200), zeros(3), zeros(4), 2, 1, 2, 6400, Float64Array.of(1, 5, 4, 3, 2, 1)],
    ...[i(1), i(0), Float64Array.of(1), 1, i(1), Float64Array.of(2), i(1), i(0, 1), i(1), 1],
    ...[f(67), f(67), f(67), 67],
  ],
  pairFeatures: () => [
    ...[i(1, 1), i(0, 0, 0), i(2, 0, 1), Float64Array.of(1, 2), 2],
    ...[i(1, 0), Float64Array.of(9, 9), i(2, 2), 2, i(0, 1), 2, 0, 3, f(88)],
  ],
  randomWalk: () => [
    ...[ring.offsets(), ring.indices(), ring.indices(), i(0, 1, 2), 3, 2, 3],
    ...[0, 9, 9, 9, key(), 0, zeros(24)],
  ],
  sampleNegatives: () => [
    ...[ring.offsets(), ring.indices(), i(0, 1), 2, i(0, 1, 2), 3, 2],
    ...[2 ** 31, 3, key(), 0, 0, zeros(6)],
  ],
  sortRows: () => [offsets(), ends(), zeros(3), 2],
  metisPartition: () => [i(0, 2, 4, 6), i(1, 2, 0, 2, 0, 1), 3, 2, 1, zeros(3)],
  metisPartitionWeighted: () => [
    ...[i(0, 2, 4, 6), i(1, 2, 0, 2, 0, 1), i(1, 1, 1, 1, 1, 1), i(1, 1, 1), 1],
    ...[3, 2, 1, zeros(3)],
  ],
};

const scores: Record<string, () => KernelCall> = {
  pairScores: () => [0, f(6), f(6), f(3), 3, 2],
  pairScoresBackward: () => [0, f(3), f(3), f(6), f(6), f(6), f(6), 3, 2],
  chunkedScores: () => [0, f(6), f(6), i(2, 0, 1, 2), f(6), 3, 2, 2, 2],
  chunkedScoresBackward: () => [0, f(6), f(6), f(6), f(6), i(2, 0, 1, 2), f(6), f(6), 3, 2, 3, 2, 2],
  chunkedSoftmaxLoss: () => [
    ...[f(6), f(6), f(6), i(2, 0, 1, 2), i(0, 1, 1, 2), i(1, 0), f(3), f(6), f(6), f(6)],
    ...[3, 2, 3, 2, 2, 1],
  ],
  edgeSoftmaxLoss: () => [
    ...[1, f(6), i(0, 1, 2), i(1, 2, 0), f(4), i(0, 1, 0), i(2, 0, 1, 2), i(0, 1, 1, 2), i(1, 0), f(3)],
    ...[f(20), f(6), 3, 2, 2, 2, 1],
  ],
  queryLoss: () => [
    ...[1, f(4), f(6), f(3), i(0, 1, 3), i(2, 0, 1), i(0, 1, 3), i(2, 0, 1), f(2), f(2), f(2), 0, 0.5, key()],
    ...[f(2), f(4), f(6), f(3), 2, 3, 2],
  ],
  rankTile: () => [
    ...[0, f(4), f(2), i(0, 1), f(6), 0, i(0, 1, 2), i(1, 2), zeros(2), zeros(2)],
    ...[2, 2, 3],
  ],
  temporalAttention: () => [
    ...[f(4 * row), f(6), i(2, 0, 1), f(6), i(2, 1, 0), f(3), f(2), f(2), offsets(), key(), 0.5],
    ...[f(6), f(6), f(6), f(4 * row), 2, 2, 2, 2, 2, 1, 0.2],
  ],
  temporalAttentionBackward: () => [
    ...[f(4 * row), f(4 * row), f(6), i(2, 0, 1), f(6), i(2, 1, 0), f(3), f(2), f(2), offsets(), key(), 0.5],
    ...[f(6), f(6), f(6), f(4 * row), f(6), f(2), f(2), 2, 2, 2, 2, 2, 1, 0.2],
  ],
  momentAttention: () => [
    ...[
      f(6),
      f(18),
      i(0, 2, 1),
      i(0, 0, 1),
      Float64Array.of(1, 1, 2),
      offsets(),
      f(8),
      f(6),
      f(2),
      f(2),
      f(12),
    ],
    ...[i(1, 2), Float64Array.of(3, 4), f(12), 2, 2, 2, 2, 2, 3, 1, 0.2],
  ],
};

/** @param file an open file of at least 12 bytes, which `readRows` reads */
export function kernelCalls(file: number): Readonly<Record<keyof Kernels, () => KernelCall>> {
  return {
    ...{ ...products, ...random, ...rows, ...graphs, ...training, ...elements, ...samplers, ...scores },
    readRows: () => [file, i(0, 2), i(1, 0), f(2), 2, 4, 0],
  } as unknown as Readonly<Record<keyof Kernels, () => KernelCall>>;
}

/** The kernel with all parameters as positions, as in the calls above. */
export function byPosition(kernels: object, name: keyof Kernels): (...args: readonly unknown[]) => unknown {
  const kernel = (kernels as Record<string, (...args: readonly unknown[]) => unknown>)[name];
  const order = recordParameters(name);
  if (order === null) return kernel;
  return (...args) => kernel(Object.fromEntries(order.map((parameter, at) => [parameter, args[at]])));
}
