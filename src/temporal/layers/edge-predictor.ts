/**
 * `EdgePredictor`: how likely two embeddings meet, w·relu(W_s·h_s + W_d·h_d + b) + c as a logit. The same function as
 * TGN's merge layer over [h_s ‖ h_d].
 */
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import {
  add,
  concat,
  expand,
  gatherRows,
  isGradEnabled,
  linear,
  relu,
  reshape,
  scope,
  slice,
  type Tensor,
  zeros,
} from '../../tensor/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

/** Rows of the embeddings that belong to events: their ends, and q negatives of each at i·q. */
export interface ScoredRoots {
  readonly srcRoots: Int32Array;
  readonly dstRoots: Int32Array;
  readonly negRoots: Int32Array;
}

export interface EdgeScores {
  /** [B]. */
  readonly positive: Tensor;
  /** [B·q], those of event i at i·q. */
  readonly negative: Tensor;
}

/** Pairs that are scored together in evaluation. */
const evaluatedPairs = 4096;

export class EdgePredictor extends Module {
  readonly src: Linear;
  /** Without a bias: the source's serves both. */
  readonly dst: Linear;
  readonly out: Linear;
  /** Maps features of the pair itself; null if only embeddings are used. */
  readonly pairIn: Linear | null;
  readonly pairOut: Linear | null;

  /** @param pairWidth numbers that describe a pair; 0 for none. */
  constructor(dim: number, options: ParameterOptions = {}, pairWidth = 0) {
    super();
    checkOptionNames('EdgePredictor', options, { dtype: true, random: true });
    this.pairIn = pairWidth === 0 ? null : new Linear(pairWidth, dim, options);
    this.pairOut = pairWidth === 0 ? null : new Linear(dim, dim, { ...options, bias: false });
    this.src = new Linear(dim, dim, options);
    this.dst = new Linear(dim, dim, { ...options, bias: false });
    this.out = new Linear(dim, 1, options);
  }

  /** Scores of every event and of every negative with the event's source. */
  forward(embeddings: Tensor, roots: ScoredRoots, pairFeatures: Tensor | null = null): EdgeScores {
    const { srcRoots, dstRoots, negRoots } = roots;
    const events = srcRoots.length;
    const amount = events === 0 ? 0 : negRoots.length / events;
    if (dstRoots.length !== events || !Number.isInteger(amount))
      throw new ShapeError(
        expected(
          'EdgePredictor',
          `as many destinations as the ${events} sources and a multiple of negatives`,
          'roots',
          `${dstRoots.length} and ${negRoots.length}`,
        ),
      );
    if (amount <= 1) {
      const scores = this.pairs(
        embeddings,
        joined(srcRoots, srcRoots.subarray(0, negRoots.length)),
        joined(dstRoots, negRoots),
        pairFeatures,
      );
      return { positive: slice(scores, 0, events), negative: slice(scores, events) };
    }
    const chunk = Math.max(1, Math.floor(evaluatedPairs / amount));
    if (isGradEnabled() || events <= chunk)
      return this.#many(embeddings, roots, events, amount, pairFeatures);
    // A score does not depend on other pairs: chunks bound memory and give the same bits.
    const all: EdgeScores[] = [];
    for (let from = 0; from < events; from += chunk) {
      const to = Math.min(events, from + chunk);
      all.push(scope(() => this.#slice(embeddings, roots, pairFeatures, from, to)));
    }
    return {
      positive: concat(
        all.map(({ positive }) => positive),
        0,
      ),
      negative: concat(
        all.map(({ negative }) => negative),
        0,
      ),
    };
  }

  /** Scores of the events from … to − 1. */
  #slice(
    embeddings: Tensor,
    { srcRoots, dstRoots, negRoots }: ScoredRoots,
    pairFeatures: Tensor | null,
    from: number,
    to: number,
  ): EdgeScores {
    const [events, amount] = [srcRoots.length, negRoots.length / srcRoots.length];
    const roots = {
      srcRoots: srcRoots.subarray(from, to),
      dstRoots: dstRoots.subarray(from, to),
      negRoots: negRoots.subarray(from * amount, to * amount),
    };
    const features =
      pairFeatures === null
        ? null
        : concat(
            [
              slice(pairFeatures, from, to),
              slice(pairFeatures, events + from * amount, events + to * amount),
            ],
            0,
          );
    return this.#many(embeddings, roots, to - from, amount, features);
  }

  /**
   * Scores of the pairs (a[i], b[i]), [n]. Both ends are mapped on their own and then added, as for many negatives: a score
   * has the same bits whatever other pairs are scored.
   */
  pairs(embeddings: Tensor, a: Int32Array, b: Int32Array, pairFeatures: Tensor | null = null): Tensor {
    const hs = this.src.forward(gatherRows(embeddings, a));
    const hd = linear(gatherRows(embeddings, b), this.dst.weight);
    const known = this.#pairRows(pairFeatures);
    return this.#score(relu(add(hs, known === null ? hd : add(hd, known))));
  }

  /** Scores of every source [B, d] with all candidates [C, d], row by row [B · C]: each row is mapped once. */
  among(sources: Tensor, candidates: Tensor): Tensor {
    const hs = this.src.forward(sources);
    const hd = linear(candidates, this.dst.weight);
    const rows = Array.from({ length: hs.shape[0] }, (_, i) =>
      scope(() => this.#score(relu(add(slice(hs, i, i + 1), hd)))),
    );
    return rows.length === 0 ? zeros([0], { dtype: hs.dtype }) : concat(rows, 0);
  }

  /** Each source is mapped once for all of its negatives. */
  #many(
    embeddings: Tensor,
    roots: ScoredRoots,
    events: number,
    amount: number,
    pairFeatures: Tensor | null,
  ): EdgeScores {
    const known = this.#pairRows(pairFeatures);
    const width = this.src.outFeatures;
    const hs = this.src.forward(gatherRows(embeddings, roots.srcRoots));
    const ends = joined(roots.dstRoots, roots.negRoots);
    const few = ends.length <= embeddings.shape[0];
    const hd = few
      ? linear(gatherRows(embeddings, ends), this.dst.weight)
      : gatherRows(linear(embeddings, this.dst.weight), ends);
    const withPairs = known === null ? hd : add(hd, known);
    const positive = this.#score(relu(add(hs, slice(withPairs, 0, events))));
    const others = reshape(slice(withPairs, events), [events, amount, width]);
    const sources = expand(reshape(hs, [events, 1, width]), [events, amount, width]);
    const negative = this.#score(reshape(relu(add(sources, others)), [events * amount, width]));
    return { positive, negative };
  }

  /** Returns the contribution of the features of pairs to the hidden rows. */
  #pairRows(features: Tensor | null): Tensor | null {
    const { pairIn, pairOut } = this;
    if (pairIn === null || pairOut === null) return null;
    if (features === null)
      throw new ShapeError(
        expected(
          'EdgePredictor',
          `rows of ${pairIn.inFeatures} numbers`,
          'pairFeatures',
          null,
          'Load batches with pairDepth.',
        ),
      );
    return pairOut.forward(relu(pairIn.forward(features)));
  }

  #score(hidden: Tensor): Tensor {
    return reshape(this.out.forward(hidden), [hidden.shape[0]]);
  }

  protected override describe(): string {
    return String(this.src.inFeatures);
  }
}

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const both = new Int32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
