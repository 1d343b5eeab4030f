/**
 * One layer per edge type of a heterogeneous graph; if several reach a node type, their results are combined. For
 * relations between two node types the layer gets a pair of row tensors.
 */
import type { EdgeType, EdgeTypeName, MessageGraph } from '../../graph/index.js';
import { Module } from '../../nn/index.js';
import { add, concat, maximum, minimum, mul, slice, Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { NodePair } from '../input.js';

/** Rows for each node type. */
export type TypedRows = Readonly<Record<string, Tensor>>;

/** A layer that `HeteroConv` can hold: it takes pairs if its edge type connects two node types. */
export type RelationLayer = Module & {
  forward(graph: MessageGraph, x: never, edgeData?: never): Tensor;
};

/** A heterogeneous graph, or a block of one from `HeteroNeighborSampler`. */
export interface RelationGraphs {
  canonical(type: EdgeTypeName): EdgeType;
  relation(type: EdgeTypeName): MessageGraph;
}

export type HeteroAggregate = 'sum' | 'mean' | 'max' | 'min' | 'cat';

/**
 * x: a tensor per node type → a tensor per node type that some edge type reaches.
 *
 * @example
 * const conv = new HeteroConv({
 *   'author,writes,paper': new SAGEConv(8, 16, { inDst: 32 }),
 *   'paper,cites,paper': new GCNConv(32, 16),
 * });
 * const { paper } = conv.forward(graph, { author, paper });
 */
export class HeteroConv extends Module {
  /** Layers by edge type as given: a triple 'src,relation,dst', or a relation's name if that is unambiguous. */
  readonly convs: Readonly<Record<string, RelationLayer>>;
  readonly aggregate: HeteroAggregate;

  constructor(
    convs: Readonly<Record<string, RelationLayer>>,
    options: { readonly aggregate?: HeteroAggregate } = {},
  ) {
    super();
    checkOptionNames('HeteroConv', options, { aggregate: true });
    if (typeof options !== 'object')
      throw new ValueError(expected('HeteroConv', 'an object such as { aggregate }', 'options', options));
    const { aggregate = 'sum' } = options;
    if (!['sum', 'mean', 'max', 'min', 'cat'].includes(aggregate))
      throw new ValueError(expected('HeteroConv', 'sum, mean, max, min or cat', 'aggregate', aggregate));
    for (const [type, conv] of Object.entries(convs))
      if (!(conv instanceof Module)) throw new ValueError(expected('HeteroConv', 'a layer', type, conv));
    this.convs = { ...convs };
    this.aggregate = aggregate;
  }

  /** @param edgeData the third argument of layers (edge features), by edge type */
  forward(
    graph: RelationGraphs,
    x: TypedRows,
    edgeData: Readonly<Record<string, Tensor>> = {},
  ): Record<string, Tensor> {
    const results = new Map<string, Tensor[]>();
    for (const [name, conv] of Object.entries(this.convs)) {
      const [src, , dst] = graph.canonical(name);
      const relation = graph.relation(name);
      const input: Tensor | NodePair =
        src === dst ? rowsOf(x, src) : [rowsOf(x, src), firstRows(rowsOf(x, dst), relation.numDstNodes)];
      const data = Object.hasOwn(edgeData, name) ? [edgeData[name] as never] : [];
      const y = conv.forward(relation, input as never, ...data);
      results.set(dst, [...(results.get(dst) ?? []), y]);
    }
    return Object.fromEntries([...results].map(([type, list]) => [type, combined(list, this.aggregate)]));
  }

  protected override describe(): string {
    return this.aggregate;
  }
}

/** Returns the first rows: in a block, the destinations are the first of the sources. */
export function firstRows(rows: Tensor, count: number): Tensor {
  return rows.shape[0] > count ? slice(rows, 0, count) : rows;
}

function rowsOf(x: TypedRows, type: string): Tensor {
  if (Object.hasOwn(x, type) && x[type] instanceof Tensor) return x[type];
  throw new ValueError(expected('HeteroConv', 'a tensor', `x.${type}`, x[type]));
}

function combined(list: readonly Tensor[], how: HeteroAggregate): Tensor {
  if (how === 'cat') return concat(list, 1);
  const join = { sum: add, mean: add, max: maximum, min: minimum }[how];
  const total = list.reduce((a, b) => join(a, b));
  return how === 'mean' && list.length > 1 ? mul(total, 1 / list.length) : total;
}
