/**
 * `ReduceLROnPlateau`: lowers the rate when a measured value has stopped improving, as torch.optim.lr_scheduler does.
 */
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Scheduled } from './schedule.js';

export interface PlateauOptions {
  /** Whether smaller ('min', the default) or larger values are better. */
  readonly mode?: 'min' | 'max';
  readonly factor?: number;
  /** The number of steps without improvement to tolerate. */
  readonly patience?: number;
  /** The least improvement, relative to the best value or absolute. */
  readonly threshold?: number;
  readonly thresholdMode?: 'rel' | 'abs';
  /** The number of steps after a reduction that are not counted. */
  readonly cooldown?: number;
  readonly minLr?: number;
  /** The least change of the rate; smaller ones are skipped. */
  readonly eps?: number;
}

/** The state, which can be stored as JSON; `best` is null before the first step. */
export interface PlateauState {
  readonly best: number | null;
  readonly badSteps: number;
  readonly cooldownLeft: number;
}

export class ReduceLROnPlateau {
  readonly #optimizer: Scheduled;
  readonly #options: Required<PlateauOptions>;
  #best: number | null = null;
  #badSteps = 0;
  #cooldownLeft = 0;

  constructor(optimizer: Scheduled, options: PlateauOptions = {}) {
    checkOptionNames('ReduceLROnPlateau', options, {
      mode: true,
      factor: true,
      patience: true,
      threshold: true,
      thresholdMode: true,
      cooldown: true,
      minLr: true,
      eps: true,
    });
    const where = 'ReduceLROnPlateau';
    if (!Array.isArray(optimizer?.groups))
      throw new ValueError(expected(where, 'an optimizer', 'optimizer', optimizer));
    const o = {
      mode: 'min',
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      thresholdMode: 'rel',
      cooldown: 0,
      minLr: 0,
      eps: 1e-8,
      ...options,
    } as const;
    if (o.mode !== 'min' && o.mode !== 'max')
      throw new ValueError(expected(where, "'min' or 'max'", 'mode', o.mode));
    if (o.thresholdMode !== 'rel' && o.thresholdMode !== 'abs') {
      throw new ValueError(expected(where, "'rel' or 'abs'", 'thresholdMode', o.thresholdMode));
    }
    checkNumber(where, 'factor', o.factor, 0);
    if (o.factor >= 1) throw new ValueError(expected(where, 'a number below 1', 'factor', o.factor));
    checkInteger(where, 'patience', o.patience);
    checkInteger(where, 'cooldown', o.cooldown);
    for (const name of ['threshold', 'minLr', 'eps'] as const) checkNumber(where, name, o[name], 0);
    this.#optimizer = optimizer;
    this.#options = o;
  }

  /** Adjusts the rates to the value measured after an epoch. */
  step(value: number): void {
    if (typeof value !== 'number' || Number.isNaN(value)) {
      throw new ValueError(expected('ReduceLROnPlateau.step', 'a number', 'value', value));
    }
    if (this.#improves(value)) {
      this.#best = value;
      this.#badSteps = 0;
    } else {
      this.#badSteps++;
    }
    if (this.#cooldownLeft > 0) {
      this.#cooldownLeft--;
      this.#badSteps = 0;
    }
    if (this.#badSteps > this.#options.patience) {
      this.#reduce();
      this.#cooldownLeft = this.#options.cooldown;
      this.#badSteps = 0;
    }
  }

  #improves(value: number): boolean {
    const { mode, threshold, thresholdMode } = this.#options;
    const best = this.#best ?? (mode === 'min' ? Infinity : -Infinity);
    if (thresholdMode === 'abs') return mode === 'min' ? value < best - threshold : value > best + threshold;
    return mode === 'min' ? value < best * (1 - threshold) : value > best * (1 + threshold);
  }

  #reduce(): void {
    const { factor, minLr, eps } = this.#options;
    for (const group of this.#optimizer.groups) {
      const next = Math.max(group.lr * factor, minLr);
      if (group.lr - next > eps) group.lr = next;
    }
  }

  stateDict(): PlateauState {
    return { best: this.#best, badSteps: this.#badSteps, cooldownLeft: this.#cooldownLeft };
  }

  loadStateDict(state: PlateauState): void {
    this.#badSteps = checkInteger('ReduceLROnPlateau', 'badSteps', state.badSteps);
    this.#cooldownLeft = checkInteger('ReduceLROnPlateau', 'cooldownLeft', state.cooldownLeft);
    this.#best = state.best === null ? null : checkNumber('ReduceLROnPlateau', 'best', state.best);
  }
}
