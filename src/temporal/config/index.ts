/** Model files of TGL and StarryGL. */
export type { ConfigProblem } from '../../util/schema/problem.js';
export type { GnnSection, MemorySection, SamplingSection, TemporalConfig, TrainSection } from './keys.js';
export { type ParsedTemporalConfig, parseTemporalConfig } from './parse.js';
