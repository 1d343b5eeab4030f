/**
 * Attention over the sampled events of each destination as one operation. Keys and values are never formed: with
 * x = [h ‖ e ‖ cos(w·Δ + b) ‖ 1] a score is q·(K x) = (Kᵀq)·x and the weighted sum of values is V·(Σ alpha·x), so K and V
 * meet one row per destination instead of one per edge. `headProduct` makes those two products.
 *
 * Rows do not depend on each other: a destination gets the same bits in any batch. Dropout of attention weights is recomputed in
 * backward from its key. Edge features get no gradient.
 */
import { type FloatArray, kernels, type RandomKey } from '../../native/index.js';
import { isGradEnabled, Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import {
  checkIds,
  checkRank,
  checkSameFloat,
  checkShapeIs,
  pack,
  zerosLike,
} from '../../tensor/ops/common.js';
import { defaultRandom } from '../../tensor/random.js';
import { formatShape } from '../../tensor/shape.js';
import { checkNumber, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';

/** The edges that destinations attend to. */
export interface AttentionEdges {
  /** Edges of destination i: indptr[i] … indptr[i + 1]. */
  readonly indptr: Int32Array;
  /** Row of h of every edge. */
  readonly neighbors: Int32Array;
  /** Row of `features` of every edge. */
  readonly eventRows: Int32Array;
  readonly spans: FloatArray;
  /** Row-major, `featureWidth` numbers per row; null without. Rows that edges name must not change before backward. */
  readonly features: FloatArray | null;
  readonly featureWidth: number;
}

export interface TemporalAttentionOptions {
  /** Scores are scale · leakyRelu(q·k); 1 by default. */
  readonly scale?: number;
  /** Slope of the leaky ReLU; with 1 (the default) it is the identity. */
  readonly slope?: number;
  /** Probability of dropping an attention weight. */
  readonly dropout?: number;
  readonly random?: Random;
}

interface Attributes extends AttentionEdges {
  readonly key: RandomKey | null;
  readonly drop: number;
  readonly scale: number;
  readonly slope: number;
  /** Length of `features` in the forward pass. */
  readonly featuresNeeded: number;
}

const temporalAttentionOp = builtinOp<Attributes>({
  name: 'temporalAttention',
  forward(ctx, [query, h, w, b], a) {
    const [heads, numDst] = query.shape;
    const edges = a.neighbors.length;
    const { dtype } = query;
    const raw = Tensor.allocate(dtype, [edges, heads]);
    const alpha = Tensor.allocate(dtype, [edges, heads]);
    const encoded = ctx.recording ? Tensor.allocate(dtype, [edges, w.size]) : null;
    const y = Tensor.allocate(dtype, query.shape);
    kernels().temporalAttention({
      query: pack(query),
      h: pack(h),
      neighbors: a.neighbors,
      features: a.features,
      eventRows: a.eventRows,
      spans: a.spans,
      w: pack(w),
      b: pack(b),
      offsets: a.indptr,
      key: a.key,
      drop: a.drop,
      raw: raw.floats,
      alpha: alpha.floats,
      encoded: encoded?.floats ?? null,
      y: y.floats,
      numDst,
      heads,
      dimNode: h.shape[1],
      dimEdge: a.featureWidth,
      dimTime: w.size,
      scale: a.scale,
      slope: a.slope,
    });
    if (encoded !== null) ctx.save(query, h, w, b, raw, alpha, encoded);
    return y;
  },
  backward(ctx, gy, a) {
    if (a.features !== null && a.features.length < a.featuresNeeded)
      throw new StateError(
        'temporalAttention: expected the features of the forward pass, got an array that was given away since. Keep it until backward is done.',
      );
    const [query, h, w, b, raw, alpha, encoded] = ctx.saved;
    const [heads, numDst] = query.shape;
    const like = (t: Tensor, wanted: boolean): Tensor | null =>
      wanted ? Tensor.allocate(t.dtype, t.shape) : null;
    const gQuery = like(query, ctx.needs(0));
    const gNeighbors = ctx.needs(1) ? Tensor.allocate(h.dtype, [a.neighbors.length, h.shape[1]]) : null;
    const wantsTime = ctx.needs(2) || ctx.needs(3);
    const gw = like(w, wantsTime);
    const gb = like(b, wantsTime);
    kernels().temporalAttentionBackward({
      gy: pack(gy),
      query: pack(query),
      h: pack(h),
      neighbors: a.neighbors,
      features: a.features,
      eventRows: a.eventRows,
      spans: a.spans,
      w: pack(w),
      b: pack(b),
      offsets: a.indptr,
      key: a.key,
      drop: a.drop,
      raw: raw.floats,
      alpha: alpha.floats,
      encoded: encoded.floats,
      gQuery: gQuery?.floats ?? null,
      gNeighbors: gNeighbors?.floats ?? null,
      gw: gw?.floats ?? null,
      gb: gb?.floats ?? null,
      numDst,
      heads,
      dimNode: h.shape[1],
      dimEdge: a.featureWidth,
      dimTime: w.size,
      scale: a.scale,
      slope: a.slope,
    });
    const gh = gNeighbors === null ? null : addByRow(gNeighbors, a.neighbors, h);
    return [gQuery, gh, ctx.needs(2) ? gw : null, ctx.needs(3) ? gb : null];
  },
});

/** Sums the edges' gradients by row of h, in the order of edges. */
function addByRow(gNeighbors: Tensor, neighbors: Int32Array, h: Tensor): Tensor {
  const [rows, width] = h.shape;
  const gh = zerosLike(h.dtype, h.shape);
  kernels().scatterAddRows(neighbors, gNeighbors.floats, gh.floats, neighbors.length, rows, width);
  gNeighbors.dispose();
  return gh;
}

/**
 * query [heads, numDst, X], h [R, D], frequencies w [T] and phases b [T] → Σ alpha·x [heads, numDst, X] with
 * X = D + featureWidth + T + 1; 0 where a destination has no edges.
 */
export function temporalAttention(
  edges: AttentionEdges,
  query: Tensor,
  h: Tensor,
  w: Tensor,
  b: Tensor,
  options: TemporalAttentionOptions = {},
): Tensor {
  const where = 'temporalAttention';
  const { scale = 1, slope = 1, dropout = 0, random = defaultRandom() } = options;
  checkSameFloat(where, { query, h, w, b });
  for (const [name, t, rank] of [
    ['query', query, 3],
    ['h', h, 2],
    ['w', w, 1],
  ] as const)
    checkRank(where, name, t, rank);
  checkShapeIs(where, 'b', b, w.shape);
  const numDst = edges.indptr.length - 1;
  const width = h.shape[1] + edges.featureWidth + w.size + 1;
  checkShapeIs(where, 'query', query, [query.shape[0], numDst, width]);
  checkNumber(where, 'scale', scale);
  checkNumber(where, 'slope', slope);
  checkNumber(where, 'dropout', dropout, 0, 1);
  const key = dropout === 0 ? null : random.split(random.reserve(1)).key;
  const checked = checkEdges(where, edges, h);
  return temporalAttentionOp([query, h, w, b], {
    ...checked,
    key,
    drop: dropout,
    scale,
    slope,
    featuresNeeded: checked.features?.length ?? 0,
  });
}

/** Edges whose numbers are in range and whose arrays have the type of h. */
function checkEdges(where: string, edges: AttentionEdges, h: Tensor): AttentionEdges {
  const { indptr, neighbors, eventRows, spans, features, featureWidth } = edges;
  const n = neighbors.length;
  const last = indptr.length - 1;
  let ascending = last >= 0 && indptr[0] === 0 && indptr[last] === n;
  for (let i = 0; i < last; i++) ascending &&= indptr[i] <= indptr[i + 1];
  if (!ascending) throw new ValueError(expected(where, `ascending numbers from 0 to ${n}`, 'indptr', indptr));
  for (const [name, list] of Object.entries({ eventRows, spans })) {
    if (list.length !== n)
      throw new ShapeError(expected(where, `${n} numbers, one for each edge,`, name, list.length));
  }
  checkIds(where, 'neighbors', neighbors, h.shape[0]);
  if (featureWidth > 0) {
    if (features === null)
      throw new ValueError(expected(where, `rows of ${featureWidth} numbers`, 'features', features));
    checkIds(where, 'eventRows', eventRows, Math.floor(features.length / featureWidth));
  }
  const used = featureWidth > 0 ? features : null;
  if (h.dtype !== 'f32' || spans instanceof Float64Array || used instanceof Float64Array)
    return inDoubles(edges, used, h);
  if (!isGradEnabled()) return { ...edges, features: used };
  // Backward reads the lists again; a sampler may have used its arrays for another batch by then.
  return {
    indptr: indptr.slice(),
    neighbors: neighbors.slice(),
    eventRows: eventRows.slice(),
    spans: spans.slice(),
    features: used,
    featureWidth,
  };
}

/** For checking gradients in f64: the rows that are named, one for each edge. */
function inDoubles(edges: AttentionEdges, features: FloatArray | null, h: Tensor): AttentionEdges {
  if (h.dtype !== 'f64')
    throw new ValueError(
      expected('temporalAttention', 'f32 spans and features', 'edges', 'f64', 'Use h in f64.'),
    );
  const { eventRows, featureWidth } = edges;
  const copies = {
    indptr: edges.indptr.slice(),
    neighbors: edges.neighbors.slice(),
    spans: Float64Array.from(edges.spans),
    featureWidth,
  };
  if (features === null) return { ...copies, features, eventRows };
  const rows = new Float64Array(eventRows.length * featureWidth);
  eventRows.forEach((row, p) => {
    rows.set(features.subarray(row * featureWidth, (row + 1) * featureWidth), p * featureWidth);
  });
  return { ...copies, features: rows, eventRows: eventRows.map((_, p) => p) };
}

const headProductOp = builtinOp<{ readonly flip: boolean }>({
  name: 'headProduct',
  forward(ctx, [x, weight], { flip }) {
    ctx.save(x, weight);
    return batched(x, weight, false, flip);
  },
  backward(ctx, gy, { flip }) {
    const [x, weight] = ctx.saved;
    const gx = ctx.needs(0) ? batched(gy, weight, false, !flip) : null;
    if (!ctx.needs(1)) return [gx, null];
    return [gx, flip ? batched(gy, x, true, false) : batched(x, gy, true, false)];
  },
});

function batched(a: Tensor, b: Tensor, transA: boolean, transB: boolean): Tensor {
  const heads = a.shape[0];
  const [m, k] = transA ? [a.shape[2], a.shape[1]] : [a.shape[1], a.shape[2]];
  const n = transB ? b.shape[1] : b.shape[2];
  const y = Tensor.allocate(a.dtype, [heads, m, n]);
  kernels().gemmBatched({
    a: pack(a),
    b: pack(b),
    c: y.floats,
    batch: heads,
    m,
    n,
    k,
    transA,
    transB,
    accumulate: false,
  });
  return y;
}

/** x [heads, N, k] times each head's weight [heads, k, n], or with `flip` [heads, n, k] transposed → [heads, N, n]. */
export function headProduct(x: Tensor, weight: Tensor, flip: boolean): Tensor {
  checkSameFloat('headProduct', { x, weight });
  checkRank('headProduct', 'x', x, 3);
  checkRank('headProduct', 'weight', weight, 3);
  if (weight.shape[0] !== x.shape[0] || weight.shape[flip ? 2 : 1] !== x.shape[2]) {
    const want = `${x.shape[0]} heads of ${x.shape[2]} inputs`;
    throw new ShapeError(expected('headProduct', want, 'weight', formatShape(weight.shape)));
  }
  return headProductOp([x, weight], { flip });
}
