/** Configuration: schema, defaults, overrides, checks. */
export { type LoadedConfig, loadConfig, resolveConfig } from './load.js';
export type { ConfigFile } from './read-yaml.js';
export type {
  EncoderConfig,
  EvaluationConfig,
  ModelConfig,
  OptimizerConfig,
  SkeinConfig,
  StorageConfig,
  TrainingConfig,
} from './types.js';
