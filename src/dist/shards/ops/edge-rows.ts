/** Copies the source's row to each edge, shard by shard; backward needs no source values. */
import { checkRows } from '../../../graph/ops/aggregate.js';
import { spmm } from '../../../graph/ops/spmm.js';
import { kernels } from '../../../native/index.js';
import { Tensor } from '../../../tensor/index.js';
import { builtinOp } from '../../../tensor/op.js';
import { sizeOf } from '../../../tensor/shape.js';
import { forEachShard } from '../shard-rounds.js';
import { contiguous, fillShardEdges, rowBytes, type ShardedGraph } from '../shard-rows.js';

const srcToEdgesOp = builtinOp<{ readonly graph: ShardedGraph }>({
  name: 'srcToEdges (shards)',
  forward(_ctx, [given], { graph }) {
    const x = contiguous(given);
    const y = Tensor.allocate(x.dtype, [graph.numEdges, ...x.shape.slice(1)]);
    forEachShard(graph, {
      fields: [x],
      visit(shard, [source]) {
        fillShardEdges(shard, y, (rows) =>
          kernels().gatherRows(source.array, shard.indices, rows.array, shard.numEdges, rowBytes(x)),
        );
        return undefined;
      },
    });
    return y;
  },
  backward(_ctx, gy, { graph }) {
    const g = contiguous(gy);
    const gx = Tensor.allocate(gy.dtype, [graph.link.numOwn, ...gy.shape.slice(1)]);
    const width = sizeOf(gy.shape.slice(1));
    forEachShard(graph, {
      fields: [],
      gradients: [gx],
      visit(shard, _rows, [target]) {
        const { offsets } = shard.out();
        const edges = { x: g.floats, xRows: graph.numEdges, offsets, indices: shard.outPositions() };
        spmm({ ...edges, y: target.floats, width });
        return undefined;
      },
    });
    return [gx];
  },
});

export function srcToEdges(graph: ShardedGraph, x: Tensor): Tensor {
  checkRows('srcToEdges', 'x', x, graph.link.numOwn, 'source');
  return srcToEdgesOp([x], { graph });
}
