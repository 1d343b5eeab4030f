/**
 * Aggregates neighbours: y[v] = reduce over the edges u → v of weight · x[u], by the kernel `spmm`. Its gradients are
 * the same kernel over the edges by source (for x) and inner products of both ends (for weights).
 */
import { type FloatArray, kernels, reduceCode } from '../../native/index.js';
import { type FloatDType, type Shape, Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkFloat, checkSameFloat, pack } from '../../tensor/ops/common.js';
import { formatShape, sizeOf } from '../../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Adjacency } from '../adjacency.js';
import type { ReduceName } from '../fn.js';
import type { AggregateOptions } from '../message-graph.js';
import { spmm } from './spmm.js';

interface AggregateAttributes {
  readonly adjacency: Adjacency;
  readonly reduce: ReduceName;
  /** Weights per edge; each applies to width / columns features. */
  readonly columns: number;
  readonly srcScale: FloatArray | null;
  readonly dstScale: FloatArray | null;
  /** The offset of a destination's own row among the sources; null if it is not included. */
  readonly self: number | null;
}

const aggregateOp = builtinOp<AggregateAttributes>({
  name: 'aggregate',
  forward(ctx, [x, weight], { adjacency, reduce, columns, srcScale, dstScale, self }) {
    const { numSrc, numDst, offsets, indices } = adjacency;
    const width = sizeOf(x.shape.slice(1));
    const y = Tensor.allocate(x.dtype, [numDst, ...x.shape.slice(1)]);
    const extreme = reduce === 'max' || reduce === 'min';
    const arg = extreme && ctx.recording ? Tensor.allocate('i32', y.shape) : null;
    spmm({
      reduce,
      x: pack(x),
      xRows: numSrc,
      y: y.floats,
      width,
      offsets,
      indices,
      weight: weight === undefined ? null : pack(weight),
      columns,
      xScale: srcScale,
      yScale: dstScale,
      arg: arg === null ? null : (arg.array as Int32Array),
      self,
    });
    // The gradient of x needs the weights, that of the weights needs x.
    const kept: Tensor[] = [];
    if (weight !== undefined) kept.push(weight);
    if (weight !== undefined && ctx.needs(1)) kept.push(x);
    if (arg !== null) kept.push(arg);
    ctx.save(...kept);
    return y;
  },
  backward(ctx, gy, attributes) {
    const weighted = ctx.hasInput(1);
    const { saved } = ctx;
    const weight = weighted ? saved[0] : null;
    const x = weighted && ctx.needs(1) ? saved[1] : null;
    const { reduce } = attributes;
    const arg = reduce === 'max' || reduce === 'min' ? (saved.at(-1)?.array as Int32Array) : null;
    const g = pack(gy);
    const rowShape = gy.shape.slice(1);
    const gx = ctx.needs(0) ? sourceGradient(g, gy.dtype, rowShape, weight, arg, attributes) : null;
    if (!weighted) return [gx];
    const gw = x === null ? null : weightGradient(g, sizeOf(rowShape), x, weight as Tensor, arg, attributes);
    return [gx, gw];
  },
});

function sourceGradient(
  gy: FloatArray,
  dtype: Tensor['dtype'],
  rowShape: Shape,
  weight: Tensor | null,
  arg: Int32Array | null,
  { adjacency, reduce, columns, srcScale, dstScale, self }: AggregateAttributes,
): Tensor {
  const { numSrc, numDst } = adjacency;
  const { offsets, indices, positions } = adjacency.out();
  const width = sizeOf(rowShape);
  const gx = Tensor.allocate(dtype, [numSrc, ...rowShape]);
  const w = weight === null ? null : pack(weight);
  if (arg !== null) {
    kernels().spmmArgBackward({
      gy,
      w,
      arg,
      offsets,
      indices,
      positions,
      gx: gx.floats,
      rows: numSrc,
      width,
      wCols: columns,
    });
    return gx;
  }
  const scale = reduce === 'mean' ? meanScale(adjacency, dtype, dstScale, self) : dstScale;
  spmm({
    x: gy,
    xRows: numDst,
    y: gx.floats,
    width,
    offsets,
    indices,
    positions,
    weight: w,
    columns,
    xScale: scale,
    yScale: srcScale,
    self: self === null ? null : -self,
  });
  return gx;
}

function weightGradient(
  gy: FloatArray,
  width: number,
  x: Tensor,
  weight: Tensor,
  arg: Int32Array | null,
  { adjacency, reduce, columns, srcScale, dstScale, self }: AggregateAttributes,
): Tensor {
  const gw = Tensor.allocate(weight.dtype, weight.shape);
  const scale = reduce === 'mean' ? meanScale(adjacency, weight.dtype, dstScale, self) : dstScale;
  const { offsets, indices, numDst } = adjacency;
  kernels().sddmm({
    x: pack(x),
    y: gy,
    xScale: srcScale,
    yScale: scale,
    arg,
    offsets,
    indices,
    out: gw.floats,
    rows: numDst,
    width,
    heads: columns,
  });
  return gw;
}

/** Returns the factor of each destination's gradient for a mean. */
function meanScale(
  adjacency: Adjacency,
  dtype: Tensor['dtype'],
  dstScale: FloatArray | null,
  self: number | null,
): FloatArray {
  const mean = adjacency.meanScale(dtype as FloatDType, self === null ? 0 : 1);
  return dstScale === null ? mean : mean.map((m, v) => m * dstScale[v]);
}

/**
 * Returns the number of weights per edge for rows of shape `row` and weights of shape `weight` (both without the first
 * axis): leading axes must be equal, the others 1 or missing. Null if they do not fit.
 */
export function weightColumns(row: Shape, weight: Shape): number | null {
  let used = weight.length;
  while (used > 0 && weight[used - 1] === 1) used--;
  // A last axis of size 1 in the rows cannot be distinguished and has no effect.
  if (used > row.length) return null;
  for (let i = 0; i < used; i++) if (row[i] !== weight[i]) return null;
  return sizeOf(weight.slice(0, used));
}

/** Checked options of an aggregation, with their defaults. */
export interface CheckedAggregate {
  readonly reduce: ReduceName;
  readonly weight: Tensor | null;
  readonly columns: number;
  readonly srcScale: FloatArray | null;
  readonly dstScale: FloatArray | null;
  /** The offset of a destination's own row among the sources; null if it is not included. */
  readonly self: number | null;
}

/** Throws if arguments do not fit a graph of these sizes. */
export function checkAggregate(
  counts: { readonly numSrc: number; readonly numDst: number; readonly numEdges: number },
  x: Tensor,
  options: AggregateOptions,
  selfOffset: number | null,
): CheckedAggregate {
  checkOptionNames('aggregate', options, {
    ...({ reduce: true, weight: true, srcScale: true, dstScale: true, self: true } as const),
  });
  const { reduce = 'sum', weight = null, srcScale = null, dstScale = null, self = false } = options;
  checkSameFloat('aggregate', { x, weight });
  if (!Object.hasOwn(reduceCode, reduce))
    throw new ValueError(expected('aggregate', 'sum, mean, max or min', 'reduce', reduce));
  checkRows('aggregate', 'x', x, counts.numSrc, 'source');
  const extreme = reduce === 'max' || reduce === 'min';
  if (extreme && (self || srcScale !== null || dstScale !== null))
    throw new ValueError(`aggregate: scales and self need reduce 'sum' or 'mean', got '${reduce}'.`);
  checkScale('srcScale', srcScale, x, counts.numSrc, 'source');
  checkScale('dstScale', dstScale, x, counts.numDst, 'destination');
  if (self && selfOffset === null)
    throw new ValueError('aggregate: self needs destinations that are among the sources.');
  let columns = 1;
  if (weight !== null) {
    checkRows('aggregate', 'weight', weight, counts.numEdges, 'edge');
    const fit = weightColumns(x.shape.slice(1), weight.shape.slice(1));
    if (fit === null) {
      const want = `one weight per edge, or leading axes as in x ${formatShape(x.shape)}`;
      throw new ShapeError(expected('aggregate', want, 'weight', formatShape(weight.shape)));
    }
    columns = fit;
  }
  return { reduce, weight, columns, srcScale, dstScale, self: self ? selfOffset : null };
}

/** @see MessageGraph.aggregate; `selfOffset` is the row of the first destination among the sources. */
export function aggregate(
  adjacency: Adjacency,
  x: Tensor,
  options: AggregateOptions,
  selfOffset: number | null,
): Tensor {
  const { weight, ...rest } = checkAggregate(adjacency, x, options, selfOffset);
  return aggregateOp(weight === null ? [x] : [x, weight], { adjacency, ...rest });
}

function checkScale(name: string, scale: FloatArray | null, x: Tensor, count: number, kind: string): void {
  if (scale === null) return;
  const wanted = x.dtype === 'f64' ? Float64Array : Float32Array;
  if (!(scale instanceof wanted))
    throw new ValueError(expected('aggregate', `a ${wanted.name} (x is ${x.dtype})`, name, scale));
  if (scale.length !== count)
    throw new ShapeError(expected('aggregate', `${count} factors (one per ${kind})`, name, scale.length));
}

/** Throws unless a tensor has `rows` rows. */
export function checkRows(where: string, name: string, t: Tensor, rows: number, kind: string): void {
  checkFloat(where, name, t);
  if (t.rank === 0 || t.shape[0] !== rows) {
    throw new ShapeError(
      expected(where, `${rows} rows (one per ${kind})`, name, `shape ${formatShape(t.shape)}`),
    );
  }
}
