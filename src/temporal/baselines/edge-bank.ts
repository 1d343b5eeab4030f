/**
 * EdgeBank (Poursafaei et al., "Towards better evaluation for dynamic link prediction", NeurIPS 2022): a pair that met
 * before will meet again. With a window, only meetings that are not older than it count.
 */
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { fraction, number } from '../../util/settings.js';
import type { CandidateIndex } from '../candidates.js';
import type { StateSnapshot } from '../temporal-state.js';
import type { DurableBaseline } from './baseline.js';
import { baselineKind, trainingTime } from './baseline-kind.js';

export interface EdgeBankOptions {
  /** How long a meeting is remembered; without it, forever. The paper uses the duration of the test split. */
  readonly window?: number;
  /** The end of the window: the time of the score (default), or the latest event, as in the Temporal Graph Benchmark. */
  readonly windowEnd?: 'score' | 'event';
}

export class EdgeBank implements DurableBaseline {
  readonly name: string;
  readonly #window: number;
  readonly #endsAtEvent: boolean;
  /** When each pair met last, by source, then destination. */
  readonly #last = new Map<number, Map<number, number>>();
  /** The time of the latest event. */
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: EdgeBankOptions = {}) {
    checkOptionNames('EdgeBank', options, { window: true, windowEnd: true });
    if (options.window !== undefined) checkNumber('EdgeBank', 'window', options.window, 0);
    this.#window = options.window ?? Infinity;
    this.#endsAtEvent = options.windowEnd === 'event';
    this.name = options.window === undefined ? 'EdgeBank' : 'EdgeBank (window)';
  }

  reset(): void {
    this.#last.clear();
    this.#latest = Number.NEGATIVE_INFINITY;
  }

  observe(src: number, dst: number, time: number): void {
    let met = this.#last.get(src);
    if (met === undefined) {
      met = new Map();
      this.#last.set(src, met);
    }
    met.set(dst, time);
    this.#latest = Math.max(this.#latest, time);
  }

  score(src: number, dst: number, time: number): number {
    const last = this.#last.get(src)?.get(dst);
    return last !== undefined && this.#end(time) - last <= this.#window ? 1 : 0;
  }

  /** Returns the time at which the window ends. */
  #end(time: number): number {
    return this.#endsAtEvent ? this.#latest : time;
  }

  scoreMany(src: number, candidates: CandidateIndex, time: number, out: Float64Array): void {
    out.fill(0);
    const met = this.#last.get(src);
    if (met === undefined) return;
    const end = this.#end(time);
    for (const [dst, last] of met) {
      const at = candidates.position(dst);
      if (at >= 0 && end - last <= this.#window) out[at] = 1;
    }
  }

  get bytes(): number {
    return 16 * this.#size;
  }

  forget(): void {
    this.reset();
  }

  snapshot(): StateSnapshot {
    const src = new Int32Array(this.#size);
    const [dst, time] = [src.slice(), new Float64Array(src.length)];
    let at = 0;
    for (const [from, met] of this.#last)
      for (const [to, when] of met) {
        src[at] = from;
        dst[at] = to;
        time[at++] = when;
      }
    return { arrays: { src, dst, time } };
  }

  restore({ arrays }: StateSnapshot): void {
    const { src, dst, time } = arrays;
    this.reset();
    for (let i = 0; i < time.length; i++) this.observe(Number(src[i]), Number(dst[i]), Number(time[i]));
  }

  get #size(): number {
    let pairs = 0;
    for (const met of this.#last.values()) pairs += met.size;
    return pairs;
  }
}

export const edgeBankKind = baselineKind({
  kind: 'edge_bank',
  doc: 'EdgeBank, for which a pair that met before will meet again',
  settings: {
    window: number(0, 'how long a meeting is remembered, in the unit of the times; 0: for ever', { min: 0 }),
    window_share: fraction(0, 'the same as a fraction of the training time; 0: for ever'),
    window_fraction: fraction(
      0,
      'as window_share, but before the latest event instead of before the time of a score, as in the Temporal Graph Benchmark (0.15)',
    ),
  },
  check: ({ options }) => {
    const given = Object.entries(options).filter(([, value]) => value > 0);
    if (given.length < 2) return null;
    const [names, values] = [given.map(([name]) => `model.${name}`), given.map(([, value]) => value)];
    return `expected ${names.join(' or ')}, got both (${values.join(' and ')}). Leave one out.`;
  },
  baseline: ({ options, ...place }) => {
    const fractionOf = options.window_fraction + options.window_share;
    const window = options.window > 0 ? options.window : fractionOf * trainingTime(place);
    const windowEnd = options.window_fraction > 0 ? 'event' : 'score';
    return new EdgeBank(window > 0 ? { window, windowEnd } : {});
  },
});
