/**
 * `MultiheadAttention` (Vaswani et al. 2017, "Attention is all you need", §3.2.2), with PyTorch's parameters and masks.
 *
 * Unlike in PyTorch, a query whose keys are all masked has weights of 0 instead of NaN, so a node without neighbours
 * needs no special case.
 */

import { isFloat } from '../tensor/dtype.js';
import {
  add,
  dropout,
  linear,
  matmul,
  mean,
  mul,
  permute,
  reshape,
  slice,
  softmax,
  type Tensor,
  where,
} from '../tensor/index.js';
import { defaultRandom } from '../tensor/random.js';
import { formatShape } from '../tensor/shape.js';
import { checkNumber, DTypeError, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Random } from '../util/philox.js';
import { checkSizes, newParameter, type ParameterOptions, randomOf } from './factory.js';
import * as init from './init.js';
import { Linear } from './linear.js';
import { Module } from './module.js';

export interface MultiheadAttentionOptions extends ParameterOptions {
  /** Probability of dropping an attention weight in training; 0 by default. */
  readonly dropout?: number;
  readonly bias?: boolean;
  /** The sizes of keys and of values, if they differ from that of queries. */
  readonly kDim?: number;
  readonly vDim?: number;
}

export interface AttentionCall {
  /** u8 [B, S]: 1 hides a key from all queries of its sequence. */
  readonly keyPaddingMask?: Tensor;
  /** [L, S], or [B, H, L, S]: u8 with 1 where a query must not see a key, or floats added to the scores. */
  readonly attentionMask?: Tensor;
  /** Also return the weights, averaged over the heads. */
  readonly needWeights?: boolean;
}

export interface AttentionResult {
  /** [B, L, E] */
  readonly output: Tensor;
  /** [B, L, S] if requested. */
  readonly weights: Tensor | null;
}

/** Represents −∞: far below any score, but finite, so that the softmax of a fully masked row is defined. */
const hidden = -1e30;

/**
 * Computes multi-head attention: query [B, L, E], key [B, S, kDim], value [B, S, vDim] → [B, L, E],
 * softmax(q·kᵀ/√(E/H))·v in each of H heads.
 *
 * @example
 * const attention = new MultiheadAttention(64, 4, { dropout: 0.1 });
 * const { output } = attention.forward(query, key, value, { keyPaddingMask });
 */
export class MultiheadAttention extends Module {
  readonly embedDim: number;
  readonly heads: number;
  readonly dropout: number;
  /** The three projections in one [3E, E] weight, if keys and values have the size of queries. */
  readonly inProjWeight: Tensor | null;
  readonly qProjWeight: Tensor | null;
  readonly kProjWeight: Tensor | null;
  readonly vProjWeight: Tensor | null;
  readonly inProjBias: Tensor | null;
  readonly outProj: Linear;
  readonly #random: Random | null;

  constructor(embedDim: number, heads: number, options: MultiheadAttentionOptions = {}) {
    super();
    checkOptionNames('MultiheadAttention', options, {
      dtype: true,
      random: true,
      dropout: true,
      bias: true,
      kDim: true,
      vDim: true,
    });
    const { kDim = embedDim, vDim = embedDim } = options;
    checkSizes('MultiheadAttention', { embedDim, heads, kDim, vDim });
    if (embedDim % heads !== 0) {
      throw new ValueError(
        expected('MultiheadAttention', `a divisor of embedDim (${embedDim})`, 'heads', heads),
      );
    }
    const glorot = (t: Tensor): unknown => init.glorotUniform(t, randomOf(options));
    const weight = (rows: number, cols: number): Tensor => newParameter([rows, cols], options, glorot);
    const joint = kDim === embedDim && vDim === embedDim;
    this.embedDim = embedDim;
    this.heads = heads;
    this.dropout = checkNumber('MultiheadAttention', 'dropout', options.dropout ?? 0, 0, 1);
    this.inProjWeight = joint ? weight(3 * embedDim, embedDim) : null;
    this.qProjWeight = joint ? null : weight(embedDim, embedDim);
    this.kProjWeight = joint ? null : weight(embedDim, kDim);
    this.vProjWeight = joint ? null : weight(embedDim, vDim);
    this.inProjBias = options.bias === false ? null : newParameter([3 * embedDim], options);
    this.outProj = new Linear(embedDim, embedDim, options);
    if (this.outProj.bias !== null) init.zeros(this.outProj.bias);
    this.#random = options.random ?? null;
  }

  forward(query: Tensor, key: Tensor, value: Tensor, call: AttentionCall = {}): AttentionResult {
    checkInputs(query, key, value);
    const [batch, length] = query.shape;
    const size = this.embedDim / this.heads;
    const q = mul(this.#project(query, 0), 1 / Math.sqrt(size));
    const k = this.#project(key, 1);
    const v = this.#project(value, 2);
    const scores = matmul(permute(this.#split(q), [0, 2, 1, 3]), permute(this.#split(k), [0, 2, 3, 1]));
    const weights = this.#weights(scores, call);
    const mixed = permute(matmul(weights, permute(this.#split(v), [0, 2, 1, 3])), [0, 2, 1, 3]);
    const output = this.outProj.forward(reshape(mixed, [batch, length, this.embedDim]));
    return { output, weights: call.needWeights === true ? mean(weights, 1) : null };
  }

  /** Computes the softmax over the keys that no mask hides: scores [B, H, L, S]. */
  #weights(scores: Tensor, call: AttentionCall): Tensor {
    const [batch, , length, keys] = scores.shape;
    const masks: Tensor[] = [];
    let biased = scores;
    if (call.keyPaddingMask !== undefined) {
      const mask = checkMask('keyPaddingMask', call.keyPaddingMask, [[batch, keys]]);
      masks.push(reshape(mask, [batch, 1, 1, keys]));
    }
    if (call.attentionMask !== undefined) {
      const mask = checkMask('attentionMask', call.attentionMask, [[length, keys], scores.shape]);
      if (mask.dtype === 'u8') masks.push(mask);
      else biased = add(scores, mask);
    }
    for (const mask of masks) biased = where(mask, hidden, biased);
    let weights = softmax(biased);
    // Masked weights are exactly 0 already, except in fully masked rows.
    for (const mask of masks) weights = where(mask, 0, weights);
    return this.training ? dropout(weights, this.dropout, this.#random ?? defaultRandom()) : weights;
  }

  #project(x: Tensor, part: 0 | 1 | 2): Tensor {
    const { embedDim, inProjBias } = this;
    const own = [this.qProjWeight, this.kProjWeight, this.vProjWeight][part];
    const block = (t: Tensor): Tensor => slice(t, part * embedDim, (part + 1) * embedDim);
    const weight = own ?? block(this.inProjWeight as Tensor);
    return linear(x, weight, inProjBias === null ? null : block(inProjBias));
  }

  /** Reshapes [B, L, E] to [B, L, H, E/H]. */
  #split(x: Tensor): Tensor {
    return reshape(x, [x.shape[0], x.shape[1], this.heads, this.embedDim / this.heads]);
  }

  protected override describe(): string {
    return `${this.embedDim}, ${this.heads} heads`;
  }
}

function checkInputs(query: Tensor, key: Tensor, value: Tensor): void {
  for (const [name, t] of Object.entries({ query, key, value })) {
    if (t.rank !== 3)
      throw new ShapeError(
        expected('MultiheadAttention', 'shape [batch, length, size]', name, formatShape(t.shape)),
      );
    if (t.shape[0] !== query.shape[0]) {
      throw new ShapeError(
        expected('MultiheadAttention', `a batch of ${query.shape[0]} (as query)`, name, formatShape(t.shape)),
      );
    }
  }
  if (key.shape[1] !== value.shape[1]) {
    throw new ShapeError(
      expected(
        'MultiheadAttention',
        `as many values as keys (${key.shape[1]})`,
        'value',
        formatShape(value.shape),
      ),
    );
  }
}

function checkMask(name: string, mask: Tensor, shapes: readonly (readonly number[])[]): Tensor {
  const wanted = shapes.map(formatShape);
  if (!wanted.includes(formatShape(mask.shape))) {
    throw new ShapeError(
      expected('MultiheadAttention', `shape ${wanted.join(' or ')}`, name, formatShape(mask.shape)),
    );
  }
  const addable = name === 'attentionMask' && isFloat(mask.dtype);
  if (mask.dtype !== 'u8' && !addable)
    throw new DTypeError(expected('MultiheadAttention', 'u8', `the dtype of ${name}`, mask.dtype));
  return mask;
}
