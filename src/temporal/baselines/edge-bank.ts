/**
 * EdgeBank (Poursafaei et al., "Towards better evaluation for dynamic link prediction", NeurIPS 2022): a pair that met
 * before will meet again. With a window, only meetings that are not older than it count.
 */
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { fraction, number } from '../../util/settings.js';
import type { StateSnapshot } from '../temporal-state.js';
import type { DurableBaseline } from './baseline.js';
import { baselineKind, trainingTime } from './baseline-kind.js';

export interface EdgeBankOptions {
  /** How long a meeting is remembered; without it, forever. The paper uses the duration of the test split. */
  readonly window?: number;
}

export class EdgeBank implements DurableBaseline {
  readonly name: string;
  readonly #window: number;
  /** When each pair met last, by source, then destination. */
  readonly #last = new Map<number, Map<number, number>>();

  constructor(options: EdgeBankOptions = {}) {
    checkOptionNames('EdgeBank', options, { window: true });
    if (options.window !== undefined) checkNumber('EdgeBank', 'window', options.window, 0);
    this.#window = options.window ?? Infinity;
    this.name = options.window === undefined ? 'EdgeBank' : 'EdgeBank (window)';
  }

  reset(): void {
    this.#last.clear();
  }

  observe(src: number, dst: number, time: number): void {
    let met = this.#last.get(src);
    if (met === undefined) {
      met = new Map();
      this.#last.set(src, met);
    }
    met.set(dst, time);
  }

  score(src: number, dst: number, time: number): number {
    const last = this.#last.get(src)?.get(dst);
    return last !== undefined && time - last <= this.#window ? 1 : 0;
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
    window_share: fraction(0, 'the same as a share of the training time; 0: for ever'),
  },
  check: ({ options: { window, window_share: part } }) =>
    window > 0 && part > 0
      ? `expected model.window or model.window_share, got both (${window} and ${part}). Leave one out.`
      : null,
  baseline: ({ options, ...place }) => {
    const window = options.window > 0 ? options.window : options.window_share * trainingTime(place);
    return new EdgeBank(window > 0 ? { window } : {});
  },
});
