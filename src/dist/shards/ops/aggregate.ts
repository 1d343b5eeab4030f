/**
 * Neighbour aggregation over shards. Sums accumulate shard by shard; the gradient of the sources needs no source
 * values, so nothing is fetched in backward unless the weights need a gradient. Max and min store the winning edge
 * position of each entry, the lowest of equals over all shards.
 */

import type { AggregateOptions, ReduceName } from '../../../graph/index.js';
import { checkAggregate } from '../../../graph/ops/aggregate.js';
import { spmm } from '../../../graph/ops/spmm.js';
import { type FloatArray, kernels } from '../../../native/index.js';
import { Tensor } from '../../../tensor/index.js';
import { builtinOp } from '../../../tensor/op.js';
import { pack } from '../../../tensor/ops/common.js';
import { sizeOf } from '../../../tensor/shape.js';
import type { GraphShard } from '../graph-shard.js';
import { forEachShard } from '../shard-rounds.js';
import {
  addShard,
  contiguous,
  fillShardEdges,
  RowKeeper,
  type ShardedGraph,
  savedRowsOf,
  shardScale,
} from '../shard-rows.js';

interface Attributes {
  readonly graph: ShardedGraph;
  readonly reduce: ReduceName;
  readonly columns: number;
  /** Factor of each row used here; null: none. */
  readonly srcScale: FloatArray | null;
  /** Includes the divisor of a mean. */
  readonly dstScale: FloatArray | null;
  readonly self: number | null;
}

const aggregateOp = builtinOp<Attributes>({
  name: 'aggregate (shards)',
  forward(ctx, [given, weight], attributes) {
    const { graph, reduce } = attributes;
    const x = contiguous(given);
    const y = Tensor.allocate(x.dtype, [graph.numDst, ...x.shape.slice(1)]);
    const w = weight === undefined ? null : pack(weight);
    const keeper = new RowKeeper(graph, ctx.needs(1));
    let arg: Tensor | null = null;
    if (reduce === 'max' || reduce === 'min') arg = extremes(x, w, y, attributes, keeper);
    else sums(x, w, y, attributes, keeper);
    const saved: Tensor[] = [];
    if (weight !== undefined) saved.push(weight);
    if (ctx.needs(1)) saved.push(x);
    if (arg !== null) saved.push(arg);
    ctx.save(...saved, ...keeper.rows);
    keeper.dispose();
    arg?.dispose();
    if (x !== given) x.dispose();
    return y;
  },
  backward(ctx, gy, attributes) {
    const { graph, reduce } = attributes;
    const { saved } = ctx;
    const weight = ctx.hasInput(1) ? saved[0] : null;
    const x = ctx.needs(1) ? saved[1] : null;
    const at = (weight === null ? 0 : 1) + (x === null ? 0 : 1);
    const extreme = reduce === 'max' || reduce === 'min';
    const arg = extreme ? (saved[at].array as Int32Array) : null;
    const g = contiguous(gy);
    const gx = ctx.needs(0) ? Tensor.allocate(gy.dtype, [graph.link.numOwn, ...gy.shape.slice(1)]) : null;
    const gw = weight !== null && x !== null ? Tensor.allocate(weight.dtype, weight.shape) : null;
    const w = weight === null ? null : pack(weight);
    forEachShard(graph, {
      fields: x === null ? [] : [x],
      savedRows: x === null ? undefined : savedRowsOf(graph, saved.slice(at + (extreme ? 1 : 0)), 1),
      gradients: gx === null ? [] : [gx],
      visit(shard, rows, gradients) {
        if (gx !== null) sourceGradient(shard, g, w, arg, gradients[0], attributes);
        if (gw !== null) weightGradient(shard, rows[0], g, arg, gw, attributes);
        return undefined;
      },
    });
    return ctx.hasInput(1) ? [gx, gw] : [gx];
  },
});

function sums(x: Tensor, w: FloatArray | null, y: Tensor, attributes: Attributes, keeper: RowKeeper): void {
  const { graph, columns, srcScale, dstScale, self } = attributes;
  const width = sizeOf(x.shape.slice(1));
  forEachShard(graph, {
    fields: [x],
    visit(shard, rows) {
      const sum = {
        x: rows[0].floats,
        xRows: shard.numSrc,
        width,
        positions: w === null ? null : shard.edgePositions,
        weight: w,
        columns,
        xScale: shardScale(shard, srcScale),
        yScale: dstScale,
      };
      if (shard !== graph.own) {
        addShard(shard, y, sum);
      } else {
        // The own shard is visited first: it writes all of y.
        const { indices } = shard;
        spmm({ ...sum, y: y.floats, offsets: shard.allOffsets(), indices, self });
      }
      return keeper.keep(shard, rows);
    },
  });
}

function extremes(
  x: Tensor,
  w: FloatArray | null,
  y: Tensor,
  { graph, reduce, columns }: Attributes,
  keeper: RowKeeper,
): Tensor {
  const width = sizeOf(x.shape.slice(1));
  const arg = Tensor.allocate('i32', y.shape);
  const winners = arg.array as Int32Array;
  forEachShard(graph, {
    fields: [x],
    visit(shard, rows) {
      const { indices, edgePositions: positions, numSrc, numTouched, dstRows } = shard;
      const entries = {
        reduce,
        x: rows[0].floats,
        xRows: numSrc,
        width,
        indices,
        positions,
        weight: w,
        columns,
      };
      if (shard === graph.own) {
        spmm({ ...entries, y: y.floats, arg: winners, offsets: shard.allOffsets() });
      } else {
        const part = Tensor.allocate(y.dtype, [numTouched, width]);
        const argPart = Tensor.allocate('i32', [numTouched, width]);
        const won = argPart.array as Int32Array;
        spmm({ ...entries, y: part.floats, arg: won, offsets: shard.offsets });
        kernels().mergeExtreme(
          reduce === 'max',
          y.floats,
          winners,
          part.floats,
          won,
          dstRows,
          numTouched,
          width,
        );
        part.dispose();
        argPart.dispose();
      }
      return keeper.keep(shard, rows);
    },
  });
  return arg;
}

function sourceGradient(
  shard: GraphShard,
  g: Tensor,
  w: FloatArray | null,
  arg: Int32Array | null,
  gx: Tensor,
  { graph, columns, srcScale, dstScale, self }: Attributes,
): void {
  const { offsets, dst } = shard.out();
  const width = sizeOf(g.shape.slice(1));
  if (arg !== null) {
    const positions = shard.outPositions();
    const { numSrc } = shard;
    kernels().spmmArgBackward({
      gy: g.floats,
      w,
      arg,
      offsets,
      indices: dst,
      positions,
      gx: gx.floats,
      rows: numSrc,
      width,
      wCols: columns,
    });
    return;
  }
  spmm({
    x: g.floats,
    xRows: graph.numDst,
    y: gx.floats,
    width,
    offsets,
    indices: dst,
    positions: w === null ? null : shard.outPositions(),
    weight: w,
    columns,
    xScale: dstScale,
    yScale: shardScale(shard, srcScale),
    self: shard === graph.own && self !== null ? -self : null,
  });
}

function weightGradient(
  shard: GraphShard,
  x: Tensor,
  g: Tensor,
  arg: Int32Array | null,
  gw: Tensor,
  { columns, srcScale, dstScale }: Attributes,
): void {
  const width = sizeOf(g.shape.slice(1));
  const own = arg === null ? null : shardArg(shard, arg, width);
  const xScale = shardScale(shard, srcScale);
  const offsets = shard.allOffsets();
  fillShardEdges(shard, gw, (rows) => {
    const { indices, numDst } = shard;
    kernels().sddmm({
      x: x.floats,
      y: g.floats,
      xScale,
      yScale: dstScale,
      arg: own,
      offsets,
      indices,
      out: rows.floats,
      rows: numDst,
      width,
      heads: columns,
    });
  });
}

/** Converts winning edge positions to positions in a shard; −1 if the winner is in another shard. */
function shardArg(shard: GraphShard, arg: Int32Array, width: number): Int32Array {
  const { edgePositions, offsets, dstRows, numTouched } = shard;
  const own = new Int32Array(arg.length).fill(-1);
  for (let i = 0; i < numTouched; i++) {
    const row = dstRows === null ? i : dstRows[i];
    for (let f = row * width; f < (row + 1) * width; f++) {
      for (let p = offsets[i]; p < offsets[i + 1]; p++) if (edgePositions[p] === arg[f]) own[f] = p;
    }
  }
  return own;
}

/**
 * Aggregates over shards, see MessageGraph.aggregate. `exchangeFactors` extends factors of own rows to all rows used,
 * `meanScale` returns the factors of a mean.
 */
export function aggregate(
  graph: ShardedGraph,
  x: Tensor,
  options: AggregateOptions,
  scales: {
    readonly selfOffset: number | null;
    exchangeFactors(own: FloatArray): FloatArray;
    meanScale(dtype: 'f32' | 'f64', extra: number): FloatArray;
  },
): Tensor {
  const counts = { numSrc: graph.link.numOwn, numDst: graph.numDst, numEdges: graph.numEdges };
  const { reduce, weight, srcScale, dstScale, self, columns } = checkAggregate(
    counts,
    x,
    options,
    scales.selfOffset,
  );
  let scale = dstScale;
  if (reduce === 'mean') {
    const mean = scales.meanScale(x.dtype as 'f32' | 'f64', self === null ? 0 : 1);
    scale = dstScale === null ? mean : mean.map((m, v) => m * dstScale[v]);
  }
  return aggregateOp(weight === null ? [x] : [x, weight], {
    graph,
    reduce,
    columns,
    srcScale: srcScale === null ? null : scales.exchangeFactors(srcScale),
    dstScale: scale,
    self,
  });
}
