/**
 * `TemporalAttentionLayer`: a node at a time attends to its sampled past events, each of which stands for
 * x = [h of the neighbour ‖ edge features ‖ time encoding of the span].
 *
 * Two published forms. 'tgl' (Zhou et al. 2022, "TGL"; the attention of TGAT): scores LeakyReLU₀.₂(q·k) without scale, then
 * LN(relu(drop(W[attended ‖ h]))). 'tgn' (Rossi et al. 2020, "Temporal graph networks"): scaled dot products as in
 * multi-head attention with an output map, then a two-layer map of [attended ‖ h].
 *
 * Weights of keys and values are grouped by head, with the bias as last column, [heads, size, dimNode + dimEdge + dimTime + 1], so
 * that `temporalAttention` multiplies them without a copy. A row of the result depends on its own edges alone.
 */
import {
  checkSizes,
  newFanParameter,
  newParameter,
  type ParameterOptions,
  randomOf,
} from '../../nn/factory.js';
import { init, LayerNorm, Linear, Module, TimeEncode } from '../../nn/index.js';
import { TemporalHop } from '../../sample/temporal-hop.js';
import {
  concat,
  dropout,
  fromTypedArray,
  gatherRows,
  isGradEnabled,
  linear,
  mul,
  permute,
  reshape,
  scope,
  type Tensor,
  zeros,
} from '../../tensor/index.js';
import { checkRank, checkShapeIs } from '../../tensor/ops/common.js';
import { linearPair } from '../../tensor/ops/matmul.js';
import { defaultRandom } from '../../tensor/random.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Random } from '../../util/philox.js';
import { distinct } from '../models/state-rows.js';
import { headProduct, temporalAttention } from './attention-op.js';

export interface AttentionInput {
  readonly hop: TemporalHop;
  /** Rows that destinations and neighbours are found in, [R, dimNode]. */
  readonly h: Tensor;
  /** Row of h of every destination. */
  readonly dstRows: Int32Array;
  /** Row of h of every edge's neighbour. */
  readonly srcRows: Int32Array;
  /** Features by event row; null when dimEdge is 0. */
  readonly edgeFeatures: Float32Array | null;
  readonly featureWidth: number;
}

export interface TemporalAttentionLayerOptions extends ParameterOptions {
  /** Widths of h, of edge features and of the time encoding; each may be 0, but not all. */
  readonly dimNode: number;
  readonly dimEdge: number;
  readonly dimTime: number;
  readonly dimOut: number;
  /** Divides dimOut ('tgl') or dimNode + dimTime ('tgn'). 2 by default. */
  readonly heads?: number;
  /** Dropout of the output, in training; 'tgn' has none. */
  readonly dropout?: number;
  /** Dropout of the attention weights, in training. */
  readonly attDropout?: number;
  readonly variant?: 'tgl' | 'tgn';
}

type Sizes = Required<
  Pick<TemporalAttentionLayerOptions, 'dimNode' | 'dimEdge' | 'dimTime' | 'dimOut' | 'heads'>
>;

export class TemporalAttentionLayer extends Module {
  readonly variant: 'tgl' | 'tgn';
  readonly sizes: Sizes;
  readonly attDropout: number;
  /** Null when dimTime is 0. */
  readonly time: TimeEncode | null;
  /** [A, dimNode], [A, dimTime] and [A], A = heads · size: q of [h ‖ encoding of the span 0]. */
  readonly queryNode: Tensor;
  readonly queryTime: Tensor | null;
  readonly queryBias: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly output: TglOutput | TgnOutput;
  readonly #random: Random | null;

  constructor(options: TemporalAttentionLayerOptions) {
    super();
    checkOptionNames('TemporalAttentionLayer', options, {
      dtype: true,
      random: true,
      dimNode: true,
      dimEdge: true,
      dimTime: true,
      dimOut: true,
      heads: true,
      dropout: true,
      attDropout: true,
      variant: true,
    });
    const { variant = 'tgl', dropout: drop = 0, attDropout = 0, heads = 2 } = options;
    const { dimNode, dimEdge, dimTime, dimOut } = options;
    if (variant !== 'tgl' && variant !== 'tgn')
      throw new ValueError(expected('TemporalAttentionLayer', "'tgl' or 'tgn'", 'variant', variant));
    const attended = variant === 'tgl' ? dimOut : dimNode + dimTime;
    checkWidths({ dimNode, dimEdge, dimTime, dimOut, heads }, attended);
    this.variant = variant;
    this.sizes = { dimNode, dimEdge, dimTime, dimOut, heads };
    this.attDropout = checkNumber('TemporalAttentionLayer', 'attDropout', attDropout, 0, 1);
    this.#random = options.random ?? null;
    this.time = dimTime > 0 ? new TimeEncode(dimTime, options) : null;
    const into = dimNode + dimEdge + dimTime;
    const make = variant === 'tgl' ? fanWeights(options) : glorotWeights(options);
    this.queryNode = make([attended, dimNode], dimNode + dimTime, attended);
    this.queryTime = dimTime > 0 ? make([attended, dimTime], dimNode + dimTime, attended) : null;
    this.queryBias =
      variant === 'tgl'
        ? newFanParameter([attended], dimNode + dimTime, options)
        : newParameter([attended], options);
    this.key = make([heads, attended / heads, into + 1], into, attended);
    this.value = make([heads, attended / heads, into + 1], into, attended);
    this.output =
      variant === 'tgl'
        ? new TglOutput(dimOut, dimNode, drop, options)
        : new TgnOutput(attended, dimNode, dimOut, options);
  }

  /** [numDst, dimOut]. */
  forward(input: AttentionInput): Tensor {
    this.#check(input);
    const numDst = input.dstRows.length;
    if (this.training || isGradEnabled() || numDst <= evaluatedRows) return this.#attend(input, null);
    // Rows do not depend on each other: slices bound memory and give the same bits.
    const shared = this.#sharedQueries(input);
    const rows: Tensor[] = [];
    for (let from = 0; from < numDst; from += evaluatedRows)
      rows.push(
        scope(() => this.#attend(sliceInput(input, from, Math.min(numDst, from + evaluatedRows)), shared)),
      );
    return concat(rows, 0);
  }

  /** Returns Kᵀq of rows [n, dimNode], [heads, n, X], X as in `temporalAttention`. */
  keyedQueries(own: Tensor): Tensor {
    const { heads } = this.sizes;
    const query = reshape(this.#query(own), [own.shape[0], heads, this.key.shape[1]]);
    return headProduct(permute(query, [1, 0, 2]), this.key, false);
  }

  /** Computes the queries of rows that many destinations have in common once; null if few have. */
  #sharedQueries({ h, dstRows }: AttentionInput): SharedQueries | null {
    const { unique, positions } = distinct(dstRows);
    if (2 * unique.length > dstRows.length) return null;
    const queries = this.keyedQueries(gatherRows(h, unique));
    const [heads, count, width] = queries.shape;
    const place = new Int32Array(h.shape[0]);
    for (let i = 0; i < dstRows.length; i++) place[dstRows[i]] = positions[i];
    return { table: reshape(queries, [heads * count, width]), count, place };
  }

  #queries(own: Tensor, dstRows: Int32Array, shared: SharedQueries | null): Tensor {
    if (shared === null) return this.keyedQueries(own);
    const { heads } = this.sizes;
    const { table, count, place } = shared;
    const rows = new Int32Array(heads * dstRows.length);
    for (let i = 0; i < rows.length; i++)
      rows[i] = Math.floor(i / dstRows.length) * count + place[dstRows[i % dstRows.length]];
    return reshape(gatherRows(table, rows), [heads, dstRows.length, table.shape[1]]);
  }

  #attend(input: AttentionInput, shared: SharedQueries | null): Tensor {
    const { hop, h, dstRows, srcRows } = input;
    const { heads, dimEdge } = this.sizes;
    const numDst = dstRows.length;
    const own = gatherRows(h, dstRows);
    const size = this.key.shape[1];
    const edges = {
      indptr: hop.indptr,
      neighbors: srcRows,
      eventRows: hop.eventRows,
      spans: hop.spans,
      features: input.edgeFeatures,
      featureWidth: dimEdge,
    };
    const rows = temporalAttention(edges, this.#queries(own, dstRows, shared), h, ...this.#waves(), {
      scale: this.variant === 'tgl' ? 1 : 1 / Math.sqrt(size),
      slope: this.variant === 'tgl' ? 0.2 : 1,
      dropout: this.training ? this.attDropout : 0,
      random: this.#random ?? defaultRandom(),
    });
    const values = permute(headProduct(rows, this.value, true), [1, 0, 2]);
    return this.output.forward(reshape(values, [numDst, heads * size]), own, hop.indptr);
  }

  /** The encoding of the span 0 is the same for all rows: its contribution to q is one vector, added as a bias. */
  #query(own: Tensor): Tensor {
    if (this.time === null || this.queryTime === null) return linear(own, this.queryNode, this.queryBias);
    const now = this.time.forward(zeros([1], { dtype: own.dtype }));
    const constant = linear(now, this.queryTime, this.queryBias);
    return linear(own, this.queryNode, reshape(constant, [this.queryBias.size]));
  }

  #waves(): [Tensor, Tensor] {
    if (this.time !== null) return [this.time.weight, this.time.bias];
    const none = zeros([0], { dtype: this.key.dtype });
    return [none, none];
  }

  #check({ hop, h, dstRows, srcRows, edgeFeatures, featureWidth }: AttentionInput): void {
    const where = 'TemporalAttentionLayer';
    checkRank(where, 'h', h, 2);
    checkShapeIs(where, 'h', h, [h.shape[0], this.sizes.dimNode]);
    for (const [name, rows, count] of [
      ['dstRows', dstRows, hop.numDst],
      ['srcRows', srcRows, hop.numEdges],
    ] as const) {
      if (rows.length !== count)
        throw new ShapeError(expected(where, `${count} rows, as the hop has,`, name, rows.length));
    }
    const { dimEdge } = this.sizes;
    if (dimEdge > 0 && (edgeFeatures === null || featureWidth !== dimEdge)) {
      const got = edgeFeatures === null ? null : `rows of ${featureWidth}`;
      throw new ShapeError(expected(where, `rows of ${dimEdge} numbers`, 'edgeFeatures', got));
    }
  }

  protected override describe(): string {
    const { dimNode, dimEdge, dimTime, dimOut, heads } = this.sizes;
    return `${this.variant}, ${dimNode} + ${dimEdge} + ${dimTime} → ${dimOut}, ${heads} heads`;
  }
}

/** Destinations that are embedded together in evaluation. */
const evaluatedRows = 4096;

/** Queries of distinct rows of h, by head and position. */
interface SharedQueries {
  /** [heads · count, X]. */
  readonly table: Tensor;
  readonly count: number;
  /** Position of each row of h that is a destination. */
  readonly place: Int32Array;
}

/** Returns the destinations from … to − 1 with their edges. */
function sliceInput(input: AttentionInput, from: number, to: number): AttentionInput {
  const { hop, dstRows, srcRows } = input;
  const [begin, end] = [hop.indptr[from], hop.indptr[to]];
  return {
    ...input,
    hop: new TemporalHop({
      dstNodes: hop.dstNodes.subarray(from, to),
      dstTimes: hop.dstTimes.subarray(from, to),
      indptr: hop.indptr.subarray(from, to + 1).map((edge) => edge - begin),
      sources: hop.sources.subarray(begin, end),
      eventRows: hop.eventRows.subarray(begin, end),
      spans: hop.spans.subarray(begin, end),
      srcNodes: hop.srcNodes,
      srcTimes: hop.srcTimes,
    }),
    dstRows: dstRows.subarray(from, to),
    srcRows: srcRows.subarray(begin, end),
  };
}

/** LN(relu(drop(W[attended ‖ h] + b))); dropping after the relu gives the same, and lets relu join the product. */
class TglOutput extends Module {
  readonly attended: Tensor;
  readonly own: Tensor;
  readonly bias: Tensor;
  readonly norm: LayerNorm;
  readonly p: number;
  readonly #random: Random | null;

  constructor(dimOut: number, dimNode: number, p: number, options: ParameterOptions) {
    super();
    const fan = dimOut + dimNode;
    this.attended = newFanParameter([dimOut, dimOut], fan, options);
    this.own = newFanParameter([dimOut, dimNode], fan, options);
    this.bias = newFanParameter([dimOut], fan, options);
    this.norm = new LayerNorm(dimOut, options);
    this.p = checkNumber('TemporalAttentionLayer', 'dropout', p, 0, 1);
    this.#random = options.random ?? null;
  }

  forward(values: Tensor, own: Tensor, _indptr: Int32Array): Tensor {
    const y = linearPair(values, this.attended, own, this.own, this.bias, { relu: true });
    return this.norm.forward(this.training ? dropout(y, this.p, this.#random ?? defaultRandom()) : y);
  }
}

/** W₂ relu(W₁[P·attended + p ‖ h] + b₁) + b₂; the first term is 0 where a destination has no events. */
class TgnOutput extends Module {
  readonly project: Linear;
  readonly attended: Tensor;
  readonly own: Tensor;
  readonly bias: Tensor;
  readonly last: Linear;

  constructor(attended: number, dimNode: number, dimOut: number, options: ParameterOptions) {
    super();
    const hidden = dimNode > 0 ? dimNode : dimOut;
    this.project = new Linear(attended, attended, options);
    init.zeros(this.project.bias as Tensor);
    const into = attended + dimNode;
    const std = Math.sqrt(2 / (into + hidden));
    const normal = (t: Tensor): Tensor => init.normal(t, { ...randomOf(options), std });
    this.attended = newParameter([hidden, attended], options, normal);
    this.own = newParameter([hidden, dimNode], options, normal);
    this.bias = newFanParameter([hidden], into, options);
    this.last = new Linear(hidden, dimOut, options);
    init.glorotNormal(this.last.weight, randomOf(options));
  }

  forward(values: Tensor, own: Tensor, indptr: Int32Array): Tensor {
    const projected = withoutEmpty(this.project.forward(values), indptr);
    const hidden = linearPair(projected, this.attended, own, this.own, this.bias, { relu: true });
    return this.last.forward(hidden);
  }
}

/** Sets the rows of destinations without edges to 0. */
function withoutEmpty(x: Tensor, indptr: Int32Array): Tensor {
  const has = new Float64Array(x.shape[0]);
  let empty = false;
  for (let i = 0; i < has.length; i++) {
    has[i] = indptr[i] < indptr[i + 1] ? 1 : 0;
    empty ||= has[i] === 0;
  }
  if (!empty) return x;
  const mask = fromTypedArray(x.dtype === 'f32' ? Float32Array.from(has) : has, [has.length, 1]);
  return mul(x, mask);
}

type Make = (shape: readonly number[], fanIn: number, fanOut: number) => Tensor;

/** Initialises as PyTorch's linear layer, including the bias. */
function fanWeights(options: ParameterOptions): Make {
  return (shape, fanIn) => newFanParameter(shape, fanIn, options);
}

/** Initialises as PyTorch's multi-head attention: Glorot, biases (the last column of keys and values) 0. */
function glorotWeights(options: ParameterOptions): Make {
  return (shape, fanIn, fanOut) => {
    const bound = Math.sqrt(6 / Math.max(1, fanIn + fanOut));
    return newParameter(shape, options, (t) => {
      init.uniform(t, { ...randomOf(options), lo: -bound, hi: bound });
      const width = shape[shape.length - 1];
      if (shape.length === 3) for (let i = width - 1; i < t.size; i += width) t.floats[i] = 0;
    });
  };
}

function checkWidths(sizes: Sizes, attended: number): void {
  const where = 'TemporalAttentionLayer';
  const { dimNode, dimEdge, dimTime, dimOut, heads } = sizes;
  for (const [name, value] of Object.entries({ dimNode, dimEdge, dimTime })) checkInteger(where, name, value);
  checkSizes(where, { dimOut, heads });
  if (dimNode + dimEdge + dimTime === 0)
    throw new ValueError(expected(where, 'at least one width above 0', 'dimNode, dimEdge and dimTime', 0));
  if (attended === 0 || attended % heads !== 0)
    throw new ValueError(expected(where, `a divisor of ${attended}`, 'heads', heads));
}
