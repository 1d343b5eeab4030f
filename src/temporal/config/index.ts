/** Model files of TGL and StarryGL. */
export { type ConfigProblem, type ParsedTemporalConfig, parseTemporalConfig } from './parse.js';
export type { GnnParam, MemoryParam, SamplingParam, TemporalConfig, TrainParam } from './types.js';
