/**
 * Types of the resolved configuration, which training reads: Marius's snake_case keys with every default filled in,
 * enumerations in upper case, element types by their long names, sizes in bytes. `resolveConfig` creates and checks it; it
 * never changes afterwards. The types follow from the schemas and from the registries of layers, decoders, losses and
 * optimisers, which also hold the default and the meaning of every key, and from which docs/configuration.md is generated.
 */
import type { ReadonlyOutput } from '../../util/schema/fields.js';
import type { PluginRecord } from './plugin-record.js';
import type { configSchema } from './schema.js';

/** A parsed configuration, before derive.ts fills in keys that depend on other keys. */
type Parsed = ReadonlyOutput<ReturnType<typeof configSchema>>;

export type ModelConfig = Parsed['model'];
export type LearningTask = ModelConfig['learning_task'];
export type EncoderConfig = ModelConfig['encoder'];
/** A layer of a stage. input_dim is -1 for EMBEDDING and FEATURE layers and resolved for all others. */
export type LayerConfig = EncoderConfig['layers'][number][number];
export type NeighborSamplingConfig = EncoderConfig['train_neighbor_sampling'][number];

export type OptimizerConfig = ModelConfig['dense_optimizer'];
/** The optimiser of one layer or of the decoder; DEFAULT means `model.dense_optimizer`. */
export type OwnOptimizerConfig = LayerConfig['optimizer'];

export type DecoderConfig = ModelConfig['decoder'];
export type NodeDecoderConfig = Extract<DecoderConfig, { readonly type: 'NODE' }>;
export type EdgeDecoderConfig = Exclude<DecoderConfig, NodeDecoderConfig>;
/** An extension of Marius. */
export type RegularizerConfig = ModelConfig['regularizer'];

/** Element types of a table. A file may request float64 and gets float32. */
export type TableType = Exclude<Parsed['storage']['features']['options']['dtype'], 'float64'>;

/** The configuration of a table with its resolved element type. */
type Resolved<T> = T extends { readonly type: infer W; readonly options: infer O }
  ? {
      readonly type: W;
      readonly options: { readonly [K in keyof O]: K extends 'dtype' ? TableType : O[K] };
    }
  : never;

export type StorageConfig = Omit<Parsed['storage'], 'embeddings' | 'features'> & {
  readonly embeddings: Resolved<Parsed['storage']['embeddings']>;
  readonly features: Resolved<Parsed['storage']['features']>;
};
export type DatasetConfig = StorageConfig['dataset'];
export type LogLevel = StorageConfig['log_level'];
/** Rows that are read from their file on demand; features only. An extension of Marius. */
export type FileTableConfig = Extract<StorageConfig['features'], { readonly type: 'FLAT_FILE' }>;
export type PartitionBufferConfig = Extract<StorageConfig['features'], { readonly type: 'PARTITION_BUFFER' }>;

export type TrainingConfig = Parsed['training'];
/** Negatives of training or evaluation; `known_filter` and `candidates` are keys of training only. */
export type NegativeSamplingConfig = Parsed['evaluation']['negative_sampling'] &
  Partial<Pick<TrainingConfig['negative_sampling'], 'known_filter' | 'candidates'>>;
/** Factors of the configured learning rates by epoch; see `learningRateFactor`. An extension of Marius. */
export type LearningRateScheduleConfig = TrainingConfig['learning_rate_schedule'];

export type EvaluationConfig = Parsed['evaluation'];
export type TieRule = EvaluationConfig['ties'];
/** The nodes that an end of an edge is ranked among. An extension of Marius. */
export type CandidateRule = EvaluationConfig['candidates'];

/** Settings of runs with several workers. An extension of Marius. */
export type DistributedConfig = NonNullable<Parsed['distributed']>;

export interface SkeinConfig {
  readonly model: ModelConfig;
  readonly storage: StorageConfig;
  readonly training: TrainingConfig;
  readonly evaluation: EvaluationConfig;
  /** Null if the file has no such section: there is one worker, unless a launcher starts more. */
  readonly distributed: DistributedConfig | null;
  /** The modules that registered types of the configuration. Training writes them; they are never imported. */
  readonly plugins?: readonly PluginRecord[];
}

/** Marius's name of the configuration. */
export type MariusOptions = SkeinConfig;
