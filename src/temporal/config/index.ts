/** Model files of TGL and StarryGL. */
export type { TemporalConfig, TrainSection } from './keys.js';
