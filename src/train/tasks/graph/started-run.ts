/** What a run over a graph keeps for good: its seed, and what was decided when it started. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, type SkeinConfig } from '../../config/index.js';
import { checkRunConfig } from '../../run/run-directory.js';

/** The configuration that the run in a directory was started with; null when there is none. */
export function configOfRun(directory: string | null): SkeinConfig | null {
  const file = directory === null ? null : join(directory, 'full_config.yaml');
  if (file === null || !existsSync(file)) return null;
  checkRunConfig(file);
  return loadConfig(file).config;
}

/** The configuration with the seed of the run in its directory: a file that names none would draw another. */
export function withSeedOf(directory: string | null, config: SkeinConfig): SkeinConfig {
  const started = configOfRun(directory);
  if (started === null) return config;
  return { ...config, model: { ...config.model, random_seed: started.model.random_seed } };
}
