/**
 * `TGCN` (Zhao et al. 2019, "T-GCN", eq. 4-7): a GRU whose input is a graph convolution.
 *
 *   z = σ(U_z·[G_z(x) ‖ h] + b), r = σ(U_r·[G_r(x) ‖ h] + b), c = tanh(U_c·[G_c(x) ‖ r∘h] + b), h' = z∘h + (1 − z)∘c.
 *
 * The three convolutions share one pass over the graph.
 */
import { GCNConv } from '../../gnn/index.js';
import type { MessageGraph } from '../../graph/index.js';
import { Linear, type ParameterOptions } from '../../nn/index.js';
import { add, concat, mul, sigmoid, slice, sub, type Tensor, tanh, zeros } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { snapshotKind } from './snapshot-kind.js';
import { SnapshotModel, type SnapshotStep } from './snapshot-model.js';

/** x [N, in] → h [N, hidden]; the state is h, which starts at 0. */
export class TGCN extends SnapshotModel<Tensor> {
  readonly hiddenSize: number;
  /** The columns of z, r and c side by side. */
  readonly conv: GCNConv;
  readonly update: Linear;
  readonly reset: Linear;
  readonly candidate: Linear;

  constructor(inFeatures: number, hiddenSize: number, options: ParameterOptions = {}) {
    super();
    checkOptionNames('TGCN', options, { dtype: true, random: true });
    this.hiddenSize = hiddenSize;
    this.conv = new GCNConv(inFeatures, 3 * hiddenSize, options);
    this.update = new Linear(2 * hiddenSize, hiddenSize, options);
    this.reset = new Linear(2 * hiddenSize, hiddenSize, options);
    this.candidate = new Linear(2 * hiddenSize, hiddenSize, options);
  }

  step(graph: MessageGraph, x: Tensor, state?: Tensor): SnapshotStep<Tensor> {
    const width = this.hiddenSize;
    const h = state ?? zeros([x.shape[0], width], { dtype: x.dtype });
    const g = this.conv.forward(graph, x);
    const part = (i: number): Tensor => slice(g, i * width, (i + 1) * width, 1);
    const z = sigmoid(this.update.forward(concat([part(0), h], 1)));
    const r = sigmoid(this.reset.forward(concat([part(1), h], 1)));
    const c = tanh(this.candidate.forward(concat([part(2), mul(r, h)], 1)));
    const next = add(c, mul(z, sub(h, c)));
    return { h: next, state: next };
  }

  protected override describe(): string {
    return `${this.conv.lin.inFeatures} → ${this.hiddenSize}`;
  }
}

export const tgcnKind = snapshotKind({
  kind: 'tgcn',
  doc: 'T-GCN, a GRU over snapshots whose input is a graph convolution',
  settings: {},
  recurrent: ({ dim_out: width }, into) => new TGCN(into, width),
});
