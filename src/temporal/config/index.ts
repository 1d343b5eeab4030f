/** Model files of TGL and StarryGL. */
export { type ConfigProblem, type ParsedTemporalConfig, parseTemporalConfig } from './parse.js';
export type { GnnSection, MemorySection, SamplingSection, TemporalConfig, TrainSection } from './types.js';
