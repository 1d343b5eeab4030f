/**
 * How the score of an edge changes when the rows of its two ends are learned from other facts: each row starts at the mean row
 * of some nodes and is fitted to the facts of its node, against the same facts with random other ends, while all other rows and
 * the relations stay as they are. So the effect of leaving facts out is measured without training the model again.
 */
import { Adam, parameter } from '../../nn/index.js';
import {
  add,
  fromTypedArray,
  gatherRows,
  grad,
  keep,
  logSoftmax,
  mean,
  neg,
  noGrad,
  reshape,
  scope,
  slice,
  type Tensor,
} from '../../tensor/index.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { Random } from '../../util/philox.js';
import { scorePairs } from '../search/score-pairs.js';
import type { NodeRows } from '../top-nodes.js';
import { type EdgeIndex, edgeIndexOf } from '../views/edge-index.js';
import { type ScoredBy, scoredBy } from './influential-facts.js';
import { knownEnds, otherNodes } from './other-nodes.js';
import type { Pace } from './pace.js';
import type { AskedEdge } from './paths.js';

/** Facts of one end that its row is fitted to, the first of those given. */
const mostFacts = 100;
/** Random other ends that a fact competes with, and nodes that they are taken from; fewer in a small graph. */
const numOthers = 16;
const numDrawn = 64;
/** The score of an end that is missing: it has no share in the cross-entropy. */
const missing = -1e9;
const steps = 60;
/** The learning rate, as a fraction of the size of the numbers in rows. */
const rate = 0.1;
/** Separates these draws from others of the same seed. */
const stream = 0x72656669;

export class EndRefit {
  readonly #by: ScoredBy;
  readonly #asked: AskedEdge;
  readonly #index: EdgeIndex;
  readonly #pace: Pace;
  readonly #drawn: DrawnNodes;
  readonly #start: Float32Array;
  readonly #lr: number;

  private constructor(by: ScoredBy, asked: AskedEdge, index: EdgeIndex, drawn: DrawnNodes, pace: Pace) {
    this.#by = by;
    this.#asked = asked;
    this.#index = index;
    this.#pace = pace;
    this.#drawn = drawn;
    const { rows, width } = drawn;
    const count = Math.max(1, drawn.ids.length);
    this.#start = Float32Array.from({ length: width }, (_, i) => {
      let total = 0;
      for (let row = 0; row < drawn.ids.length; row++) total += rows[row * width + i];
      return total / count;
    });
    let squares = 0;
    for (const value of rows) squares += value * value;
    this.#lr = rate * Math.sqrt(squares / Math.max(1, rows.length)) || rate;
  }

  static async make(
    run: OpenedGraphRun,
    asked: AskedEdge,
    { seed, pace }: { readonly seed: number; readonly pace: Pace },
  ): Promise<EndRefit> {
    const by = scoredBy(run);
    const random = new Random(seed, stream);
    const { numNodes } = run.storage;
    const ids = otherNodes(random, numDrawn, numNodes, new Set([asked.src, asked.dst]));
    // The width is that of any row, also where no node is left.
    const { width } = await by.rows(Int32Array.of(asked.src));
    const { rows } = await by.rows(ids);
    return new EndRefit(by, asked, await edgeIndexOf(run), { ids, rows, width }, pace);
  }

  /** Returns the score of the edge with rows that are fitted to these facts alone. */
  async score(facts: readonly number[]): Promise<number> {
    const { src, dst, relation } = this.#asked;
    const [head, tail] = [await this.#fit(src, facts), await this.#fit(dst, facts)];
    const relations = relation === null ? null : Int32Array.of(relation);
    return noGrad(() =>
      scope(() => {
        const [from, to] = [head, tail].map((row) => fromTypedArray(row, [1, row.length]));
        return reshape(scorePairs(this.#by.decoder, { src: from, dst: to, relations, rows: to }), [1]).item();
      }),
    );
  }

  /** Returns the row of a node that its facts lead to; the start without any. */
  async #fit(node: number, facts: readonly number[]): Promise<Float32Array> {
    const { src, dst } = this.#index.columns;
    const asHead = facts.filter((edge) => src[edge] === node).slice(0, mostFacts);
    const asTail = facts.filter((edge) => dst[edge] === node && src[edge] !== node).slice(0, mostFacts);
    const sides = [await this.#side(node, asHead, 'head'), await this.#side(node, asTail, 'tail')].filter(
      (side) => side !== null,
    );
    if (sides.length === 0) return this.#start;
    const row = parameter(fromTypedArray(this.#start.slice(), [1, this.#start.length]));
    const optimizer = new Adam([row], { lr: this.#lr });
    for (let step = 0; step < steps; step++) {
      await this.#pace.step();
      scope(() => {
        const losses = sides.map((side) => this.#loss(row, side));
        const [found] = grad(
          losses.reduce((total, loss) => add(total, loss)),
          [row],
        );
        row.grad = found === null ? null : keep(found);
        optimizer.step();
        row.grad?.dispose();
        optimizer.zeroGrad();
      });
    }
    const fitted = (row.dataSync() as Float32Array).slice();
    row.dispose();
    return fitted;
  }

  /** Returns the facts of a node on one side with the rows of their other ends, the true one of each fact first. */
  async #side(node: number, facts: readonly number[], at: 'head' | 'tail'): Promise<FactSide | null> {
    if (facts.length === 0) return null;
    const { src, dst, relations } = this.#index.columns;
    const ends = await this.#by.rows(
      Int32Array.from(facts, (edge) => (at === 'head' ? dst[edge] : src[edge])),
    );
    const known = await knownEnds(this.#index, node, at, this.#pace);
    const { ids, rows: drawn, width } = this.#drawn;
    const group = 1 + numOthers;
    const rows = new Float32Array(facts.length * group * width);
    const added = new Float32Array(facts.length * group);
    for (const [i, edge] of facts.entries()) {
      const trueEnds = known.get(relations?.[edge] ?? 0);
      const others = [...ids.keys()].filter((row) => trueEnds?.has(ids[row]) !== true).slice(0, numOthers);
      rows.set(ends.rows.subarray(i * width, (i + 1) * width), i * group * width);
      for (const [j, row] of others.entries())
        rows.set(drawn.subarray(row * width, (row + 1) * width), (i * group + 1 + j) * width);
      added.fill(missing, i * group + 1 + others.length, (i + 1) * group);
    }
    const repeated =
      relations === null
        ? null
        : Int32Array.from(
            { length: facts.length * group },
            (_, i) => relations[facts[Math.floor(i / group)]],
          );
    return { at, rows, added, relations: repeated, count: facts.length };
  }

  /** Returns the mean loss of facts: the cross-entropy of the true other end among the random ones. */
  #loss(row: Tensor, { at, rows, added, relations, count }: FactSide): Tensor {
    const group = 1 + numOthers;
    const others = fromTypedArray(rows, [count * group, rows.length / (count * group)]);
    const own = gatherRows(row, new Int32Array(count * group));
    const [from, to] = at === 'head' ? [own, others] : [others, own];
    const scores = scorePairs(this.#by.decoder, { src: from, dst: to, relations, rows: to });
    const competing = add(reshape(scores, [count, group]), fromTypedArray(added, [count, group]));
    return neg(mean(slice(logSoftmax(competing, 1), 0, 1, 1)));
  }
}

/** Random nodes: other ends that facts compete with are taken from them. */
interface DrawnNodes extends NodeRows {
  readonly ids: Int32Array;
}

interface FactSide {
  readonly at: 'head' | 'tail';
  /** Rows of the other ends: of each fact, then those it competes with, none of which is known to be true. */
  readonly rows: Float32Array;
  /** Added to the score of each row: `missing` where no node is left, otherwise 0. */
  readonly added: Float32Array;
  readonly relations: Int32Array | null;
  readonly count: number;
}
