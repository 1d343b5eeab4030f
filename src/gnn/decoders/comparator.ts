/**
 * Comparators: the score of two rows, higher for a better match. Distances are negated, so that losses and ranks do not
 * depend on the comparator.
 */
import {
  concat,
  gatherRows,
  mul,
  neg,
  ones,
  reshape,
  slice,
  square,
  sub,
  sum,
  type Tensor,
} from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { formatShape } from '../../tensor/shape.js';
import { expected, ShapeError } from '../../util/errors.js';
import { type Comparison, chunkedScores, normalizeRows, pairScores } from '../ops/index.js';

/** Scores as dot products: score(query i, row j) = query[i] · table[j] + bias[j]. */
export interface ProductForm {
  readonly query: Tensor;
  readonly table: Tensor;
  readonly bias: Tensor | null;
}

export abstract class Comparator {
  /** The comparison of the kernels that this is; null for a custom one. */
  readonly comparison: Comparison | null = null;

  /** Scores each pair: [B, d], [B, d] → [B]. */
  abstract pairs(a: Tensor, b: Tensor): Tensor;

  /**
   * Returns rows [B, w] and [N, w], and numbers [N] or null, from which `query` [B, d] and `table` [N, d] get their scores as
   * products, for training against all rows; null if there are none.
   *
   * @param exact false: what depends on the query alone may be left out, which a softmax does not change
   */
  products(_query: Tensor, _table: Tensor, _exact = true): ProductForm | null {
    return null;
  }

  /** Scores every edge against its chunk's negatives: query [B, d], rows [U, d], chunks · n ids of rows → [B, n]. */
  chunks(query: Tensor, rows: Tensor, negatives: Int32Array, chunks: number): Tensor {
    const n = negatives.length / chunks;
    const size = Math.ceil(query.shape[0] / chunks);
    const parts: Tensor[] = [];
    for (let first = 0, chunk = 0; first < query.shape[0]; first += size, chunk++) {
      const part = slice(query, first, Math.min(first + size, query.shape[0]));
      const count = part.shape[0];
      const left = Int32Array.from({ length: count * n }, (_, i) => Math.floor(i / n));
      const right = Int32Array.from({ length: count * n }, (_, i) => negatives[chunk * n + (i % n)]);
      parts.push(reshape(this.pairs(gatherRows(part, left), gatherRows(rows, right)), [count, n]));
    }
    return parts.length === 0 ? reshape(this.pairs(query, query), [0, n]) : concat(parts);
  }

  /** Returns positive scores [B] and scores of negative rows, [n, d] for all edges or [chunks, n, d]: [B, n]. */
  compare(src: Tensor, dst: Tensor, negs: Tensor): [positive: Tensor, negative: Tensor] {
    if (negs.rank !== 2 && negs.rank !== 3)
      throw new ShapeError(expected('compare', '[n, d] or [chunks, n, d]', 'negs', formatShape(negs.shape)));
    const chunks = negs.rank === 3 ? negs.shape[0] : 1;
    const width = negs.shape[negs.rank - 1];
    const rows = reshape(negs, [negs.size / Math.max(1, width), width]);
    const ids = Int32Array.from({ length: rows.shape[0] }, (_, i) => i);
    return [this.pairs(src, dst), this.chunks(src, rows, ids, chunks)];
  }
}

abstract class BuiltinComparator extends Comparator {
  abstract override readonly comparison: Comparison;

  pairs(a: Tensor, b: Tensor): Tensor {
    return pairScores(a, b, this.comparison);
  }

  override chunks(query: Tensor, rows: Tensor, negatives: Int32Array, chunks: number): Tensor {
    return chunkedScores(query, rows, negatives, chunks, this.comparison);
  }
}

/** a · b */
export class DotCompare extends BuiltinComparator {
  readonly comparison = 'dot';

  override products(query: Tensor, table: Tensor): ProductForm {
    return { query, table, bias: null };
  }
}

/** −√max(Σ(a − b)², 1e-8) */
export class L2Compare extends BuiltinComparator {
  readonly comparison = 'l2';
}

/** −Σ|a − b| */
export class L1Compare extends BuiltinComparator {
  readonly comparison = 'l1';
}

/** −Σ(a − b)² */
export class SquaredL2Compare extends BuiltinComparator {
  readonly comparison = 'squaredL2';

  /** 2 q·e − |e|² − |q|², the last as a further column of products with 1. */
  override products(query: Tensor, table: Tensor, exact = true): ProductForm {
    const bias = neg(sum(square(table), 1));
    const twice = mul(query, 2);
    if (!exact) return { query: twice, table, bias };
    const lengths = neg(sum(square(query), 1, { keepDims: true }));
    return { query: concat([twice, lengths], 1), table: concat([table, oneColumn(table)], 1), bias };
  }
}

/** −Σ|a − b| of complex numbers, real parts first: the distance of RotatE. */
export class ModulusCompare extends BuiltinComparator {
  readonly comparison = 'modulus';
}

/** −Σ(a − b)² over all columns but the last, plus the last columns of both rows, which are biases. */
export class BiasedSquaredL2Compare extends BuiltinComparator {
  readonly comparison = 'biasedSquaredL2';

  /** 2 q·e + b(e) − |e|² + (b(q) − |q|²): a column of 1 in the queries adds the biases of the table. */
  override products(query: Tensor, table: Tensor, exact = true): ProductForm {
    const last = query.shape[1] - 1;
    const own = slice(query, 0, last, 1);
    const twice = concat([mul(own, 2), oneColumn(query)], 1);
    const bias = neg(sum(square(slice(table, 0, last, 1)), 1));
    if (!exact) return { query: twice, table, bias };
    const constant = sub(slice(query, last, undefined, 1), sum(square(own), 1, { keepDims: true }));
    return { query: concat([twice, constant], 1), table: concat([table, oneColumn(table)], 1), bias };
  }
}

/** A column of ones for the rows of a matrix. */
function oneColumn(rows: Tensor): Tensor {
  return toDeviceOf(ones([rows.shape[0], 1], { dtype: rows.dtype }), rows);
}

/** a · b / (|a| |b|) */
export class CosineCompare extends BuiltinComparator {
  readonly comparison = 'cosine';

  override products(query: Tensor, table: Tensor): ProductForm {
    return { query: normalizeRows(query), table: normalizeRows(table), bias: null };
  }
}

/** The comparators by their names in a configuration. */
export const comparators = {
  DOT: () => new DotCompare(),
  L2: () => new L2Compare(),
  L1: () => new L1Compare(),
  COSINE: () => new CosineCompare(),
  SQUARED_L2: () => new SquaredL2Compare(),
  MODULUS: () => new ModulusCompare(),
} as const satisfies Record<string, () => Comparator>;

export type ComparatorType = keyof typeof comparators;
