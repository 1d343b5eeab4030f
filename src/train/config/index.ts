/** Configuration: schema, defaults, overrides, checks. */
export { type LoadedConfig, loadConfig, resolveConfig } from './load.js';
export type * from './types.js';
