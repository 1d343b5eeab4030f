/**
 * Jumping knowledge (Xu et al., ICML 2018, §4): one representation of a node from those of all layers, concatenated or
 * as the maximum of each feature. The LSTM attention of the paper is not available: there is no LSTM here.
 */
import { Module } from '../nn/index.js';
import { concat, maximum, type Tensor } from '../tensor/index.js';
import { expected, ValueError } from '../util/errors.js';

export type JumpingMode = 'cat' | 'max';

/**
 * L tensors [N, F_i] → [N, ΣF_i] ('cat') or [N, F] ('max', all of one width).
 *
 * @example
 * const y = new JumpingKnowledge('cat').forward([h1, h2, h3]);
 */
export class JumpingKnowledge extends Module {
  readonly mode: JumpingMode;

  constructor(mode: JumpingMode) {
    super();
    if ((mode as string) === 'lstm')
      throw new ValueError(
        "JumpingKnowledge: expected 'cat' or 'max' for mode, got 'lstm'. There is no LSTM.",
      );
    if (mode !== 'cat' && mode !== 'max')
      throw new ValueError(expected('JumpingKnowledge', "'cat' or 'max'", 'mode', mode));
    this.mode = mode;
  }

  forward(layers: readonly Tensor[]): Tensor {
    if (layers.length === 0)
      throw new ValueError(expected('JumpingKnowledge', 'at least one tensor', 'layers', 'none'));
    return this.mode === 'cat' ? concat(layers, 1) : layers.reduce((a, b) => maximum(a, b));
  }

  /** Returns the columns of the result for layers of the given widths. */
  width(widths: readonly number[]): number {
    if (this.mode === 'cat') return widths.reduce((total, w) => total + w, 0);
    const other = widths.find((w) => w !== widths[0]);
    if (other !== undefined)
      throw new ValueError(expected('JumpingKnowledge', `layers of one width for 'max'`, 'widths', widths));
    return widths[0];
  }

  protected override describe(): string {
    return this.mode;
  }
}
