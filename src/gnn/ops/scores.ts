/**
 * Scores of rows against rows, differentiable: pairs, and the edges of a batch against negatives that they share in
 * chunks.
 *
 * A batch of B edges is split into `chunks` of ⌈B / chunks⌉; the edges of chunk c share n negatives, rows
 * negatives[c·n + j] of `rows`. B need not divide: the last chunks are shorter or empty, nothing is padded.
 */
import { kernels, type ScoreOp, scoreCode } from '../../native/index.js';
import { clamp, div, norm, Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import {
  checkIds,
  checkRank,
  checkSameFloat,
  checkShapeIs,
  lastingIds,
  pack,
  zerosLike,
} from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';

/** The comparisons of the kernels, and the cosine of the angle. Higher is closer. */
export type Comparison = ScoreOp | 'cosine';

const pairScoresOp = builtinOp<{ readonly op: number }>({
  name: 'pairScores',
  forward(ctx, [a, b], { op }) {
    const y = Tensor.allocate(a.dtype, [a.shape[0]]);
    kernels().pairScores(op, pack(a), pack(b), y.floats, a.shape[0], a.shape[1]);
    ctx.save(a, b, y);
    return y;
  },
  backward(ctx, gy, { op }) {
    const [a, b, y] = ctx.saved;
    const ga = ctx.needs(0) ? Tensor.allocate(a.dtype, a.shape) : null;
    const gb = ctx.needs(1) ? Tensor.allocate(b.dtype, b.shape) : null;
    const [pairs, width] = a.shape;
    kernels().pairScoresBackward({
      op,
      gy: pack(gy),
      y: y.floats,
      a: pack(a),
      b: pack(b),
      ga: ga?.floats ?? null,
      gb: gb?.floats ?? null,
      pairs,
      width,
    });
    return [ga, gb];
  },
});

/** Scores each pair: a [B, d], b [B, d] → [B]. */
export function pairScores(a: Tensor, b: Tensor, comparison: Comparison = 'dot'): Tensor {
  checkComparison('pairScores', comparison);
  checkSameFloat('pairScores', { a, b });
  checkMatrix('pairScores', 'a', a);
  if (comparison === 'modulus') checkEvenWidth('pairScores', 'a', a);
  checkShapeIs('pairScores', 'b', b, a.shape);
  if (comparison === 'cosine') return pairScores(normalizeRows(a), normalizeRows(b));
  return pairScoresOp([a, b], { op: scoreCode[comparison] });
}

interface ChunkAttributes {
  readonly op: number;
  readonly negatives: Int32Array;
  readonly chunks: number;
}

const chunkedScoresOp = builtinOp<ChunkAttributes>({
  name: 'chunkedScores',
  forward(ctx, [query, rows], { op, negatives, chunks }) {
    const [edges, width] = query.shape;
    const n = negatives.length / chunks;
    const y = Tensor.allocate(query.dtype, [edges, n]);
    kernels().chunkedScores({
      op,
      query: pack(query),
      rows: pack(rows),
      negatives,
      out: y.floats,
      edges,
      width,
      chunks,
      n,
    });
    ctx.save(query, rows, y);
    return y;
  },
  backward(ctx, gy, { op, negatives, chunks }) {
    const [query, rows, y] = ctx.saved;
    const [edges, width] = query.shape;
    const gQuery = ctx.needs(0) ? Tensor.allocate(query.dtype, query.shape) : null;
    const gRows = ctx.needs(1) ? zerosLike(rows.dtype, rows.shape) : null;
    kernels().chunkedScoresBackward({
      op,
      gy: pack(gy),
      y: y.floats,
      query: pack(query),
      rows: pack(rows),
      negatives,
      gQuery: gQuery?.floats ?? null,
      gRows: gRows?.floats ?? null,
      edges,
      width,
      rowCount: rows.shape[0],
      chunks,
      n: negatives.length / chunks,
    });
    return [gQuery, gRows];
  },
});

/**
 * Scores every edge against the negatives of its chunk: query [B, d], rows [U, d] → [B, n].
 *
 * @param negatives chunks · n row numbers, those of the first chunk first.
 */
export function chunkedScores(
  query: Tensor,
  rows: Tensor,
  negatives: Int32Array,
  chunks: number,
  comparison: Comparison = 'dot',
): Tensor {
  checkComparison('chunkedScores', comparison);
  checkSameFloat('chunkedScores', { query, rows });
  const ids = checkChunks('chunkedScores', query, rows, negatives, chunks);
  if (comparison === 'modulus') checkEvenWidth('chunkedScores', 'query', query);
  if (comparison === 'cosine')
    return chunkedScores(normalizeRows(query), normalizeRows(rows), negatives, chunks);
  const recorded = query.requiresGrad ? query : rows;
  return chunkedScoresOp([query, rows], {
    op: scoreCode[comparison],
    negatives: lastingIds(ids, recorded),
    chunks,
  });
}

const complexProductOp = builtinOp<{ readonly conjugate: boolean }>({
  name: 'complexProduct',
  forward(ctx, [a, b], { conjugate }) {
    ctx.save(a, b);
    return product(a, b, conjugate);
  },
  backward(ctx, gy, { conjugate }) {
    const [a, b] = ctx.saved;
    // For a·b: ga = g·conj(b), gb = g·conj(a). For a·conj(b): ga = g·b, gb = a·conj(g).
    const ga = ctx.needs(0) ? product(gy, b, !conjugate) : null;
    if (!ctx.needs(1)) return [ga, null];
    return [ga, conjugate ? product(a, gy, true) : product(gy, a, true)];
  },
});

function product(a: Tensor, b: Tensor, conjugate: boolean): Tensor {
  const y = Tensor.allocate(a.dtype, a.shape);
  kernels().complexProduct(pack(a), pack(b), y.floats, a.shape[0], a.shape[1] / 2, conjugate);
  return y;
}

/** Returns a·b (or a·conj(b)) of complex numbers: [B, d] with d / 2 real parts first, then the imaginary ones. */
export function complexProduct(a: Tensor, b: Tensor, options: { readonly conjugate?: boolean } = {}): Tensor {
  checkSameFloat('complexProduct', { a, b });
  checkMatrix('complexProduct', 'a', a);
  checkShapeIs('complexProduct', 'b', b, a.shape);
  checkEvenWidth('complexProduct', 'a', a);
  return complexProductOp([a, b], { conjugate: options.conjugate === true });
}

/** Scales rows to length 1; rows of (almost) zero are unchanged, and their cosine with any row is 0. */
export function normalizeRows(x: Tensor): Tensor {
  return div(x, clamp(norm(x, 1, { keepDims: true }), 1e-12));
}

function checkComparison(where: string, comparison: Comparison): void {
  if (comparison === 'cosine' || Object.hasOwn(scoreCode, comparison)) return;
  const names = [...Object.keys(scoreCode), 'cosine'].join(', ');
  throw new ValueError(expected(where, `one of ${names}`, 'comparison', comparison));
}

function checkEvenWidth(where: string, name: string, t: Tensor): void {
  if (t.shape[1] % 2 !== 0)
    throw new ShapeError(
      expected(where, 'an even width (real parts, imaginary parts)', name, formatShape(t.shape)),
    );
}

export function checkMatrix(where: string, name: string, t: Tensor): void {
  checkRank(where, name, t, 2);
  if (t.shape[1] === 0)
    throw new ShapeError(expected(where, 'rows of at least one number', name, formatShape(t.shape)));
}

/** Checks that query, rows and negatives fit together; returns the negatives. */
export function checkChunks(
  where: string,
  query: Tensor,
  rows: Tensor,
  negatives: Int32Array,
  chunks: number,
): Int32Array {
  checkMatrix(where, 'query', query);
  checkRank(where, 'rows', rows, 2);
  if (rows.shape[1] !== query.shape[1])
    throw new ShapeError(
      expected(where, `rows of ${query.shape[1]} numbers (as query)`, 'rows', formatShape(rows.shape)),
    );
  return checkNegatives(where, rows, negatives, chunks);
}

/** Checks that every chunk has the same number of row numbers. */
export function checkNegatives(
  where: string,
  rows: Tensor,
  negatives: Int32Array,
  chunks: number,
): Int32Array {
  checkInteger(where, 'chunks', chunks, 1);
  const ids = checkIds(where, 'negatives', negatives, rows.shape[0]);
  if (ids.length === 0 || ids.length % chunks !== 0) {
    const got = `${ids.length} for ${chunks} chunks`;
    throw new ShapeError(expected(where, 'as many ids, at least one, for each chunk', 'negatives', got));
  }
  return ids;
}
