/**
 * Graph convolutional recurrent networks (Seo et al. 2018, "Structured sequence modeling with graph convolutional
 * recurrent networks", model 2): the products of a recurrent cell are Chebyshev convolutions. `GConvGRU` and `GConvLSTM`.
 * Gates lie side by side, so that input and state each take one pass per term.
 */
import type { MessageGraph } from '../../graph/index.js';
import { newParameter, randomOf } from '../../nn/factory.js';
import { init } from '../../nn/index.js';
import { add, mul, sigmoid, slice, sub, type Tensor, tanh, zeros } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { integer } from '../../util/settings.js';
import { ChebConv, type ChebConvOptions } from './cheb-conv.js';
import { snapshotKind } from './snapshot-kind.js';
import { SnapshotModel, type SnapshotStep } from './snapshot-model.js';

/**
 * z = σ(G(x) + G(h)), r likewise, c = tanh(G(x) + G(r∘h)), h' = z∘h + (1 − z)∘c, each G with its own weights.
 * x [N, in] → h [N, hidden]; the state is h, which starts at 0.
 */
export class GConvGRU extends SnapshotModel<Tensor> {
  readonly hiddenSize: number;
  /** Convolution of the input for z, r, c, with biases. */
  readonly input: ChebConv;
  /** Convolution of the state for z and r. */
  readonly gates: ChebConv;
  /** Convolution of r∘h for c. */
  readonly candidate: ChebConv;

  constructor(inFeatures: number, hiddenSize: number, options: ChebConvOptions = {}) {
    super();
    checkOptionNames('GConvGRU', options, { dtype: true, random: true, terms: true, bias: true });
    this.hiddenSize = hiddenSize;
    this.input = new ChebConv(inFeatures, 3 * hiddenSize, options);
    this.gates = new ChebConv(hiddenSize, 2 * hiddenSize, { ...options, bias: false });
    this.candidate = new ChebConv(hiddenSize, hiddenSize, { ...options, bias: false });
  }

  step(graph: MessageGraph, x: Tensor, state?: Tensor): SnapshotStep<Tensor> {
    const width = this.hiddenSize;
    const h = state ?? zeros([x.shape[0], width], { dtype: x.dtype });
    const gi = this.input.forward(graph, x);
    const zr = sigmoid(add(slice(gi, 0, 2 * width, 1), this.gates.forward(graph, h)));
    const [z, r] = [slice(zr, 0, width, 1), slice(zr, width, 2 * width, 1)];
    const c = tanh(add(slice(gi, 2 * width, 3 * width, 1), this.candidate.forward(graph, mul(r, h))));
    const next = add(c, mul(z, sub(h, c)));
    return { h: next, state: next };
  }
}

export interface LSTMState {
  readonly h: Tensor;
  readonly c: Tensor;
}

/**
 * i = σ(G(x) + G(h) + w_i∘c), f likewise, c' = f∘c + i∘tanh(G(x) + G(h)), o = σ(G(x) + G(h) + w_o∘c'), h' = o∘tanh(c').
 * x [N, in] → h [N, hidden]; h and c start at 0.
 */
export class GConvLSTM extends SnapshotModel<LSTMState> {
  readonly hiddenSize: number;
  /** Convolution of the input for i, f, c, o, with biases. */
  readonly input: ChebConv;
  readonly gates: ChebConv;
  /** Peepholes [hidden]. */
  readonly peepI: Tensor;
  readonly peepF: Tensor;
  readonly peepO: Tensor;

  constructor(inFeatures: number, hiddenSize: number, options: ChebConvOptions = {}) {
    super();
    checkOptionNames('GConvLSTM', options, { dtype: true, random: true, terms: true, bias: true });
    this.hiddenSize = hiddenSize;
    this.input = new ChebConv(inFeatures, 4 * hiddenSize, options);
    this.gates = new ChebConv(hiddenSize, 4 * hiddenSize, { ...options, bias: false });
    const bound = 1 / Math.sqrt(hiddenSize);
    const start = (t: Tensor): Tensor => init.uniform(t, { ...randomOf(options), lo: -bound, hi: bound });
    this.peepI = newParameter([hiddenSize], options, start);
    this.peepF = newParameter([hiddenSize], options, start);
    this.peepO = newParameter([hiddenSize], options, start);
  }

  step(graph: MessageGraph, x: Tensor, state?: LSTMState): SnapshotStep<LSTMState> {
    const width = this.hiddenSize;
    const start = (): Tensor => zeros([x.shape[0], width], { dtype: x.dtype });
    const { h, c } = state ?? { h: start(), c: start() };
    const sums = add(this.input.forward(graph, x), this.gates.forward(graph, h));
    const part = (k: number): Tensor => slice(sums, k * width, (k + 1) * width, 1);
    const i = sigmoid(add(part(0), mul(this.peepI, c)));
    const f = sigmoid(add(part(1), mul(this.peepF, c)));
    const cell = add(mul(f, c), mul(i, tanh(part(2))));
    const o = sigmoid(add(part(3), mul(this.peepO, cell)));
    const next = mul(o, tanh(cell));
    return { h: next, state: { h: next, c: cell } };
  }
}

const settings = { terms: integer(1, 2, 'terms of the Chebyshev convolutions; 1 looks at no neighbours') };

export const gconvGruKind = snapshotKind<Tensor, typeof settings>({
  kind: 'gconv_gru',
  doc: 'GConvGRU, a GRU over snapshots whose products are Chebyshev convolutions',
  settings,
  recurrent: ({ dim_out: width, terms }, into) => new GConvGRU(into, width, { terms }),
});

export const gconvLstmKind = snapshotKind<LSTMState, typeof settings>({
  kind: 'gconv_lstm',
  doc: 'GConvLSTM, an LSTM over snapshots whose products are Chebyshev convolutions',
  settings,
  recurrent: ({ dim_out: width, terms }, into) => new GConvLSTM(into, width, { terms }),
});
