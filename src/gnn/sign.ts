/**
 * SIGN (Frasca et al., 2020, eq. 5): neighbourhoods of 0 … k hops are computed once, before training; the model is then
 * an MLP that needs no graph and trains on any batch of rows.
 *
 *   y = ξ(dropout(σ([x Θ₀, Â x Θ₁, …, Âᵏ x Θ_k])))
 */
import type { MessageGraph } from '../graph/index.js';
import { randomOf } from '../nn/factory.js';
import {
  type ActivationName,
  activation,
  Dropout,
  type Layer,
  Linear,
  Module,
  type ParameterOptions,
} from '../nn/index.js';
import { concat, noGrad, type Tensor } from '../tensor/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkWhole } from './conv/appnp.js';
import { propagate } from './propagation.js';

/** Returns [x, Â x, …, Âʰᵒᵖˢ x], outside the tape; Â is normalised symmetrically and by default has self loops. */
export function signFeatures(
  graph: MessageGraph,
  x: Tensor,
  hops: number,
  options: { readonly selfLoops?: boolean } = {},
): Tensor[] {
  checkOptionNames('signFeatures', options, { selfLoops: true });
  checkInteger('signFeatures', 'hops', hops, 0);
  checkWhole('signFeatures', graph);
  return noGrad(() => {
    const all = [x];
    for (let hop = 0; hop < hops; hop++) all.push(propagate(graph, all[hop], options.selfLoops ?? true));
    return all;
  });
}

export interface SIGNOptions extends ParameterOptions {
  /** The `hops` of `signFeatures`. */
  readonly hops: number;
  /** Probability of dropping an entry before the last map in training. */
  readonly dropout?: number;
  readonly activation?: ActivationName;
}

/**
 * hops + 1 tensors [N, in] → [N, out].
 *
 * @param sizes input, hidden (of each hop) and output size.
 * @example
 * const features = signFeatures(graph, x, 3);
 * const model = new SIGN([100, 256, 47], { hops: 3, dropout: 0.5 });
 * const logits = model.forward(features.map((f) => gatherRows(f, batch)));
 */
export class SIGN extends Module {
  readonly lins: readonly Linear[];
  readonly activation: Layer;
  readonly dropout: Dropout;
  readonly out: Linear;

  constructor(sizes: readonly [number, number, number], options: SIGNOptions) {
    super();
    checkOptionNames('SIGN', options, {
      dtype: true,
      random: true,
      hops: true,
      dropout: true,
      activation: true,
    });
    if (!Array.isArray(sizes) || sizes.length !== 3)
      throw new ValueError(expected('SIGN', 'input, hidden and output size', 'sizes', sizes));
    const hops = checkInteger('SIGN', 'hops', options.hops, 0);
    const [into, hidden, out] = sizes;
    this.lins = Array.from({ length: hops + 1 }, () => new Linear(into, hidden, options));
    this.activation = activation(options.activation ?? 'relu');
    this.dropout = new Dropout(options.dropout ?? 0, randomOf(options));
    this.out = new Linear((hops + 1) * hidden, out, options);
  }

  forward(features: readonly Tensor[]): Tensor {
    const { lins } = this;
    if (!Array.isArray(features) || features.length !== lins.length) {
      const want = `${lins.length} tensors (hops 0 … ${lins.length - 1})`;
      throw new ShapeError(expected('SIGN', want, 'features', features?.length));
    }
    const hidden = features.map((x, hop) => lins[hop].forward(x));
    return this.out.forward(this.dropout.forward(this.activation.forward(concat(hidden, 1))));
  }
}
