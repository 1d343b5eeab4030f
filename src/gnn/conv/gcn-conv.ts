/**
 * Graph convolution: y = D̂^(−½) Â D̂^(−½) x Wᵀ + b, with Â = A + I (Kipf and Welling, ICLR 2017, eq. 2).
 *
 * The product and the aggregation commute, so the narrower side is aggregated (if equal the input, and always an input
 * whose rows a distributed graph caches). Edge weights of the graph enter Â.
 */
import { type MessageGraph, SparseMatrix } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import { init, Linear, Module, type ParameterOptions, parameter } from '../../nn/index.js';
import { add, type Tensor, zeros } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkInput, type Features, project, projectsFirst } from '../input.js';
import { propagate } from '../propagation.js';
import { convType } from './conv-type.js';

export interface GCNConvOptions extends ParameterOptions {
  /** Add a self loop to every node (the default). */
  readonly selfLoops?: boolean;
  /** Add a bias after the aggregation (the default). */
  readonly bias?: boolean;
}

/**
 * x [Ns, in] → [Nd, out]. The weight starts Glorot uniform, the bias 0.
 *
 * @example
 * const conv = new GCNConv(16, 7);
 * const y = conv.forward(graph, x);
 */
export class GCNConv extends Module {
  readonly lin: Linear;
  readonly bias: Tensor | null;
  readonly selfLoops: boolean;

  constructor(inFeatures: number, outFeatures: number, options: GCNConvOptions = {}) {
    super();
    checkOptionNames('GCNConv', options, { dtype: true, random: true, selfLoops: true, bias: true });
    this.lin = new Linear(inFeatures, outFeatures, { ...parameterOptions(options), bias: false });
    init.glorotUniform(this.lin.weight, options.random === undefined ? {} : { random: options.random });
    this.bias =
      options.bias === false ? null : parameter(zeros([outFeatures], { dtype: this.lin.weight.dtype }));
    this.selfLoops = options.selfLoops ?? true;
  }

  forward(graph: MessageGraph, x: Features): Tensor {
    checkInput('GCNConv', 'x', x, graph.numSrcNodes, this.lin.inFeatures);
    const y =
      x instanceof SparseMatrix || projectsFirst(graph, x, this.lin)
        ? propagate(graph, project(x, this.lin.weight), this.selfLoops)
        : project(propagate(graph, x, this.selfLoops), this.lin.weight);
    return this.bias === null ? y : add(y, this.bias);
  }

  protected override describe(): string {
    return `${this.lin.inFeatures} → ${this.lin.outFeatures}`;
  }
}

export const gcnType = convType({
  name: 'GCN',
  weighsEdges: true,
  settings: {},
  make: (_, { inFeatures, outFeatures, random }) =>
    new GCNConv(inFeatures, outFeatures, { random, bias: false }),
  run: (layer, block, x) => layer.forward(block, x),
});
