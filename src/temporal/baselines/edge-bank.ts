/**
 * EdgeBank (Poursafaei et al., "Towards better evaluation for dynamic link prediction", NeurIPS 2022): a pair that met
 * before will meet again. With a window, only meetings that are not older than it count.
 */
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { TemporalBaseline } from './baseline.js';

export interface EdgeBankOptions {
  /** How long a meeting is remembered; for ever when absent. The paper takes the duration of the test split. */
  readonly window?: number;
}

export class EdgeBank implements TemporalBaseline {
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
}
