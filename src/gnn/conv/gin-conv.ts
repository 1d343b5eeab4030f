/**
 * Graph isomorphism layer (Xu et al., ICLR 2019, eq. 4.1): y_v = nn((1 + ε) x_v + Σ_{u∈N(v)} x_u).
 *
 * Edge weights of the graph are not used: the sum must distinguish multisets.
 */
import type { MessageGraph } from '../../graph/index.js';
import { newParameter } from '../../nn/factory.js';
import { init, type Layer, MLP, Module, type ParameterOptions } from '../../nn/index.js';
import { add, mul, Tensor } from '../../tensor/index.js';
import { formatShape } from '../../tensor/shape.js';
import { checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { flag, integer, number } from '../../util/settings.js';
import { isPair, type NodeInput } from '../input.js';
import { convType } from './conv-type.js';

export interface GINConvOptions extends Pick<ParameterOptions, 'dtype'> {
  /** Initial ε (default 0). */
  readonly eps?: number;
  /** Train ε. */
  readonly trainEps?: boolean;
}

/**
 * x [Ns, F] (or [xSrc, xDst]) → nn([Nd, F]), with `nn` typically an MLP.
 *
 * @example
 * const conv = new GINConv(new MLP([16, 32, 32]), { trainEps: true });
 * const y = conv.forward(graph, x); // [N, 32]
 */
export class GINConv extends Module {
  readonly nn: Layer;
  /** A tensor [1] if trained, otherwise a number. */
  readonly eps: Tensor | number;

  constructor(nn: Layer, options: GINConvOptions = {}) {
    super();
    checkOptionNames('GINConv', options, { dtype: true, eps: true, trainEps: true });
    if (!(nn instanceof Module)) throw new ValueError(expected('GINConv', 'a module', 'nn', nn));
    const eps = checkNumber('GINConv', 'eps', options.eps ?? 0);
    this.nn = nn;
    this.eps = options.trainEps === true ? newParameter([1], options, (t) => init.constant(t, eps)) : eps;
  }

  forward(graph: MessageGraph, x: NodeInput): Tensor {
    const src = isPair(x) ? x[0] : x;
    if (!(src instanceof Tensor))
      throw new ValueError(expected('GINConv', 'a tensor or a pair of tensors', 'x', src));
    const dst = isPair(x) ? x[1] : graph.dstRows(src);
    if (src.rank !== 2 || dst.rank !== 2 || src.shape[1] !== dst.shape[1]) {
      const got = `${formatShape(src.shape)} and ${formatShape(dst.shape)}`;
      throw new ShapeError(expected('GINConv', '[nodes, F] of one width F on both sides', 'x', got));
    }
    if (this.eps === 0 && !isPair(x)) return this.nn.forward(graph.aggregate(src, { self: true }));
    const own = mul(dst, this.eps instanceof Tensor ? add(this.eps, 1) : 1 + this.eps);
    return this.nn.forward(add(own, graph.aggregate(src)));
  }

  protected override describe(): string {
    return this.eps instanceof Tensor ? 'ε trained' : `ε ${this.eps}`;
  }
}

export const ginType = convType({
  name: 'GIN',
  settings: {
    hidden_dim: integer(0, 0, 'width of the layer inside its perceptron; 0: as wide as the output', {
      ours: true,
    }),
    eps: number(0, "the node's own row is weighted by 1 + eps", { ours: true }),
    train_eps: flag(false, 'learn eps', { ours: true }),
  },
  make: ({ hidden_dim: hidden, eps, train_eps: trainEps }, { inFeatures, outFeatures, random }) =>
    new GINConv(
      new MLP([inFeatures, hidden === 0 ? outFeatures : hidden, outFeatures], { activation: 'relu', random }),
      {
        ...{ eps, trainEps },
      },
    ),
  run: (layer, block, x) => layer.forward(block, x),
});
