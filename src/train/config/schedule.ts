/** Learning-rate schedules, as factors of the configured rates, and the number of epochs. */
import type { PlateauSchedule } from '../fit.js';
import type { LearningRateScheduleConfig, SkeinConfig } from './types.js';

/** Returns the number of epochs, as far as it is determined before training. */
export function plannedEpochs({ training }: Pick<SkeinConfig, 'training'>): number {
  return Math.min(training.num_epochs, training.time_limit_epochs ?? Number.POSITIVE_INFINITY);
}

/**
 * Returns the factor at `epoch` (from 0; may be fractional) of `epochs`. After a linear warm-up from 0 the schedule runs
 * over the remaining epochs: LINEAR and COSINE from 1 down to final_factor, STEP gamma^⌊t/step_epochs⌋, EXPONENTIAL gamma^t.
 * PLATEAU follows evaluations: see `PlateauSchedule` of `fit`.
 */
export function learningRateFactor(
  schedule: Omit<LearningRateScheduleConfig, keyof PlateauSchedule>,
  epoch: number,
  epochs: number,
): number {
  const { type, warmup_epochs: warmup, final_factor: last, gamma, step_epochs: step } = schedule;
  if (epoch < warmup) return (epoch + 1) / (warmup + 1);
  const t = epoch - warmup;
  const done = Math.min(1, t / Math.max(1, epochs - warmup));
  switch (type) {
    case 'CONSTANT':
    case 'PLATEAU':
      return 1;
    case 'LINEAR':
      return 1 + (last - 1) * done;
    case 'COSINE':
      return last + ((1 - last) * (1 + Math.cos(Math.PI * done))) / 2;
    case 'STEP':
      return gamma ** Math.floor(t / step);
    case 'EXPONENTIAL':
      return gamma ** t;
  }
}
