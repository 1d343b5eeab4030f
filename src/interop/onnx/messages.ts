/**
 * Message passing as ONNX operations: rows of sources are gathered for each edge and reduced into destinations by scatter
 * operations.
 *
 * Edges are edge_index [2, E] (sources, destinations), in any order, possibly with duplicates. On a whole graph sources and
 * destinations are the same nodes; on a block the destinations are the first `num_dst` sources. Self loops that layers add
 * are not edges here but a dense term for the nodes without one, so no shape depends on data.
 *
 * The default is ScatterElements, which onnxruntime executes in order. ScatterND is faster and needs less memory, but
 * onnxruntime runs it in parallel without synchronising equal ids, so sums are wrong with several threads.
 */
import type { OnnxGraph, Value } from './onnx-graph.js';

/** The smallest finite f32, the start value of maxima. */
const lowest = -3.4028234663852886e38;

export type ScatterKind = 'elements' | 'nd';

export interface EdgeInputs {
  /** edge_index [2, E]. */
  readonly index: Value;
  /** Number of sources, as a list of one number. */
  readonly numSrc: Value;
  /** Number of destinations, as a list of one number; null on a whole graph. */
  readonly numDst: Value | null;
  /** [E], or null if all are 1. */
  readonly weight: Value | null;
  /** [E, D], or null. */
  readonly features: Value | null;
  readonly scatter: ScatterKind;
}

/** Term of a softmax or a sum for the self loops of nodes that have none. */
export interface LoopTerm {
  /** [Nd, H] */
  readonly score: Value;
  /** [Nd, H, D] */
  readonly value: Value;
}

export class Messages {
  readonly src: Value;
  readonly dst: Value;
  readonly isBlock: boolean;
  /** Number of destinations, as a list of one number. */
  readonly numDst: Value;
  readonly #g: OnnxGraph;
  readonly #edges: EdgeInputs;
  readonly #values = new Map<string, Value>();

  constructor(g: OnnxGraph, edges: EdgeInputs) {
    this.#g = g;
    this.#edges = edges;
    this.isBlock = edges.numDst !== null;
    this.numDst = edges.numDst ?? edges.numSrc;
    this.src = g.node('Gather', [edges.index, g.integers(0)]);
    this.dst = g.node('Gather', [edges.index, g.integers(1)]);
  }

  /** Features of the edges, [E, D]. */
  get features(): Value | null {
    return this.#edges.features;
  }

  /** Weights of the edges as a column, [E, 1]. */
  get weight(): Value | null {
    const { weight } = this.#edges;
    if (weight === null) return null;
    return this.#once('weight', (g) => g.node('Unsqueeze', [weight, g.integers([1])]));
  }

  /** Returns the rows of a tensor of sources that belong to the destinations. */
  dstRows(x: Value): Value {
    if (!this.isBlock) return x;
    const g = this.#g;
    return g.node('Slice', [x, g.integers([0]), this.numDst, g.integers([0])]);
  }

  fromSrc(x: Value): Value {
    return this.#g.node('Gather', [x, this.src]);
  }

  fromDst(x: Value): Value {
    return this.#g.node('Gather', [x, this.dst]);
  }

  /** Sums edge rows by destination, [E, …] → [Nd, …], starting from `start`. */
  sum(rows: Value, start: Value | null = null): Value {
    return this.#scatter(rows, 'add', start ?? this.#filled(rows, 0));
  }

  /** Returns the maxima of edge rows by destination, starting from `start`; the lowest float without edges. */
  max(rows: Value, start: Value | null = null): Value {
    return this.#scatter(rows, 'max', start ?? this.#filled(rows, lowest));
  }

  /** Returns the number of edges into each destination, [Nd, 1]. */
  counts(): Value {
    return this.#once('counts', () => this.sum(this.#ones()));
  }

  /** Returns 1 for destinations without a self loop, else 0: [Nd, 1]. */
  missingLoops(): Value {
    return this.#once('missing', (g) => {
      const isLoop = g.node('Cast', [g.node('Equal', [this.src, this.dst])], { to: { int: 1 } });
      const rows = g.node('Unsqueeze', [isLoop, g.integers([1])]);
      return g.node('Sub', [g.scalar(1), this.max(rows, this.#filled(rows, 0))]);
    });
  }

  /** Aggregates source rows over the edges, [Ns, F] → [Nd, F]; 0 without edges. */
  aggregate(x: Value, reduce: 'sum' | 'mean' | 'max', weight: Value | null = null): Value {
    const g = this.#g;
    const sent = this.fromSrc(x);
    const rows = weight === null ? sent : g.node('Mul', [sent, weight]);
    if (reduce === 'max') {
      const some = g.node('Greater', [this.counts(), g.scalar(0)]);
      return g.node('Where', [some, this.max(rows), g.scalar(0)]);
    }
    const total = this.sum(rows);
    if (reduce === 'sum') return total;
    return g.node('Div', [total, g.node('Max', [this.counts(), g.scalar(1)])]);
  }

  /** Returns Â x with symmetric normalisation, as `propagate` does on a whole graph. */
  propagate(x: Value, selfLoops: boolean): Value {
    const g = this.#g;
    const scale = this.#inverseRoots(selfLoops);
    const scaled = g.node('Mul', [x, scale]);
    const sent = this.fromSrc(scaled);
    const rows = this.weight === null ? sent : g.node('Mul', [sent, this.weight]);
    const start = selfLoops ? g.node('Mul', [scaled, this.missingLoops()]) : null;
    return g.node('Mul', [this.sum(rows, start), scale]);
  }

  /**
   * Returns Σ over the edges into v of softmax(score) · value: scores [E, H], values [E, H, D] → [Nd, H, D]; 0 without
   * edges. `loop` is added for destinations without a self loop.
   */
  softmaxSum(scores: Value, values: Value, loop: LoopTerm | null): Value {
    const g = this.#g;
    const missing = loop === null ? null : g.node('Greater', [this.missingLoops(), g.scalar(0)]);
    const start = loop === null ? null : g.node('Where', [missing, loop.score, g.scalar(lowest)]);
    const most = this.max(scores, start);
    const weights = g.node('Exp', [g.node('Sub', [scores, this.fromDst(most)])]);
    const loopWeight =
      loop === null
        ? null
        : g.node('Where', [missing, g.node('Exp', [g.node('Sub', [loop.score, most])]), g.scalar(0)]);
    const wide = (weight: Value): Value => g.node('Unsqueeze', [weight, g.integers([2])]);
    const loopValue =
      loop === null || loopWeight === null ? null : g.node('Mul', [wide(loopWeight), loop.value]);
    const total = this.sum(g.node('Mul', [wide(weights), values]), loopValue);
    // The largest weight is 1, so only destinations without edges have a smaller sum.
    const sum = g.node('Max', [this.sum(weights, loopWeight), g.scalar(1e-30)]);
    return g.node('Div', [total, wide(sum)]);
  }

  /** Returns d^(−½) of the weighted in-degrees, 0 if a degree is not positive: [Nd, 1]. */
  #inverseRoots(selfLoops: boolean): Value {
    return this.#once(`roots ${selfLoops}`, (g) => {
      const start = selfLoops ? this.missingLoops() : null;
      const degrees = this.sum(this.weight ?? this.#ones(), start);
      const root = g.node('Sqrt', [g.node('Max', [degrees, g.scalar(1e-30)])]);
      const some = g.node('Greater', [degrees, g.scalar(0)]);
      return g.node('Where', [some, g.node('Reciprocal', [root]), g.scalar(0)]);
    });
  }

  /** [E, 1] */
  #ones(): Value {
    return this.#once('ones', (g) => {
      const edges = g.node('Concat', [g.node('Shape', [this.dst]), g.integers([1])], { axis: { int: 0 } });
      return g.node('ConstantOfShape', [edges], { value: { fill: 1 } });
    });
  }

  /** Returns a constant [Nd, …] with the inner axes of edge rows. */
  #filled(rows: Value, value: number): Value {
    const g = this.#g;
    const inner = g.node('Shape', [rows], { start: { int: 1 } });
    const shape = g.node('Concat', [this.numDst, inner], { axis: { int: 0 } });
    return g.node('ConstantOfShape', [shape], { value: { fill: value } });
  }

  #scatter(rows: Value, reduction: 'add' | 'max', start: Value): Value {
    const g = this.#g;
    const attributes = { reduction: { text: reduction } };
    if (this.#edges.scatter === 'nd') return g.node('ScatterND', [start, this.#ids(), rows], attributes);
    // Flattened to one axis, which is three times as fast as scattering along the first of several.
    const list = g.integers([-1]);
    const flat = g.node(
      'ScatterElements',
      [g.node('Reshape', [start, list]), this.#positions(rows), g.node('Reshape', [rows, list])],
      { ...attributes, axis: { int: 0 } },
    );
    return g.node('Reshape', [flat, g.node('Shape', [start])], { allowzero: { int: 1 } });
  }

  /** Returns the position of each number of edge rows among those of the destinations: [E · width]. */
  #positions(rows: Value): Value {
    const g = this.#g;
    const inner = g.node('Shape', [rows], { start: { int: 1 } });
    const width = g.node('ReduceProd', [inner], { keepdims: { int: 0 } });
    const columns = g.node('Range', [g.integers(0), width, g.integers(1)]);
    const all = g.node('Add', [g.node('Mul', [this.#ids(), width]), columns]);
    return g.node('Reshape', [all, g.integers([-1])]);
  }

  /** Returns the destinations as a column, [E, 1]. */
  #ids(): Value {
    return this.#once('ids', (g) => g.node('Unsqueeze', [this.dst, g.integers([1])]));
  }

  #once(key: string, make: (g: OnnxGraph) => Value): Value {
    let value = this.#values.get(key);
    if (value === undefined) {
      value = make(this.#g);
      this.#values.set(key, value);
    }
    return value;
  }
}
