/**
 * `Embedding`: a table of trainable rows, looked up by id.
 */

import { fromTypedArray, gatherRows, type Ids, Tensor, where } from '../tensor/index.js';
import { toInt32 } from '../tensor/ops/common.js';
import { checkInteger } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkSizes, newParameter, type ParameterOptions, randomOf } from './factory.js';
import * as init from './init.js';
import { Module } from './module.js';

export interface EmbeddingOptions extends ParameterOptions {
  /** Make gradients sparse rows (`weight.sparseGrad`), so that a step changes only the rows of the batch. */
  readonly sparse?: boolean;
  /** A row that starts at 0 and gets no gradient. */
  readonly paddingIdx?: number;
}

/**
 * Looks up ids of any shape [...], giving [..., dim]; the weight [count, dim] starts as N(0, 1).
 *
 * @example
 * const table = new Embedding(1000, 32, { sparse: true });
 * const rows = table.forward([4, 8, 15]); // [3, 32]
 */
export class Embedding extends Module {
  readonly weight: Tensor;
  readonly sparse: boolean;
  readonly paddingIdx: number | null;

  constructor(count: number, dim: number, options: EmbeddingOptions = {}) {
    super();
    checkOptionNames('Embedding', options, { dtype: true, random: true, sparse: true, paddingIdx: true });
    checkSizes('Embedding', { count, dim });
    if (options.paddingIdx !== undefined)
      checkInteger('Embedding', 'paddingIdx', options.paddingIdx, 0, count - 1);
    this.sparse = options.sparse === true;
    this.paddingIdx = options.paddingIdx ?? null;
    this.weight = newParameter([count, dim], options, (t) => {
      init.normal(t, randomOf(options));
      if (this.paddingIdx !== null) t.floats.fill(0, this.paddingIdx * dim, (this.paddingIdx + 1) * dim);
    });
  }

  forward(ids: Ids): Tensor {
    const rows = gatherRows(this.weight, ids, { sparse: this.sparse });
    return this.paddingIdx === null ? rows : this.#stopPadding(rows, ids, this.paddingIdx);
  }

  /** Returns the same values, without a gradient into the padding row. */
  #stopPadding(rows: Tensor, ids: Ids, paddingIdx: number): Tensor {
    const array = toInt32('Embedding', 'ids', ids);
    if (!array.includes(paddingIdx)) return rows;
    const padded = Uint8Array.from(array, (id) => (id === paddingIdx ? 1 : 0));
    const lead = ids instanceof Tensor ? ids.shape : [array.length];
    const isPadding = fromTypedArray(padded, [...lead, 1]).to(rows.device ?? 'cpu');
    return where(isPadding, rows.detach(), rows);
  }

  protected override describe(): string {
    return `${this.weight.shape[0]} rows of ${this.weight.shape[1]}${this.sparse ? ', sparse' : ''}`;
  }
}
