/**
 * Chebyshev convolution (Defferrard et al. 2016, eq. 4): Σ_k T_k(L̂)·x·W_kᵀ + b with L̂ = 2L/λ_max − I. With λ_max = 2 and
 * the symmetric Laplacian, L̂ = −D^(−½)·A·D^(−½), so that a term costs one pass over the graph.
 */
import { propagate } from '../../gnn/index.js';
import type { MessageGraph } from '../../graph/index.js';
import { newParameter, randomOf } from '../../nn/factory.js';
import { init, Module, type ParameterOptions } from '../../nn/index.js';
import { concat, linear, mul, neg, sub, type Tensor } from '../../tensor/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export interface ChebConvOptions extends ParameterOptions {
  /** K: how many terms; 1 looks at no neighbours. Default 2. */
  readonly terms?: number;
  readonly bias?: boolean;
}

/** x [N, in] → [N, out]. */
export class ChebConv extends Module {
  readonly terms: number;
  /** [out, K·in]: the terms side by side. */
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, options: ChebConvOptions = {}) {
    super();
    checkOptionNames('ChebConv', options, { dtype: true, random: true, terms: true, bias: true });
    this.terms = checkInteger('ChebConv', 'terms', options.terms ?? 2, 1);
    checkInteger('ChebConv', 'inFeatures', inFeatures, 1);
    checkInteger('ChebConv', 'outFeatures', outFeatures, 1);
    const bound = Math.sqrt(6 / (inFeatures + outFeatures));
    const start = (t: Tensor): Tensor => init.uniform(t, { ...randomOf(options), lo: -bound, hi: bound });
    this.weight = newParameter([outFeatures, this.terms * inFeatures], options, start);
    this.bias = options.bias === false ? null : newParameter([outFeatures], options);
  }

  forward(graph: MessageGraph, x: Tensor): Tensor {
    const series = chebyshevSeries(graph, x, this.terms);
    return linear(series.length === 1 ? x : concat(series, 1), this.weight, this.bias);
  }

  protected override describe(): string {
    return `${this.weight.shape[1] / this.terms} → ${this.weight.shape[0]}, ${this.terms} terms`;
  }
}

/** T_0(L̂)·x … T_{K−1}(L̂)·x. */
function chebyshevSeries(graph: MessageGraph, x: Tensor, terms: number): Tensor[] {
  const series = [x];
  if (terms > 1) series.push(neg(propagate(graph, x, false)));
  while (series.length < terms) {
    const [before, last] = series.slice(-2);
    series.push(sub(mul(propagate(graph, last, false), -2), before));
  }
  return series;
}
