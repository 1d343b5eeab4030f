/** Loads and renders configurations of all kinds of runs. */

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

/** Returns whether a configuration is for a stream of events. */
export function isEventConfig(config: RunConfig): config is TemporalRunConfig {
  return 'modelFile' in config;
}

/** Loads the configuration of a file, given as its path or already read. Its sections determine the kind of run. */
export function loadRunConfig(
  path: string | ConfigFile,
  overrides: readonly string[] = [],
): { readonly config: RunConfig; readonly warnings: readonly string[] } {
  const file = typeof path === 'string' ? readConfigFile(path) : path;
  return isTemporalConfig(file) ? loadTemporalConfig(file, overrides) : loadConfig(file, overrides);
}

/** Renders the configuration as YAML, with every default filled in. */
export function renderRunConfig(config: RunConfig): string {
  return isEventConfig(config) ? renderTemporalConfig(config) : renderConfig(config);
}
