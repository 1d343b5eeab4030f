/**
 * The resolved configuration: what training reads. Marius's snake_case keys with every default filled in, enumerations in
 * upper case, element types by their long name, sizes in bytes. Written by `resolveConfig`, checked there, never changed
 * afterwards. The types follow from the schemas and from the records of layers, decoders, losses and optimisers; the
 * defaults and the meaning of every key stand there too, and give docs/configuration.md.
 */
import type { ReadonlyOutput } from '../../util/schema/fields.js';
import type { PluginRecord } from './plugin-record.js';
import type { configSchema } from './schema.js';

/** What passed the schema, before derive.ts fills in what depends on other keys. */
type Parsed = ReadonlyOutput<ReturnType<typeof configSchema>>;

export type ModelConfig = Parsed['model'];
export type LearningTask = ModelConfig['learning_task'];
export type EncoderConfig = ModelConfig['encoder'];
/** A layer of a stage; the input_dim of EMBEDDING and FEATURE layers is -1, that of others is resolved. */
export type LayerConfig = EncoderConfig['layers'][number][number];
export type NeighborSamplingConfig = EncoderConfig['train_neighbor_sampling'][number];

export type OptimizerConfig = ModelConfig['dense_optimizer'];
/** The optimiser of one layer or of the decoder; DEFAULT means `model.dense_optimizer`. */
export type OwnOptimizerConfig = LayerConfig['optimizer'];

export type DecoderConfig = ModelConfig['decoder'];
export type NodeDecoderConfig = Extract<DecoderConfig, { readonly type: 'NODE' }>;
export type EdgeDecoderConfig = Exclude<DecoderConfig, NodeDecoderConfig>;
/** Ours. */
export type RegularizerConfig = ModelConfig['regularizer'];

/** Element types that a table can have; a file may ask for float64, and gets float32. */
export type TableType = Exclude<Parsed['storage']['features']['options']['dtype'], 'float64'>;

/** A table of a file with the element type that it gets. */
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
/** Rows read from the file when they are needed; features only. Ours. */
export type FileTableConfig = Extract<StorageConfig['features'], { readonly type: 'FLAT_FILE' }>;
export type PartitionBufferConfig = Extract<StorageConfig['features'], { readonly type: 'PARTITION_BUFFER' }>;

export type TrainingConfig = Parsed['training'];
export type NegativeSamplingConfig = TrainingConfig['negative_sampling'];
/** Ours. Factors of the configured learning rates by epoch; see `learningRateFactor`. */
export type LearningRateScheduleConfig = TrainingConfig['learning_rate_schedule'];

export type EvaluationConfig = Parsed['evaluation'];
export type TieRule = EvaluationConfig['ties'];

/** Ours: how a run uses several workers. */
export type DistributedConfig = NonNullable<Parsed['distributed']>;

export interface SkeinConfig {
  readonly model: ModelConfig;
  readonly storage: StorageConfig;
  readonly training: TrainingConfig;
  readonly evaluation: EvaluationConfig;
  /** Ours. Null: the file has no such section, and there is one worker unless a launcher says otherwise. */
  readonly distributed: DistributedConfig | null;
  /** Ours. The modules that registered types of the configuration; written by training, and never imported. */
  readonly plugins?: readonly PluginRecord[];
}

/** The name that the source uses. */
export type MariusOptions = SkeinConfig;
