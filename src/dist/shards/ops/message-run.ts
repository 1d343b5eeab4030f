/**
 * User-defined message functions on the edges of one shard. A first run, on the worker's own shard, shows which fields
 * the function reads, what it returns and which parameters it uses.
 */
import type { EdgeBatch, Frame, UserMessage } from '../../../graph/index.js';
import { spreadRows } from '../../../graph/ops/edge-rows.js';
import { identity } from '../../../graph/ops/spmm.js';
import { kernels } from '../../../native/index.js';
import { enableGrad, isGradEnabled, scope, Tensor } from '../../../tensor/index.js';
import { formatShape } from '../../../tensor/shape.js';
import { type Edge, TapeNode, tapePosition } from '../../../tensor/tape.js';
import { expected, ShapeError, StateError, ValueError } from '../../../util/errors.js';
import type { GraphShard } from '../graph-shard.js';
import { contiguous, rowBytes, type ShardedGraph } from '../shard-rows.js';

export interface MessageTarget extends ShardedGraph {
  readonly srcdata: Frame;
  readonly dstdata: Frame;
  readonly edata: Frame;
  /** Edge ids by position; null if they are the same. */
  readonly edgeIds: Int32Array | null;
  meanScale(dtype: 'f32' | 'f64', extra: number): Float32Array | Float64Array;
}

type Side = 'src' | 'dst' | 'data';

/** A tensor of a frame that the function reads. */
export interface Field {
  readonly side: Side;
  readonly name: string;
  readonly tensor: Tensor;
}

export interface MessageTrace {
  readonly fields: readonly Field[];
  readonly parameters: readonly Tensor[];
  /** Results on the own shard, outside the tape. */
  readonly results: Readonly<Record<string, Tensor>>;
}

/** Runs the function; `read` returns the rows of a field, one per source, destination or edge of the shard. */
function run(
  shard: GraphShard,
  message: UserMessage,
  read: (side: Side, name: string) => Tensor,
): Record<string, Tensor> {
  const frame = (side: Side): Frame => {
    const rowsByName = new Map<string, Tensor>();
    return new Proxy<Frame>(
      {},
      {
        get(_target, name) {
          if (typeof name !== 'string') return undefined;
          let rows = rowsByName.get(name);
          if (rows === undefined) {
            rows = rowsAlongEdges(shard, side, read(side, name));
            rowsByName.set(name, rows);
          }
          return rows;
        },
      },
    );
  };
  const edges: EdgeBatch = {
    src: frame('src'),
    dst: frame('dst'),
    data: frame('data'),
    sarShardInfo: shard.shardInfo,
  };
  const results: unknown = message(edges);
  if (typeof results !== 'object' || results === null)
    throw new ValueError(expected('message function', 'an object of named tensors', 'its result', results));
  for (const [name, t] of Object.entries(results)) {
    if (!(t instanceof Tensor) || t.rank === 0 || t.shape[0] !== shard.numEdges) {
      const got = t instanceof Tensor ? `shape ${formatShape(t.shape)}` : t;
      throw new ShapeError(expected('message function', `${shard.numEdges} rows (one per edge)`, name, got));
    }
  }
  return results as Record<string, Tensor>;
}

function rowsAlongEdges(shard: GraphShard, side: Side, rows: Tensor): Tensor {
  if (side === 'data') return rows;
  if (side === 'dst')
    return spreadRows(rows, shard.destinations(), () => ({
      offsets: shard.allOffsets(),
      indices: identity(shard.numEdges),
    }));
  return spreadRows(rows, shard.indices, () => {
    const { offsets, positions } = shard.out();
    return { offsets, indices: positions };
  });
}

/** Runs the function on one shard, with the rows of its fields. */
export function runOnShard(
  shard: GraphShard,
  message: UserMessage,
  fields: readonly Field[],
  rows: readonly Tensor[],
): Record<string, Tensor> {
  return run(shard, message, (side, name) => {
    const at = fields.findIndex((field) => field.side === side && field.name === name);
    if (at >= 0) return rows[at];
    throw new ValueError(
      `message function: expected the same fields on all shards, got ${side}.${name} on some only. Read the same fields for all edges.`,
    );
  });
}

/** Returns the edge ids of a shard's edges. */
export function shardEdgeIds({ edgeIds }: MessageTarget, shard: GraphShard): Int32Array {
  return edgeIds === null ? shard.edgePositions : shard.edgePositions.map((position) => edgeIds[position]);
}

/** Returns the rows of edge data for the edges of a shard. */
export function shardEdgeRows(graph: MessageTarget, shard: GraphShard, t: Tensor): Tensor {
  const rows = Tensor.allocate(t.dtype, [shard.numEdges, ...t.shape.slice(1)]);
  const ids = shardEdgeIds(graph, shard);
  kernels().gatherRows(contiguous(t).array, ids, rows.array, shard.numEdges, rowBytes(t));
  return rows;
}

/** Runs the function on the own shard, outside the tape, and records what it reads. */
export function traceMessage(graph: MessageTarget, message: UserMessage): MessageTrace {
  const { own } = graph;
  const frames = { src: graph.srcdata, dst: graph.dstdata, data: graph.edata };
  const fields: Field[] = [];
  const read = (side: Side, name: string): Tensor => {
    const tensor = frames[side][name];
    fields.push({ side, name, tensor });
    return side === 'data' ? shardEdgeRows(graph, own, tensor) : tensor.view(tensor.shape, tensor.strides);
  };
  const start = tapePosition();
  return scope(() => {
    // Recorded if gradients are enabled, because only the tape shows which parameters a function uses.
    const recorded = isGradEnabled() ? enableGrad(() => run(own, message, read)) : run(own, message, read);
    const used = parametersOf(Object.values(recorded), start);
    const results = Object.entries(recorded).map(([name, t]) => [name, contiguous(t.detach())] as const);
    const parameters = new Set([...(message.parameters?.() ?? []), ...used]);
    return { fields, parameters: [...parameters], results: Object.fromEntries(results) };
  });
}

/** Returns the leaves that results depend on, and discards the recorded nodes. */
function parametersOf(results: readonly Tensor[], start: number): Tensor[] {
  const leaves = new Set<Tensor>();
  const nodes = new Set<TapeNode>();
  const stack: Edge[] = results.map((t) => t.node ?? (t.requiresGrad ? t : null));
  while (stack.length > 0) {
    const edge = stack.pop() ?? null;
    if (edge instanceof Tensor) leaves.add(edge);
    if (!(edge instanceof TapeNode) || nodes.has(edge)) continue;
    if (edge.id < start) {
      throw new StateError(
        'message function: expected fields and parameters, got another computed tensor. Put it into srcdata, dstdata or edata first.',
      );
    }
    nodes.add(edge);
    stack.push(...edge.edges);
  }
  for (const node of nodes) node.release();
  return [...leaves];
}
