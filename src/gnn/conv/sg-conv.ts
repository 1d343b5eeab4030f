/**
 * Simplified graph convolution (Wu et al., ICML 2019, eq. 8): y = Âᵏ x Wᵀ + b with Â the adjacency with self loops,
 * normalised symmetrically.
 *
 * The product and the propagation commute, so the narrower side is propagated. More than one hop needs the whole graph,
 * or a list of blocks, one per hop, the outermost first.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, Tensor } from '../../tensor/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { integer } from '../../util/settings.js';
import { checkInput, type Features, project } from '../input.js';
import { propagate } from '../propagation.js';
import { stepGraphs } from './appnp.js';
import { convType } from './conv-type.js';

export interface SGConvOptions extends ParameterOptions {
  /** The power k (default 1). */
  readonly hops?: number;
  readonly selfLoops?: boolean;
  readonly bias?: boolean;
}

/**
 * x [N, in] → [N, out].
 *
 * @example
 * const conv = new SGConv(1433, 7, { hops: 2 });
 * const y = conv.forward(graph, x);
 */
export class SGConv extends Module {
  readonly lin: Linear;
  readonly hops: number;
  readonly selfLoops: boolean;

  constructor(inFeatures: number, outFeatures: number, options: SGConvOptions = {}) {
    super();
    checkOptionNames('SGConv', options, {
      dtype: true,
      random: true,
      hops: true,
      selfLoops: true,
      bias: true,
    });
    this.lin = new Linear(inFeatures, outFeatures, options);
    this.hops = checkInteger('SGConv', 'hops', options.hops ?? 1, 0);
    this.selfLoops = options.selfLoops ?? true;
  }

  forward(graphs: MessageGraph | readonly MessageGraph[], x: Features): Tensor {
    const { lin, hops } = this;
    const list = stepGraphs('SGConv', graphs, hops);
    checkInput('SGConv', 'x', x, list[0]?.numSrcNodes ?? x.shape[0], lin.inFeatures);
    // Rows of later hops are exchanged in any case, and narrow ones are cheaper.
    const kept = x instanceof Tensor && list.length === 1 && list[0].keepsRows(x);
    if (x instanceof Tensor && (kept || lin.outFeatures > lin.inFeatures))
      return lin.forward(this.#spread(list, x));
    const y = this.#spread(list, project(x, lin.weight));
    return lin.bias === null ? y : add(y, lin.bias);
  }

  #spread(graphs: readonly MessageGraph[], x: Tensor): Tensor {
    return graphs.reduce((y, graph) => propagate(graph, y, this.selfLoops), x);
  }

  protected override describe(): string {
    return `${this.lin.inFeatures} → ${this.lin.outFeatures}, ${this.hops} hops`;
  }
}

export const sgcType = convType({
  name: 'SGC',
  weighsEdges: true,
  settings: { hops: integer(1, 2, 'hops of propagation, each with a separate sampler', { ours: true }) },
  hops: ({ hops }) => hops,
  make: ({ hops }, { inFeatures, outFeatures, random }) =>
    new SGConv(inFeatures, outFeatures, { random, hops, bias: false }),
  run: (layer, _block, x, _relations, blocks) => layer.forward(blocks, x),
});
