/** Configurations of all kinds of runs, from one file. */
import { loadConfig, renderConfig, type SkeinConfig } from './config/index.js';
import {
  isTemporalConfig,
  loadTemporalConfig,
  renderTemporalConfig,
  type TemporalRunConfig,
} from './temporal/run-config.js';

/** A resolved configuration of any kind of run. */
export type RunConfig = SkeinConfig | TemporalRunConfig;

/** Whether a configuration is of a stream of events. */
export function isEventConfig(config: RunConfig): config is TemporalRunConfig {
  return 'modelFile' in config;
}

/** Reads a configuration file; its sections tell which kind of run it is. */
export function loadRunConfig(
  path: string,
  overrides: readonly string[] = [],
): { readonly config: RunConfig; readonly warnings: readonly string[] } {
  return isTemporalConfig(path) ? loadTemporalConfig(path, overrides) : loadConfig(path, overrides);
}

/** The configuration as text, every default filled in. */
export function renderRunConfig(config: RunConfig): string {
  return isEventConfig(config) ? renderTemporalConfig(config) : renderConfig(config);
}
