/** Optimisers, learning-rate schedules and gradient clipping. */
export { Adagrad, type AdagradOptions } from './adagrad.js';
export { Adam, type AdamOptions, AdamW } from './adam.js';
export { type ClipOptions, clipGradNorm, clipGradNormTensor, clipGradValue } from './clip.js';
export { type BaseOptions, Optimizer, type OptimizerInput } from './optimizer.js';
export { type PlateauOptions, type PlateauState, ReduceLROnPlateau } from './plateau.js';
export {
  CosineAnnealingLR,
  ExponentialLR,
  type GammaOptions,
  LambdaLR,
  LinearWarmup,
  MultiStepLR,
  type RateFactor,
  type Scheduled,
  type ScheduleState,
  StepLR,
} from './schedule.js';
export { SGD, type SGDOptions } from './sgd.js';
export type { OptimizerState } from './state.js';
