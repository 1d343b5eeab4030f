/** Scores of events and of the same candidates each, by a scorer of candidates: an event's score is that of its destination among them. */
import type { TemporalBatch } from './batch.js';
import { CandidateIndex } from './candidates.js';
import type { CandidateScorer } from './models/candidate-scorer.js';
import type { TemporalOutput } from './models/output.js';
import { type CandidateScores, checkFinite } from './steps.js';

export class CandidateRanker {
  readonly #scorer: CandidateScorer;
  #index: CandidateIndex | null = null;

  constructor(scorer: CandidateScorer) {
    this.#scorer = scorer;
  }

  scores(batch: TemporalBatch, output: TemporalOutput, candidates: Int32Array): CandidateScores {
    if (this.#index?.nodes !== candidates) this.#index = new CandidateIndex(candidates);
    const index = this.#index;
    const { dst } = batch;
    const count = candidates.length;
    // Other destinations are scored after the candidates.
    const others = [...new Set(dst)].filter((node) => index.position(node) < 0);
    const places = new Map(others.map((node, k) => [node, count + k] as const));
    const nodes = others.length === 0 ? candidates : Int32Array.of(...candidates, ...others);
    const all = this.byEvent(batch, output, nodes);
    const width = nodes.length;
    const positive = new Float32Array(dst.length);
    for (let i = 0; i < dst.length; i++)
      positive[i] = all[i * width + (places.get(dst[i]) ?? index.position(dst[i]))];
    if (width === count) return { positive, candidates: all };
    const own = new Float32Array(dst.length * count);
    for (let i = 0; i < dst.length; i++) own.set(all.subarray(i * width, i * width + count), i * count);
    return { positive, candidates: own };
  }

  /** Returns the scores of every event's source with all nodes [B·C], row by row. */
  byEvent(batch: TemporalBatch, output: TemporalOutput, nodes: Int32Array): Float32Array {
    const byNode = checkFinite(this.#scorer.score(batch, output, nodes), 'candidate');
    const [events, count] = [batch.src.length, nodes.length];
    if (events === 1) return byNode;
    const scores = new Float32Array(byNode.length);
    for (let c = 0; c < count; c++)
      for (let i = 0; i < events; i++) scores[i * count + c] = byNode[c * events + i];
    return scores;
  }
}
