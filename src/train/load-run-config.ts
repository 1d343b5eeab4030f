/** Configurations of all kinds of runs, from one file. */

import { readConfigFile, renderConfig } from './config/config-file.js';
import { type ConfigFile, loadConfig, type SkeinConfig } from './config/index.js';
import {
  isTemporalConfig,
  loadTemporalConfig,
  renderTemporalConfig,
  type TemporalRunConfig,
} from './tasks/events/run-config.js';

/** A resolved configuration of any kind of run. */
export type RunConfig = SkeinConfig | TemporalRunConfig;

/** Whether a configuration is of a stream of events. */
export function isEventConfig(config: RunConfig): config is TemporalRunConfig {
  return 'modelFile' in config;
}

/** The configuration of a file, given by its path or read already; its sections tell which kind of run it is. */
export function loadRunConfig(
  path: string | ConfigFile,
  overrides: readonly string[] = [],
): { readonly config: RunConfig; readonly warnings: readonly string[] } {
  const file = typeof path === 'string' ? readConfigFile(path) : path;
  return isTemporalConfig(file) ? loadTemporalConfig(file, overrides) : loadConfig(file, overrides);
}

/** The configuration as text, every default filled in. */
export function renderRunConfig(config: RunConfig): string {
  return isEventConfig(config) ? renderTemporalConfig(config) : renderConfig(config);
}
