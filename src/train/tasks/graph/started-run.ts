/** The configuration that a run over a graph was started with: its seed and derived settings do not change. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, type SkeinConfig } from '../../config/index.js';
import { checkRunConfig } from '../../run/run-directory.js';

/** Reads the configuration that the run in a directory was started with; null without a run. */
export function configOfRun(directory: string | null): SkeinConfig | null {
  const file = directory === null ? null : join(directory, 'full_config.yaml');
  if (file === null || !existsSync(file)) return null;
  checkRunConfig(file);
  return loadConfig(file).config;
}

/** Returns the configuration with the seed of the run in its directory; a file without a seed would draw another. */
export function withSeedOf(directory: string | null, config: SkeinConfig): SkeinConfig {
  const started = configOfRun(directory);
  if (started === null) return config;
  return { ...config, model: { ...config.model, random_seed: started.model.random_seed } };
}

/** Returns the configuration with the number of epochs that the run has determined for the same time limit. */
export function withLimitOf(started: SkeinConfig | null, config: SkeinConfig): SkeinConfig {
  const { time_limit: seconds, time_limit_epochs: given } = config.training;
  if (seconds === null || given !== null || started?.training.time_limit !== seconds) return config;
  const { time_limit_epochs } = started.training;
  return { ...config, training: { ...config.training, time_limit_epochs } };
}
