/**
 * The contract of the kernel library: one signature per kernel, shared by the C++ addon and by the plain
 * TypeScript twins in `reference/`, which define what each kernel means.
 *
 * Kernels are independent of shapes, tapes and broadcasting rules: they get flat arrays that start at element 0 and
 * sizes that the caller has checked. All float arrays of a call have the same type (f32 or f64). Arrays that a
 * kernel writes never overlap those it reads, except where a comment states "in place".
 *
 * Up to 8 parameters are positions. A kernel with more takes one record, whose fields are passed to C++ in the order that
 * `record-kernels.ts` lists. `npm run check` compares names, order and kinds with C++.
 *
 * Every result is the same bits for any number of threads.
 */
import type { AttentionKernels } from './attention-kernels.js';
import type { EventKernels } from './event-kernels.js';
import type { GemmKernels } from './gemm-kernels.js';
import type { GraphKernels } from './graph-kernels.js';
import type { NormKernels } from './norm-kernels.js';
import type { OptimKernels } from './optim-kernels.js';
import type { SampleKernels } from './sample-kernels.js';
import type { ScoreKernels } from './score-kernels.js';
import type { TemporalKernels } from './temporal-kernels.js';
import type { TemporalSampleKernels } from './temporal-sample-kernels.js';
import type { FloatArray, Offsets, RandomKey, TypedArray } from './types.js';

export type { Offsets, RandomKey } from './types.js';

/**
 * `dims` describes a walk over several strided arrays: `[rank, ...shape, ...strides of the first, ...of the second]`
 * in elements, strides >= 0 (0 repeats: broadcasting). `null` means: all operands contiguous and of the output's length.
 */
export type Dims = Int32Array | null;

export interface DropoutEntriesArguments {
  /** Values of the entries. */
  readonly x: FloatArray;
  /** Row boundaries, rows + 1. */
  readonly offsets: Offsets;
  /** Column of each entry. */
  readonly columns: Int32Array;
  /** Id of each row, as unsigned; null for 0, 1, 2, …. */
  readonly ids: Int32Array | null;
  /** The result. */
  readonly y: FloatArray;
  readonly rows: number;
  /** Columns of the matrix. */
  readonly width: number;
  /** Probability that an entry becomes 0. */
  readonly p: number;
  readonly key: RandomKey;
}

export interface RowPenaltyArguments {
  /** Rows of `width` numbers. */
  readonly x: FloatArray;
  /** The row of each of `count` penalties; null for the rows 0, 1, …, count − 1. */
  readonly ids: Int32Array | null;
  readonly weights: FloatArray;
  /** The penalty of each row, written. */
  readonly loss: FloatArray;
  /** The gradient [count, width], written; null if it is not needed. */
  readonly grad: FloatArray | null;
  readonly count: number;
  readonly width: number;
  /** A whole number from 1 to 64. */
  readonly power: number;
  /** Whether a row has width / 2 real components, then as many imaginary ones. */
  readonly complex: boolean;
}

export interface TimeEncodeBackwardArguments {
  /** [n] times. */
  readonly t: FloatArray;
  /** [d] frequencies. */
  readonly w: FloatArray;
  /** [d] phases. */
  readonly b: FloatArray;
  /** Gradient [n, d] of the result. */
  readonly gy: FloatArray;
  /** Gradient of t, overwritten; null if it is not needed. */
  readonly gt: FloatArray | null;
  /** Gradient of w, overwritten. */
  readonly gw: FloatArray;
  /** Gradient of b, overwritten. */
  readonly gb: FloatArray;
  readonly n: number;
  readonly d: number;
}

export interface Kernels
  extends AttentionKernels,
    EventKernels,
    GemmKernels,
    GraphKernels,
    NormKernels,
    OptimKernels,
    SampleKernels,
    ScoreKernels,
    TemporalKernels,
    TemporalSampleKernels {
  // --- elementwise ---------------------------------------------------------------------------------------------------
  /** y = op(x); `alpha` is the slope of leakyRelu and the scale of elu, otherwise unused. May run in place. */
  unary(op: number, x: FloatArray, y: FloatArray, n: number, alpha: number): void;
  /** gx = gy · op'(x); x and y are the forward's input and output. gx may be gy. */
  unaryBackward(
    op: number,
    x: FloatArray,
    y: FloatArray,
    gy: FloatArray,
    gx: FloatArray,
    n: number,
    alpha: number,
  ): void;
  /** y = a op b; y is contiguous and has the shape in dims (n elements). */
  binary(op: number, a: FloatArray, b: FloatArray, y: FloatArray, n: number, dims: Dims): void;
  binaryI32(op: number, a: Int32Array, b: Int32Array, y: Int32Array, n: number, dims: Dims): void;
  /** y = 1 where the comparison holds, else 0. NaN compares unequal to all. */
  compare(op: number, a: FloatArray, b: FloatArray, y: Uint8Array, n: number, dims: Dims): void;
  compareI32(op: number, a: Int32Array, b: Int32Array, y: Uint8Array, n: number, dims: Dims): void;
  /** y = condition ? a : b, all contiguous and of length n. */
  where(condition: Uint8Array, a: FloatArray, b: FloatArray, y: FloatArray, n: number): void;
  /** y = min(max(x, lo), hi); NaN stays NaN. */
  clamp(x: FloatArray, y: FloatArray, n: number, lo: number, hi: number): void;
  /** y += scale · x (in place on y). */
  axpy(scale: number, x: FloatArray, y: FloatArray, n: number): void;
  /** x *= scale (in place). */
  scale(x: FloatArray, n: number, scale: number): void;
  fill(x: FloatArray, n: number, value: number): void;

  // --- layout --------------------------------------------------------------------------------------------------------
  /** dst[walk] = src[walk] over `dims` = [rank, shape, srcStrides, dstStrides]; elements of `elementBytes` (1, 2, 4, 8). */
  copyStrided(src: TypedArray, dst: TypedArray, elementBytes: number, dims: Int32Array): void;
  /** Converts n elements between storage types (codes of `storageTypes`): to integers by truncation and saturation, to f16/bf16 by round-to-nearest-even. */
  cast(src: TypedArray, srcType: number, dst: TypedArray, dstType: number, n: number): void;

  // --- checksums -----------------------------------------------------------------------------------------------------
  /** CRC-32 (zip, PNG) of n bytes; `before` is the checksum of the bytes in front of them, 0 for none. */
  crc32(bytes: Uint8Array, n: number, before: number): number;

  // --- reductions over the middle axis of [outer, mid, inner] --------------------------------------------------------
  /** mid = 0 gives 0 for sum, NaN for mean; max and min need mid > 0. NaN wins max and min. */
  reduce(op: number, x: FloatArray, y: FloatArray, outer: number, mid: number, inner: number): void;
  /** Index of the largest (op max) or smallest (op min) element; ties and NaN: the lowest such index. */
  argReduce(op: number, x: FloatArray, index: Int32Array, outer: number, mid: number, inner: number): void;
  /** The gradient of max and min: gx[o, index[o, i], i] = gy[o, i], all else 0. */
  argScatter(
    gy: FloatArray,
    index: Int32Array,
    gx: FloatArray,
    outer: number,
    mid: number,
    inner: number,
  ): void;
  /** Sum of squares, accumulated in f64. */
  sumSquares(x: FloatArray, n: number): number;
  /** 1 when no element is NaN or infinite. */
  allFinite(x: FloatArray, n: number): number;
  /** Position of the first id outside [lo, hi), or -1. */
  findOutOfRange(ids: Int32Array, n: number, lo: number, hi: number): number;

  // --- softmax and losses --------------------------------------------------------------------------------------------
  softmax(x: FloatArray, y: FloatArray, rows: number, cols: number): void;
  softmaxBackward(y: FloatArray, gy: FloatArray, gx: FloatArray, rows: number, cols: number): void;
  logSoftmax(x: FloatArray, y: FloatArray, rows: number, cols: number): void;
  logSoftmaxBackward(y: FloatArray, gy: FloatArray, gx: FloatArray, rows: number, cols: number): void;
  /** loss[r] = lse[r] − x[r, label[r]], lse = log Σ exp; a negative label ignores the row (loss 0). */
  crossEntropy(
    x: FloatArray,
    labels: Int32Array,
    loss: FloatArray,
    lse: FloatArray,
    rows: number,
    cols: number,
  ): void;
  /** gx[r, :] = gRow[r] · (exp(x − lse) − onehot(label)); 0 for ignored rows. */
  crossEntropyBackward(
    x: FloatArray,
    labels: Int32Array,
    lse: FloatArray,
    gRow: FloatArray,
    gx: FloatArray,
    rows: number,
    cols: number,
  ): void;
  /**
   * The result is factor · Σ weights[r] · loss[r] (weights null: 1), and gx its gradient, from one pass over x; gx null: the
   * loss alone. A negative label ignores the row.
   */
  crossEntropyTotal(
    x: FloatArray,
    labels: Int32Array,
    weights: FloatArray | null,
    factor: number,
    gx: FloatArray | null,
    rows: number,
    cols: number,
  ): number;
  /** loss = max(x,0) − x·target + log(1 + exp(−|x|)). */
  bceWithLogits(x: FloatArray, target: FloatArray, loss: FloatArray, n: number): void;
  /** gx = g · (sigmoid(x) − target). */
  bceWithLogitsBackward(x: FloatArray, target: FloatArray, g: FloatArray, gx: FloatArray, n: number): void;

  // --- dropout -------------------------------------------------------------------------------------
  /** y[i] = x[i] / (1 − p) when word i of the key's sequence, as u32, is >= p·2³², else 0. Its own backward. */
  dropout(x: FloatArray, y: FloatArray, n: number, p: number, key: RandomKey): void;
  /** dropout with word ids[r]·width + c for y[r, c], independent of r; ids are read as unsigned. */
  dropoutRows(
    x: FloatArray,
    ids: Int32Array,
    y: FloatArray,
    rows: number,
    width: number,
    p: number,
    key: RandomKey,
  ): void;
  /** dropoutRows for the entries of a sparse matrix with `width` columns, with the mask of the dense matrix. */
  dropoutEntries(args: DropoutEntriesArguments): void;

  // --- rows by id ----------------------------------------------------------------------------------------------------
  /** y[i, :] = x[ids[i], :]; rows of `rowBytes` bytes, any element type. */
  gatherRows(x: TypedArray, ids: Int32Array, y: TypedArray, n: number, rowBytes: number): void;
  /** gatherRows into rows `strideBytes` apart, which leaves room for other columns; zeros where ids[i] is −1. */
  gatherRowsStrided(
    x: TypedArray,
    ids: Int32Array,
    y: TypedArray,
    n: number,
    rowBytes: number,
    strideBytes: number,
  ): void;
  /** dst[ids[i], :] = src[i, :]; rows of `rowBytes` bytes, any element type; ids are unique. */
  putRows(src: TypedArray, ids: Int32Array, dst: TypedArray, n: number, rowBytes: number): void;
  /**
   * out[outRows[i], :] = row ids[i] of an open file (its descriptor), ids ascending; rows closer than `gapBytes` in one transfer.
   * Many transfers are in flight at a time. A file that was opened for direct transfers needs the addon.
   */
  readRows(
    file: number,
    ids: Int32Array,
    outRows: Int32Array,
    out: TypedArray,
    n: number,
    rowBytes: number,
    gapBytes: number,
  ): void;
  /** dst[ids[i], :] += src[i, :], added in ascending i for every destination; dst has `rows` rows. */
  scatterAddRows(
    ids: Int32Array,
    src: FloatArray,
    dst: FloatArray,
    n: number,
    rows: number,
    width: number,
  ): void;
  /** out[r, :] = Σ src[i, :] over ids[i] = r in ascending i; 0 for rows without one. Overwrites all `rows` rows. */
  sumRows(ids: Int32Array, src: FloatArray, out: FloatArray, n: number, rows: number, width: number): void;
  /** Sums rows of equal id: outIds ascending and unique, outRows their sums in ascending i; returns how many. Ids < rows. */
  coalesceRows(
    ids: Int32Array,
    src: FloatArray,
    outIds: Int32Array,
    outRows: FloatArray,
    n: number,
    rows: number,
    width: number,
  ): number;
  /** loss[i] = weights[i] · Σ|x|^power over a row, with the modulus of complex components, and its gradient. */
  rowPenalty(args: RowPenaltyArguments): void;
  /** y[s, :] = op over rows offsets[s] … offsets[s+1]−1; an empty segment gives 0. `arg`: the row that won max/min (lowest on ties), −1 if empty. */
  segmentReduce(
    op: number,
    x: FloatArray,
    offsets: Int32Array,
    y: FloatArray,
    arg: Int32Array | null,
    segments: number,
    width: number,
  ): void;
  /** gx is overwritten for all rows of all segments. */
  segmentReduceBackward(
    op: number,
    gy: FloatArray,
    offsets: Int32Array,
    arg: Int32Array | null,
    gx: FloatArray,
    segments: number,
    width: number,
  ): void;

  // --- recurrent cells and time encoding -----------------------------------------------------------------------------
  /** PyTorch's GRU cell after its two products: gi, gh = [B,3H] in the order r,z,n. gates [B,4H] keeps r, z, n and the n columns of gh. */
  gruCell(
    gi: FloatArray,
    gh: FloatArray,
    h: FloatArray,
    out: FloatArray,
    gates: FloatArray,
    batch: number,
    hidden: number,
  ): void;
  /** dh is null if the gradient of the hidden state is not needed. */
  gruCellBackward(
    gout: FloatArray,
    h: FloatArray,
    gates: FloatArray,
    dgi: FloatArray,
    dgh: FloatArray,
    dh: FloatArray | null,
    batch: number,
    hidden: number,
  ): void;
  /** out = tanh(gi + gh), or relu when `relu`. */
  rnnCell(gi: FloatArray, gh: FloatArray, out: FloatArray, n: number, relu: boolean): void;
  /** Gradient of the sum gi + gh. */
  rnnCellBackward(gout: FloatArray, out: FloatArray, g: FloatArray, n: number, relu: boolean): void;
  /** y[i, j] = cos(t[i]·w[j] + b[j]); the argument is formed in f64. */
  timeEncode(t: FloatArray, w: FloatArray, b: FloatArray, y: FloatArray, n: number, d: number): void;
  timeEncodeBackward(args: TimeEncodeBackwardArguments): void;

  // --- counter-based random numbers (Philox4x32-10; element i uses word `start + i` of the key's sequence unless stated) -
  randomBits(out: Uint32Array, n: number, key: RandomKey, start: number): void;
  /** f32: lo + (hi − lo)·(word >>> 8)/2²⁴; f64: 53 bits of words 2i, 2i+1. */
  randomUniform(out: FloatArray, n: number, lo: number, hi: number, key: RandomKey, start: number): void;
  /** Box–Muller in f64 with log and cos of vecmath: element i uses words 4i … 4i+3. */
  randomNormal(out: FloatArray, n: number, mean: number, std: number, key: RandomKey, start: number): void;
  /** 1 with probability p, else 0. */
  randomBernoulli(out: Uint8Array, n: number, p: number, key: RandomKey, start: number): void;
  /** lo + high32(word · (hi − lo)). */
  randomIntegers(out: Int32Array, n: number, lo: number, hi: number, key: RandomKey, start: number): void;
  /** A permutation of 0 … n−1 by Fisher–Yates from the end. */
  randomPermutation(out: Int32Array, n: number, key: RandomKey): void;
}

/** The record that a kernel takes. */
export type KernelArguments<K extends keyof Kernels> = Parameters<Kernels[K]>[0];

/**
 * The kernels on a separate thread pool. Arrays that they write, and float arrays that they read, must not be changed until
 * the promise settles; ids are copied. `async-memory.ts` protects the memory meanwhile.
 */
export type AsyncKernels = {
  readonly [K in keyof Kernels]: (...args: Parameters<Kernels[K]>) => Promise<ReturnType<Kernels[K]>>;
};
