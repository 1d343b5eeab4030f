/**
 * `EvolveGCN` (Pareja et al. 2020): a GCN whose weights change from snapshot to snapshot by a GRU, so that nodes may come
 * and go. A row of a weight [out, in] is a row of the GRU's state.
 *
 * 'O' (eq. 6-7): the weight is its own input, so that its path does not depend on the nodes. 'H' (eq. 4-5): the input is
 * a summary of the embeddings, the `out` nodes with the highest score x·p/‖p‖, each times tanh of its score.
 */
import { propagate } from '../../gnn/index.js';
import type { MessageGraph } from '../../graph/index.js';
import { newFanParameter, newParameter, randomOf } from '../../nn/factory.js';
import { GRUCell, init, Module, type ParameterOptions } from '../../nn/index.js';
import {
  div,
  gatherRows,
  linear,
  matmul,
  mul,
  norm,
  relu,
  reshape,
  type Tensor,
  tanh,
} from '../../tensor/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { choice, integer } from '../../util/settings.js';
import { snapshotKind } from './snapshot-kind.js';
import { SnapshotModel, type SnapshotStep } from './snapshot-model.js';

export interface EvolveGCNOptions extends ParameterOptions {
  /** Default 'O'. */
  readonly variant?: 'O' | 'H';
}

/** Sizes [in, …hidden, out]; relu between layers, none after the last. The state is the weight of every layer. */
export class EvolveGCN extends SnapshotModel<readonly Tensor[]> {
  readonly variant: 'O' | 'H';
  readonly layers: readonly EvolvingLayer[];

  constructor(sizes: readonly number[], options: EvolveGCNOptions = {}) {
    super();
    checkOptionNames('EvolveGCN', options, { dtype: true, random: true, variant: true });
    const { variant = 'O' } = options;
    if (variant !== 'O' && variant !== 'H')
      throw new ValueError(expected('EvolveGCN', "'O' or 'H'", 'variant', variant));
    if (!Array.isArray(sizes) || sizes.length < 2)
      throw new ValueError(expected('EvolveGCN', 'at least an input and an output size', 'sizes', sizes));
    this.variant = variant;
    this.layers = sizes.slice(1).map((size, i) => new EvolvingLayer(sizes[i], size, variant, options));
  }

  step(graph: MessageGraph, x: Tensor, state?: readonly Tensor[]): SnapshotStep<readonly Tensor[]> {
    const weights: Tensor[] = [];
    const last = this.layers.length - 1;
    const h = this.layers.reduce((input, layer, i) => {
      const weight = layer.evolve(input, state?.[i]);
      weights.push(weight);
      const y = layer.forward(graph, input, weight);
      return i === last ? y : relu(y);
    }, x);
    return { h, state: weights };
  }

  protected override describe(): string {
    return this.variant;
  }
}

class EvolvingLayer extends Module {
  /** Initial weight, [out, in]. */
  readonly weight: Tensor;
  readonly cell: GRUCell;
  /** Scores nodes for the choice of rows, [in]; null for 'O'. */
  readonly choice: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, variant: 'O' | 'H', options: ParameterOptions) {
    super();
    checkInteger('EvolveGCN', 'sizes', inFeatures, 1);
    checkInteger('EvolveGCN', 'sizes', outFeatures, 1);
    this.weight = newParameter([outFeatures, inFeatures], options, (t) =>
      init.glorotUniform(t, randomOf(options)),
    );
    this.cell = new GRUCell(inFeatures, inFeatures, options);
    this.choice = variant === 'H' ? newFanParameter([inFeatures], inFeatures, options) : null;
  }

  /** The weight of this snapshot from that of the one before. */
  evolve(x: Tensor, before: Tensor = this.weight): Tensor {
    return this.cell.forward(
      this.choice === null ? before : summary(x, this.choice, before.shape[0]),
      before,
    );
  }

  /** Â·x·Wᵀ. */
  forward(graph: MessageGraph, x: Tensor, weight: Tensor): Tensor {
    const [out, into] = weight.shape;
    return out < into ? propagate(graph, linear(x, weight)) : linear(propagate(graph, x), weight);
  }
}

/** The rows of x with the `count` highest scores, each times tanh of its score; of equal ones the first. */
function summary(x: Tensor, choice: Tensor, count: number): Tensor {
  const n = x.shape[0];
  if (n < count)
    throw new ShapeError(expected('EvolveGCN', `at least ${count} nodes (an output size)`, 'x', `${n} rows`));
  const scores = div(matmul(x, reshape(choice, [choice.size, 1])), norm(choice));
  const values = scores.dataSync();
  const order = Int32Array.from({ length: n }, (_, i) => i).sort((a, b) => values[b] - values[a] || a - b);
  const best = order.slice(0, count);
  return mul(gatherRows(x, best), tanh(gatherRows(scores, best)));
}

const settings = {
  layer: integer(1, 2, 'layers'),
  variant: choice(
    ['O', 'H'],
    'O',
    'whether the weights (O) or a summary of the embeddings (H) are the input of their change',
  ),
};

export const evolveGcnKind = snapshotKind<readonly Tensor[], typeof settings>({
  kind: 'evolve_gcn',
  doc: 'EvolveGCN, a GCN over snapshots whose weights change from one to the next',
  settings,
  check: ({ variant, dim_out: width }, { numNodes }) =>
    variant === 'H' && numNodes < width
      ? `expected at most ${numNodes}, the number of nodes, for model.dim_out with variant H, got ${width}. Lower it, or take variant O.`
      : null,
  recurrent: ({ layer, variant, dim_out: width }, into) =>
    new EvolveGCN([into, ...new Array<number>(layer).fill(width)], { variant }),
});
