/** Model files of TGL and StarryGL. */
export type { TemporalConfig } from './keys.js';
