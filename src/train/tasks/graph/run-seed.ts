/** The seed of a run over a graph, which it keeps for good. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, type SkeinConfig } from '../../config/index.js';
import { checkRunConfig } from '../../run/index.js';

/** The configuration with the seed of the run in its directory: a file that names none would draw another. */
export function withSeedOf(directory: string | null, config: SkeinConfig): SkeinConfig {
  const file = directory === null ? null : join(directory, 'full_config.yaml');
  if (file === null || !existsSync(file)) return config;
  checkRunConfig(file);
  const { random_seed } = loadConfig(file).config.model;
  return { ...config, model: { ...config.model, random_seed } };
}
