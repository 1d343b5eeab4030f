/**
 * `PairHead`: the score of a source and a candidate from the numbers that describe them, a perceptron with a linear skip:
 * w·x + W₃·relu(W₂·relu(W₁·x + b₁) + b₂) + b₃.
 */
import { buffer, Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, relu, reshape, type Tensor, zeros } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import type { Scaling } from './event-statistics.js';

export class PairHead extends Module {
  readonly hidden: readonly Linear[];
  readonly out: Linear | null;
  readonly skip: Linear;
  /** How numbers are standardised; a scale of 0 removes one. */
  readonly shift: Tensor;
  readonly scale: Tensor;
  /** Whether shift and scale are fitted, then the number of events trained. */
  readonly progress: Tensor;

  /** @param hidden widths of the hidden layers; none: a linear model. */
  constructor(width: number, hidden: readonly number[], options: ParameterOptions = {}) {
    super();
    const widths = [width, ...hidden];
    this.hidden = hidden.map((to, i) => new Linear(widths[i], to, options));
    this.out = hidden.length === 0 ? null : new Linear(widths[hidden.length], 1, options);
    this.skip = new Linear(width, 1, { ...options, bias: false });
    const { dtype = 'f32' } = options;
    this.shift = unscoped(() => buffer(zeros([width], { dtype })));
    this.scale = unscoped(() => buffer(zeros([width], { dtype })));
    this.progress = unscoped(() => buffer(zeros([2], { dtype: 'f64' })));
  }

  /** Returns the scores [n] of standardised numbers [n, width]. */
  forward(x: Tensor): Tensor {
    const linear = this.skip.forward(x);
    const deep = this.out?.forward(this.hidden.reduce((h, layer) => relu(layer.forward(h)), x));
    return reshape(deep === undefined ? linear : add(linear, deep), [x.shape[0]]);
  }

  get scaling(): Scaling {
    return { shift: this.shift.floats as Float32Array, scale: this.scale.floats as Float32Array };
  }

  get isFitted(): boolean {
    return this.progress.floats[0] === 1;
  }

  get numTrained(): number {
    return this.progress.floats[1];
  }

  set numTrained(count: number) {
    this.progress.floats[1] = count;
    this.progress.storage.version++;
  }

  setScaling({ shift, scale }: Scaling): void {
    this.shift.floats.set(shift);
    this.scale.floats.set(scale);
    this.progress.floats[0] = 1;
    for (const t of [this.shift, this.scale, this.progress]) t.storage.version++;
  }
}
