/** Configuration: schema, defaults, overrides, checks. */
export { type LoadedConfig, loadConfig, resolveConfig } from './load.js';
export type { ConfigFile } from './read-yaml.js';
export type {
  DistributedConfig,
  EdgeBucketOrdering,
  EncoderConfig,
  EvaluationConfig,
  MariusOptions,
  ModelConfig,
  OptimizerConfig,
  SkeinConfig,
  StorageConfig,
  TieRule,
  TrainingConfig,
} from './types.js';
