/**
 * Computes messages by field name with tensor functions: `updateAll` and `applyEdges` of every graph that is in this
 * process. A fused pass is used where there is one (a copied source, a source times an edge weight, inner products);
 * otherwise the message of every edge is computed and reduced.
 */
import { add, div, mul, sub, sum, Tensor } from '../tensor/index.js';
import { formatShape } from '../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import type { EdgeBatch, Message, MessageOp, NodeFunction, Operand, Reduce, UserMessage } from './fn.js';
import type { Frame } from './frame.js';
import type { MessageGraph } from './message-graph.js';
import { weightColumns } from './ops/aggregate.js';

export function updateAll(graph: MessageGraph, message: Message | UserMessage, reduce: Reduce): void {
  checkReduce(reduce);
  if (typeof message === 'function') {
    const messages = runUserMessage(graph, message);
    const chosen = messages[findMessage(Object.keys(messages), reduce)];
    graph.dstdata[reduce.out] = graph.aggregateEdges(graph.toPositions(chosen), reduce.op);
    return;
  }
  if (message.out !== reduce.message) {
    throw new ValueError(
      expected(
        'updateAll',
        `a reduction of the message "${message.out}"`,
        'reduce',
        `one of "${reduce.message}"`,
      ),
    );
  }
  graph.dstdata[reduce.out] = reduceFused(graph, message, reduce) ?? reduceComposed(graph, message, reduce);
}

/** Sets the fields that `apply` computes from those of the destinations, including the reduced ones. */
export function applyNodes(graph: MessageGraph, apply: NodeFunction): void {
  if (typeof apply !== 'function')
    throw new ValueError(
      expected('updateAll', 'a function of nodes', 'apply', apply, 'Choose a relation with relation(name).'),
    );
  for (const [name, rows] of Object.entries(apply({ data: graph.dstdata }))) graph.dstdata[name] = rows;
}

export function applyEdges(graph: MessageGraph, message: Message | UserMessage): void {
  if (typeof message === 'function') {
    const messages = runUserMessage(graph, message);
    for (const [name, rows] of Object.entries(messages)) graph.edata[name] = rows;
    return;
  }
  graph.edata[message.out] = graph.toEdgeIds(edgeMessage(graph, message));
}

/**
 * Computes the softmax over the edges into each node, for each column: scores [E, …] by edge id, as in `edata`.
 *
 * @example
 * g.edata.a = edgeSoftmax(g, g.edata.score);
 */
export function edgeSoftmax(graph: MessageGraph, scores: Tensor): Tensor {
  return graph.toEdgeIds(graph.edgeSoftmax(graph.toPositions(scores)));
}

function reduceFused(graph: MessageGraph, { op, lhs, rhs }: Message, reduce: Reduce): Tensor | null {
  if (op === 'copy') {
    return lhs.target === 'u' ? graph.aggregate(graph.srcdata[lhs.field], { reduce: reduce.op }) : null;
  }
  if (op !== 'mul' || rhs === null) return null;
  const [node, edge] = lhs.target === 'e' ? [rhs, lhs] : [lhs, rhs];
  if (node.target !== 'u' || edge.target !== 'e') return null;
  const x = graph.srcdata[node.field];
  const weight = graph.edata[edge.field];
  if (weightColumns(x.shape.slice(1), weight.shape.slice(1)) === null) return null;
  return graph.aggregate(x, { reduce: reduce.op, weight: graph.toPositions(weight) });
}

function reduceComposed(graph: MessageGraph, message: Message, reduce: Reduce): Tensor {
  return graph.aggregateEdges(edgeMessage(graph, message), reduce.op);
}

/** Computes the message of every edge, in position order. */
function edgeMessage(graph: MessageGraph, { op, lhs, rhs }: Message): Tensor {
  if (op === 'copy' || rhs === null) return onEdges(graph, lhs);
  if (op === 'dot') return dotMessage(graph, lhs, rhs);
  return binary[op](...alignAxes(onEdges(graph, lhs), onEdges(graph, rhs)));
}

function dotMessage(graph: MessageGraph, lhs: Operand, rhs: Operand): Tensor {
  const ends = new Set([lhs.target, rhs.target]);
  if (ends.has('u') && ends.has('v')) {
    const [u, v] = lhs.target === 'u' ? [lhs, rhs] : [rhs, lhs];
    const src = graph.srcdata[u.field];
    const dst = graph.dstdata[v.field];
    const row = src.shape.slice(1);
    if (row.length > 0 && formatShape(row) === formatShape(dst.shape.slice(1))) {
      const size = row[row.length - 1];
      const heads = row.slice(0, -1).reduce((product, n) => product * n, 1);
      const scores = graph.dotScores(
        src.reshape([src.shape[0], heads, size]),
        dst.reshape([dst.shape[0], heads, size]),
      );
      return scores.reshape([graph.numEdges, ...row.slice(0, -1), 1]);
    }
  }
  const [a, b] = alignAxes(onEdges(graph, lhs), onEdges(graph, rhs));
  if (a.rank < 2) throw new ShapeError(expected('dot', 'at least one feature axis', 'a field', 'one number'));
  return sum(mul(a, b), -1, { keepDims: true });
}

const binary: Readonly<Record<Exclude<MessageOp, 'copy' | 'dot'>, (a: Tensor, b: Tensor) => Tensor>> = {
  add,
  sub,
  mul,
  div,
};

/** Gives both as many axes: missing feature axes are inserted after the edge axis, as in NumPy's broadcasting. */
function alignAxes(a: Tensor, b: Tensor): [Tensor, Tensor] {
  const rank = Math.max(a.rank, b.rank);
  const widen = (t: Tensor): Tensor =>
    t.rank === rank
      ? t
      : t.reshape([t.shape[0], ...new Array<number>(rank - t.rank).fill(1), ...t.shape.slice(1)]);
  return [widen(a), widen(b)];
}

function onEdges(graph: MessageGraph, { target, field }: Operand): Tensor {
  if (target === 'u') return graph.srcToEdges(graph.srcdata[field]);
  if (target === 'v') return graph.dstToEdges(graph.dstdata[field]);
  return graph.toPositions(graph.edata[field]);
}

/**
 * Runs a message function, gathering only the fields that it reads. Rows are in the order of edge ids, as in `edata`.
 */
function runUserMessage(graph: MessageGraph, message: UserMessage): Record<string, Tensor> {
  const lazily = (frame: Frame, place: (t: Tensor) => Tensor): Frame => {
    const made = new Map<string, Tensor>();
    return new Proxy<Frame>(frame, {
      get(target, key) {
        if (typeof key !== 'string') return undefined;
        let rows = made.get(key);
        if (rows === undefined) {
          rows = place(target[key]);
          made.set(key, rows);
        }
        return rows;
      },
    });
  };
  const edges: EdgeBatch = {
    src: lazily(graph.srcdata, (t) => graph.toEdgeIds(graph.srcToEdges(t))),
    dst: lazily(graph.dstdata, (t) => graph.toEdgeIds(graph.dstToEdges(t))),
    data: graph.edata,
  };
  const result: unknown = message(edges);
  if (typeof result !== 'object' || result === null)
    throw new ValueError(expected('message function', 'an object of named tensors', 'its result', result));
  for (const [name, rows] of Object.entries(result)) {
    if (!(rows instanceof Tensor) || rows.rank === 0 || rows.shape[0] !== graph.numEdges) {
      const got = rows instanceof Tensor ? `shape ${formatShape(rows.shape)}` : rows;
      throw new ShapeError(expected('message function', `${graph.numEdges} rows (one per edge)`, name, got));
    }
  }
  return result as Record<string, Tensor>;
}

/** Returns the name of the message that a reduction reads; throws if the function did not return it. */
export function findMessage(made: readonly string[], reduce: Reduce): string {
  if (made.includes(reduce.message)) return reduce.message;
  const names = made.join(', ') || 'nothing';
  throw new ValueError(expected('updateAll', `a message "${reduce.message}"`, 'the function', names));
}

export function checkReduce(reduce: Reduce): void {
  if (!['sum', 'mean', 'max', 'min'].includes(reduce?.op)) {
    throw new ValueError(
      expected('updateAll', 'fn.sum, fn.mean, fn.max or fn.min', 'reduce', reduce?.op ?? reduce),
    );
  }
}
