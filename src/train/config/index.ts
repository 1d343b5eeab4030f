/** Configuration: schema, defaults, overrides, checks. */

export type { ConfigFile } from './config-file.js';
export { type LoadedConfig, loadConfig, resolveConfig } from './load.js';
export type {
  EncoderConfig,
  EvaluationConfig,
  ModelConfig,
  OptimizerConfig,
  SkeinConfig,
  StorageConfig,
  TrainingConfig,
} from './types.js';
