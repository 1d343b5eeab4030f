/** From hidden rows of the attention layer to the logits of pairs: the layer's last map and the predictor, multiplied where both are linear. */
import { kernels } from '../../native/index.js';
import { unaryOps } from '../../native/op-codes.js';
import { add, matmul, type Tensor } from '../../tensor/index.js';
import { pack } from '../../tensor/ops/common.js';
import { InternalError } from '../../util/errors.js';
import type { TemporalAttentionLayer } from '../layers/attention-layer.js';
import type { EdgePredictor } from '../layers/edge-predictor.js';
import type { GeneralModel } from './general-model.js';

const relu = unaryOps.indexOf('relu');

export class CandidateHead {
  readonly #predictor: EdgePredictor;
  readonly #layer: TemporalAttentionLayer;
  /** The part of the sources in the predictor's hidden rows [B, d], with all constants. */
  readonly #sources: Float32Array;
  /** From the layer's hidden rows, normalised for variant 'tgl', to those of the predictor [d, hidden]. */
  readonly #weight: Float32Array;
  #hidden = new Float32Array(0);
  #known = new Float32Array(0);

  constructor({ predictor }: GeneralModel, layer: TemporalAttentionLayer, sources: Tensor) {
    const { output } = layer;
    const { src, dst } = predictor;
    this.#predictor = predictor;
    this.#layer = layer;
    const own = src.forward(sources);
    const last = 'last' in output ? output.last : null;
    const shifted = last === null || last.bias === null ? own : add(own, matmul(dst.weight, last.bias));
    this.#sources = pack(shifted) as Float32Array;
    this.#weight = pack(last === null ? dst.weight : matmul(dst.weight, last.weight)) as Float32Array;
  }

  /**
   * Writes the logits [candidates, B] of hidden rows [candidates, B, hidden], which are changed. `features` describe the same
   * pairs; null for predictors without.
   */
  score(rows: Float32Array, features: Float32Array | null, scores: Float32Array): void {
    const { src, out } = this.#predictor;
    const [m, n] = [scores.length, src.outFeatures];
    const k = this.#weight.length / n;
    const hidden = this.#room('hidden', m * n);
    for (let at = 0; at < m * n; at += this.#sources.length) hidden.set(this.#sources, at);
    const product = { c: hidden, m, n, transA: false, transB: true, accumulate: true, bias: null };
    kernels().gemm({ a: this.#normalised(rows, m, k), b: this.#weight, k, ...product });
    this.#addPairs(features, product);
    kernels().unary(relu, hidden, hidden, m * n, 0);
    const { weight, bias } = out;
    const last = { a: hidden, b: weight.floats, bias: bias?.floats ?? null, c: scores };
    kernels().gemm({ ...last, m, n: 1, k: n, transA: false, transB: true, accumulate: false });
  }

  #addPairs(
    features: Float32Array | null,
    product: { readonly c: Float32Array; readonly m: number; readonly n: number } & Readonly<
      Record<'transA' | 'transB' | 'accumulate', boolean>
    > & { readonly bias: null },
  ): void {
    const { pairIn, pairOut } = this.#predictor;
    if (pairIn === null || pairOut === null) return;
    if (features === null) throw new InternalError('a predictor of pairs without their features');
    const { m } = product;
    const k = pairIn.outFeatures;
    const known = this.#room('known', m * k);
    const into = { a1: features, b1: pairIn.weight.floats, k1: pairIn.inFeatures };
    const none = { a2: features, b2: pairIn.weight.floats, k2: 0 };
    kernels().gemmPair({
      ...into,
      ...none,
      bias: pairIn.bias?.floats ?? null,
      c: known,
      m,
      n: k,
      relu: true,
    });
    kernels().gemm({ a: known, b: pairOut.weight.floats, k, ...product });
  }

  #normalised(rows: Float32Array, m: number, k: number): Float32Array {
    const { output } = this.#layer;
    if (!('norm' in output)) return rows;
    const { weight, bias, eps } = output.norm;
    const [mean, rstd] = [new Float32Array(m), new Float32Array(m)];
    const [gamma, beta] = [weight?.floats ?? null, bias?.floats ?? null];
    kernels().layerNorm({ x: rows, gamma, beta, y: rows, mean, rstd, rows: m, cols: k, eps });
    return rows;
  }

  /** Returns scratch memory of at least `size` numbers. */
  #room(name: 'hidden' | 'known', size: number): Float32Array {
    const now = name === 'hidden' ? this.#hidden : this.#known;
    if (now.length >= size) return now;
    const larger = new Float32Array(size);
    if (name === 'hidden') this.#hidden = larger;
    else this.#known = larger;
    return larger;
  }
}
