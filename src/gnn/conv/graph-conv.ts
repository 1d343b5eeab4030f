/**
 * Higher-order graph layer of one level (Morris et al., AAAI 2019, eq. 3): y_v = W_rel · reduce_{u∈N(v)} w_uv x_u + b +
 * W_root x_v.
 *
 * Edge weights w of the graph enter the reduction. Sums and means commute with the product, so the narrower side is
 * aggregated.
 */
import { type MessageGraph, SparseMatrix } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, type FloatDType, type Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { choice } from '../../util/settings.js';
import { checkInput, type Features, isPair, type NodePair, project, projectsFirst } from '../input.js';
import { convType } from './conv-type.js';

export interface GraphConvOptions extends ParameterOptions {
  /** Aggregation over neighbours (default 'sum'). */
  readonly reduce?: 'sum' | 'mean' | 'max';
  readonly bias?: boolean;
  /** Width of the features of destinations, if it differs from that of sources. */
  readonly inDst?: number;
}

/**
 * x [Ns, in] (or [xSrc, xDst]) → [Nd, out].
 *
 * @example
 * const conv = new GraphConv(16, 32);
 * const y = conv.forward(graph, x);
 */
export class GraphConv extends Module {
  /** Applied to the neighbours. */
  readonly linRel: Linear;
  /** Applied to the node itself. */
  readonly linRoot: Linear;
  readonly reduce: 'sum' | 'mean' | 'max';

  constructor(inFeatures: number, outFeatures: number, options: GraphConvOptions = {}) {
    super();
    checkOptionNames('GraphConv', options, {
      dtype: true,
      random: true,
      reduce: true,
      bias: true,
      inDst: true,
    });
    const { reduce = 'sum', inDst = inFeatures } = options;
    if (!['sum', 'mean', 'max'].includes(reduce))
      throw new ValueError(expected('GraphConv', 'sum, mean or max', 'reduce', reduce));
    this.linRel = new Linear(inFeatures, outFeatures, options);
    this.linRoot = new Linear(inDst, outFeatures, { ...parameterOptions(options), bias: false });
    this.reduce = reduce;
  }

  forward(graph: MessageGraph, x: Features | NodePair): Tensor {
    const { linRel, linRoot } = this;
    const src = isPair(x) ? x[0] : x;
    checkInput('GraphConv', 'x', src, graph.numSrcNodes, linRel.inFeatures);
    return add(this.#neighbours(graph, src), this.#root(graph, x, linRoot));
  }

  #neighbours(graph: MessageGraph, x: Features): Tensor {
    const { linRel, reduce } = this;
    const weight = graph.positionWeights(linRel.weight.dtype as FloatDType, linRel.weight.device);
    if (reduce === 'max' && x instanceof SparseMatrix)
      throw new ValueError("GraphConv: expected dense features for reduce 'max', got a SparseMatrix.");
    if (x instanceof SparseMatrix || (reduce !== 'max' && projectsFirst(graph, x, linRel))) {
      const y = graph.aggregate(project(x, linRel.weight), { reduce, weight });
      return linRel.bias === null ? y : add(y, linRel.bias);
    }
    return linRel.forward(graph.aggregate(x, { reduce, weight }));
  }

  #root(graph: MessageGraph, x: Features | NodePair, lin: Linear): Tensor {
    if (x instanceof SparseMatrix) return graph.dstRows(project(x, lin.weight));
    const dst = isPair(x) ? x[1] : graph.dstRows(x);
    checkInput('GraphConv', 'the destinations of x', dst, graph.numDstNodes, lin.inFeatures);
    return lin.forward(dst);
  }

  protected override describe(): string {
    return `${this.linRel.inFeatures} → ${this.linRel.outFeatures}, ${this.reduce}`;
  }
}

export const graphConvType = convType({
  name: 'GRAPH_CONV',
  weighsEdges: true,
  settings: {
    reduce: choice(['SUM', 'MEAN', 'MAX'], 'SUM', 'aggregation over the neighbours', { ours: true }),
  },
  make: ({ reduce }, { inFeatures, outFeatures, random }) =>
    new GraphConv(inFeatures, outFeatures, {
      ...{ random, bias: false },
      reduce: reduce.toLowerCase() as 'sum' | 'mean' | 'max',
    }),
  run: (layer, block, x) => layer.forward(block, x),
});
