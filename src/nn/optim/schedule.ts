/**
 * Learning-rate schedules, with the formulas of torch.optim.lr_scheduler in closed form: the rate after t calls of
 * `step` is a function of t and of the rate each group had when the schedule was made.
 *
 * `ReduceLROnPlateau` is separate, because it depends on a measured value.
 */
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

/** The properties of an optimiser that a schedule uses. */
export interface Scheduled {
  readonly groups: readonly { lr: number }[];
}

/** The state, which can be stored as JSON. */
export interface ScheduleState {
  readonly t: number;
  readonly baseRates: readonly number[];
}

abstract class Schedule {
  readonly #optimizer: Scheduled;
  #baseRates: readonly number[];
  #t = 0;

  constructor(optimizer: Scheduled) {
    if (!Array.isArray(optimizer?.groups)) {
      throw new ValueError(expected(this.constructor.name, 'an optimizer', 'optimizer', optimizer));
    }
    this.#optimizer = optimizer;
    this.#baseRates = optimizer.groups.map((group) => group.lr);
  }

  /** Returns the rate of group `i` after t steps, given its initial rate. */
  protected abstract rate(base: number, t: number, i: number): number;

  /** Sets the rates for t = 0; subclasses call it after setting their fields. */
  protected start(): void {
    this.#apply();
  }

  /** Advances by one step: call it after each epoch, or after each batch. */
  step(): void {
    this.#t++;
    this.#apply();
  }

  /** The number of calls of `step`. */
  get t(): number {
    return this.#t;
  }

  stateDict(): ScheduleState {
    return { t: this.#t, baseRates: this.#baseRates };
  }

  loadStateDict(state: ScheduleState): void {
    if (state.baseRates.length !== this.#baseRates.length) {
      throw new ValueError(
        expected(this.constructor.name, `${this.#baseRates.length} groups`, 'state', state.baseRates.length),
      );
    }
    this.#t = checkInteger(this.constructor.name, 't', state.t);
    this.#baseRates = state.baseRates.map((rate) => checkNumber(this.constructor.name, 'a rate', rate, 0));
    this.#apply();
  }

  #apply(): void {
    for (const [i, group] of this.#optimizer.groups.entries()) {
      const base = this.#baseRates[i] ?? group.lr;
      group.lr = checkNumber(this.constructor.name, 'the rate it gives', this.rate(base, this.#t, i), 0);
    }
  }
}

export interface GammaOptions {
  /** Factor of each reduction; 0.1 by default. */
  readonly gamma?: number;
}

/** Multiplies the rate by gamma every `size` steps. */
export class StepLR extends Schedule {
  readonly #size: number;
  readonly #gamma: number;

  constructor(optimizer: Scheduled, size: number, options: GammaOptions = {}) {
    super(optimizer);
    checkOptionNames('StepLR', options, { gamma: true });
    this.#size = checkInteger('StepLR', 'size', size, 1);
    this.#gamma = checkNumber('StepLR', 'gamma', options.gamma ?? 0.1, 0);
    this.start();
  }

  protected rate(base: number, t: number): number {
    return base * this.#gamma ** Math.floor(t / this.#size);
  }
}

/** Multiplies the rate by gamma at each milestone. */
export class MultiStepLR extends Schedule {
  readonly #milestones: readonly number[];
  readonly #gamma: number;

  constructor(optimizer: Scheduled, milestones: readonly number[], options: GammaOptions = {}) {
    super(optimizer);
    checkOptionNames('MultiStepLR', options, { gamma: true });
    if (!Array.isArray(milestones))
      throw new ValueError(expected('MultiStepLR', 'an array of steps', 'milestones', milestones));
    this.#milestones = milestones.map((m, i) => checkInteger('MultiStepLR', `milestones[${i}]`, m));
    this.#gamma = checkNumber('MultiStepLR', 'gamma', options.gamma ?? 0.1, 0);
    this.start();
  }

  protected rate(base: number, t: number): number {
    return base * this.#gamma ** this.#milestones.filter((m) => m <= t).length;
  }
}

/** Multiplies the rate by gamma at every step. */
export class ExponentialLR extends Schedule {
  readonly #gamma: number;

  constructor(optimizer: Scheduled, gamma: number) {
    super(optimizer);
    this.#gamma = checkNumber('ExponentialLR', 'gamma', gamma, 0);
    this.start();
  }

  protected rate(base: number, t: number): number {
    return base * this.#gamma ** t;
  }
}

/**
 * Lowers the rate from the base rate to `min` along half a cosine of `period` steps, and raises it again afterwards.
 */
export class CosineAnnealingLR extends Schedule {
  readonly #period: number;
  readonly #min: number;

  constructor(optimizer: Scheduled, period: number, options: { readonly min?: number } = {}) {
    super(optimizer);
    checkOptionNames('CosineAnnealingLR', options, { min: true });
    this.#period = checkInteger('CosineAnnealingLR', 'period', period, 1);
    this.#min = checkNumber('CosineAnnealingLR', 'min', options.min ?? 0, 0);
    this.start();
  }

  protected rate(base: number, t: number): number {
    return this.#min + ((base - this.#min) * (1 + Math.cos((Math.PI * t) / this.#period))) / 2;
  }
}

/** Raises the rate linearly from `from`·base (a third by default) to the base rate over `steps` steps. */
export class LinearWarmup extends Schedule {
  readonly #steps: number;
  readonly #from: number;

  constructor(optimizer: Scheduled, steps: number, options: { readonly from?: number } = {}) {
    super(optimizer);
    checkOptionNames('LinearWarmup', options, { from: true });
    this.#steps = checkInteger('LinearWarmup', 'steps', steps, 1);
    this.#from = checkNumber('LinearWarmup', 'from', options.from ?? 1 / 3, 0, 1);
    this.start();
  }

  protected rate(base: number, t: number): number {
    return base * (this.#from + (1 - this.#from) * Math.min(1, t / this.#steps));
  }
}

export type RateFactor = (t: number) => number;

/** Sets the rate to base·factor(t); one function for all groups or one per group. */
export class LambdaLR extends Schedule {
  readonly #factors: RateFactor | readonly RateFactor[];

  constructor(optimizer: Scheduled, factors: RateFactor | readonly RateFactor[]) {
    super(optimizer);
    if (typeof factors !== 'function' && factors.length !== optimizer.groups.length) {
      throw new ValueError(
        expected(
          'LambdaLR',
          `${optimizer.groups.length} functions (one per group)`,
          'factors',
          factors.length,
        ),
      );
    }
    this.#factors = factors;
    this.start();
  }

  protected rate(base: number, t: number, i: number): number {
    return base * (typeof this.#factors === 'function' ? this.#factors : this.#factors[i])(t);
  }
}
