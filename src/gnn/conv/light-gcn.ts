/**
 * Light graph convolution (He et al., "LightGCN", SIGIR 2020, eq. 7 and 8): zᵏ = Â zᵏ⁻¹ with Â the adjacency without self
 * loops, normalised symmetrically, and the mean of z⁰ = x, z¹, …, zᴷ as the result. Typically over trained embeddings of
 * users and items, with edges followed in both directions.
 *
 * Nothing is trained. Several hops over one graph need a whole graph; for samples pass a list of blocks, one per hop, the
 * outermost first.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Module } from '../../nn/index.js';
import { add, mul, Tensor } from '../../tensor/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { integer } from '../../util/settings.js';
import { propagate } from '../propagation.js';
import { stepGraphs } from './appnp.js';
import { convType } from './conv-type.js';

export interface LightGCNOptions {
  /** The number K of hops (default 2). */
  readonly hops?: number;
}

/**
 * x [N, F] → [N, F].
 *
 * @example
 * const y = new LightGCN({ hops: 3 }).forward(graph, x);
 */
export class LightGCN extends Module {
  readonly hops: number;

  constructor(options: LightGCNOptions = {}) {
    super();
    checkOptionNames('LightGCN', options, { hops: true });
    this.hops = checkInteger('LightGCN', 'hops', options.hops ?? 2, 0);
  }

  forward(graphs: MessageGraph | readonly MessageGraph[], x: Tensor): Tensor {
    const list = stepGraphs('LightGCN', graphs, this.hops);
    if (!(x instanceof Tensor)) throw new ValueError(expected('LightGCN', 'a tensor', 'x', x));
    let z = x;
    let total = x;
    for (const graph of list) {
      z = propagate(graph, z, false);
      total = add(graph.dstRows(total), z);
    }
    return mul(total, 1 / (this.hops + 1));
  }

  protected override describe(): string {
    return `${this.hops} hops`;
  }
}

export const lightGcnType = convType({
  name: 'LIGHT_GCN',
  weighsEdges: true,
  settings: { hops: integer(1, 2, 'hops of propagation, each with a separate sampler', { ours: true }) },
  hops: ({ hops }) => hops,
  check: (_options, outFeatures, inFeatures) =>
    outFeatures === inFeatures
      ? null
      : {
          expected: `its input_dim ${inFeatures}`,
          advice: 'LIGHT_GCN has no parameters; change the width in a stage of type DENSE before it.',
        },
  make: ({ hops }) => new LightGCN({ hops }),
  run: (layer, _block, x, _relations, blocks) => layer.forward(blocks, x),
});
