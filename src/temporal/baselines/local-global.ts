/**
 * `LocalGlobalRecency`: destinations that the source met before, the latest first, then all others by the time of their latest
 * event with any source (the heuristic of Cornell et al., 2025, for the Temporal Graph Benchmark). Nothing is fitted.
 */
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CandidateIndex } from '../candidates.js';
import type { StateSnapshot } from '../temporal-state.js';
import type { DurableBaseline } from './baseline.js';
import { baselineKind, trainingTime } from './baseline-kind.js';

export interface LocalGlobalOptions {
  /** The age at which recency is ½; it keeps scores apart and has no effect on their order. */
  readonly scale: number;
}

export class LocalGlobalRecency implements DurableBaseline {
  readonly name = 'LocalGlobalRecency';
  readonly #scale: number;
  /** When each pair met last, by source, then destination. */
  readonly #met = new Map<number, Map<number, number>>();
  /** When each destination met anybody last. */
  readonly #last = new Map<number, number>();

  constructor(options: LocalGlobalOptions) {
    checkOptionNames('LocalGlobalRecency', options, { scale: true });
    this.#scale = checkNumber('LocalGlobalRecency', 'scale', options.scale, Number.MIN_VALUE);
  }

  reset(): void {
    this.#met.clear();
    this.#last.clear();
  }

  observe(src: number, dst: number, time: number): void {
    let met = this.#met.get(src);
    if (met === undefined) {
      met = new Map();
      this.#met.set(src, met);
    }
    met.set(dst, time);
    this.#last.set(dst, time);
  }

  /** Above 1 for pairs that met; up to 1 for destinations with events; 0 for others. */
  score(src: number, dst: number, time: number): number {
    const met = this.#met.get(src)?.get(dst);
    if (met !== undefined) return 1 + this.#recency(met, time);
    const last = this.#last.get(dst);
    return last === undefined ? 0 : this.#recency(last, time);
  }

  scoreMany(src: number, candidates: CandidateIndex, time: number, out: Float64Array): void {
    const { nodes } = candidates;
    for (let k = 0; k < nodes.length; k++) {
      const last = this.#last.get(nodes[k]);
      out[k] = last === undefined ? 0 : this.#recency(last, time);
    }
    for (const [dst, last] of this.#met.get(src) ?? []) {
      const at = candidates.position(dst);
      if (at >= 0) out[at] = 1 + this.#recency(last, time);
    }
  }

  get bytes(): number {
    let pairs = 0;
    for (const met of this.#met.values()) pairs += met.size;
    return 16 * pairs + 12 * this.#last.size;
  }

  forget(): void {
    this.reset();
  }

  snapshot(): StateSnapshot {
    const pairs = [...this.#met].flatMap(([src, met]) => [...met].map(([dst, time]) => [src, dst, time]));
    return {
      arrays: {
        src: Int32Array.from(pairs, ([src]) => src),
        dst: Int32Array.from(pairs, ([, dst]) => dst),
        time: Float64Array.from(pairs, ([, , time]) => time),
      },
    };
  }

  restore({ arrays }: StateSnapshot): void {
    const { src, dst, time } = arrays;
    this.reset();
    for (let i = 0; i < time.length; i++) {
      const to = Number(dst[i]);
      const latest = this.#last.get(to) ?? Number.NEGATIVE_INFINITY;
      this.observe(Number(src[i]), to, Number(time[i]));
      // Pairs are saved by source, not by time.
      this.#last.set(to, Math.max(latest, Number(time[i])));
    }
  }

  #recency(last: number, time: number): number {
    return 1 / (1 + (time - last) / this.#scale);
  }
}

export const localGlobalKind = baselineKind({
  kind: 'local_global',
  doc: 'destinations that the source met, the latest first; then the others, those with the latest event first',
  settings: {},
  baseline: (place) => new LocalGlobalRecency({ scale: trainingTime(place) || 1 }),
});
