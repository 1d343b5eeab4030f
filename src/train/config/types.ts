/**
 * The resolved configuration: what training reads. Marius's snake_case keys with every default filled in, enumerations in
 * upper case, element types by their long name, sizes in bytes. Written by `resolveConfig`, checked there, never changed
 * afterwards. Keys that Marius does not have are marked "ours". The defaults and the meaning of every key stand in
 * the schema-*.ts files, which also give docs/configuration.md.
 */
import type { GraphCutter } from '../../dist/index.js';
import type { convWords, DecoderMethod, decoderWords, lossWords } from '../../gnn/index.js';
import type { ActivationWord, StartValues } from '../../nn/index.js';
import type { OptimizerChoice } from '../../storage/index.js';
import type { Chosen, Flat } from '../../util/settings.js';

export type LearningTask = 'LINK_PREDICTION' | 'NODE_CLASSIFICATION';
export type Activation = ActivationWord;
export type IdType = 'int32' | 'int64';
export type TableType = 'float32' | 'float16' | 'bfloat16';
export type EdgeBucketOrdering =
  | 'COMET'
  | 'OLD_BETA'
  | 'NEW_BETA'
  | 'ALL_BETA'
  | 'SEQUENTIAL'
  | 'HILBERT'
  | 'CUSTOM';
export type NodePartitionOrdering = 'DISPERSED' | 'SEQUENTIAL' | 'CUSTOM';
export type EdgeDecoderMethod = DecoderMethod;
export type TieRule = 'OPTIMISTIC' | 'REALISTIC' | 'PESSIMISTIC';
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

export type InitConfig = StartValues;

export type OptimizerConfig = OptimizerChoice;
export type SgdConfig = Extract<OptimizerConfig, { readonly type: 'SGD' }>;
export type AdagradConfig = Extract<OptimizerConfig, { readonly type: 'ADAGRAD' }>;
export type AdamConfig = Extract<OptimizerConfig, { readonly type: 'ADAM' }>;
/** The optimiser of one layer or of the decoder; DEFAULT means `model.dense_optimizer`. */
export type OwnOptimizerConfig = OptimizerConfig | { readonly type: 'DEFAULT'; readonly options: object };

/** The kind of a GNN layer and its options. */
export type GnnOptions = Flat<(typeof convWords)[number]>;

interface LayerBase {
  /** Of EMBEDDING and FEATURE layers -1; of the others resolved, also when the file leaves it out. */
  readonly input_dim: number;
  readonly output_dim: number;
  readonly bias: boolean;
  readonly activation: Activation;
  readonly init: InitConfig;
  readonly bias_init: InitConfig;
  readonly optimizer: OwnOptimizerConfig;
  /** Ours. */
  readonly norm: 'NONE' | 'BATCH' | 'LAYER';
  /** Ours. */
  readonly dropout: number;
}

export type LayerConfig =
  | (LayerBase & { readonly type: 'EMBEDDING' | 'FEATURE'; readonly options: object })
  | (LayerBase & { readonly type: 'GNN'; readonly options: GnnOptions })
  | (LayerBase & { readonly type: 'REDUCTION'; readonly options: { readonly type: 'CONCAT' | 'LINEAR' } })
  | (LayerBase & { readonly type: 'DENSE'; readonly options: { readonly type: 'LINEAR' } });

export type NeighborSamplingConfig =
  | { readonly type: 'ALL'; readonly options: object }
  | { readonly type: 'UNIFORM'; readonly options: { readonly max_neighbors: number } }
  | { readonly type: 'DROPOUT'; readonly options: { readonly rate: number } };

export interface EncoderConfig {
  readonly use_incoming_nbrs: boolean;
  readonly use_outgoing_nbrs: boolean;
  /** Width of the node table: the sum over EMBEDDING layers; 0 without one. Derived. */
  readonly embedding_dim: number;
  /** Stages of parallel layers. */
  readonly layers: readonly (readonly LayerConfig[])[];
  /** One per GNN stage. */
  readonly train_neighbor_sampling: readonly NeighborSamplingConfig[];
  readonly eval_neighbor_sampling: readonly NeighborSamplingConfig[];
}

export type EdgeDecoderConfig = Chosen<(typeof decoderWords)[number]> & {
  readonly optimizer: OwnOptimizerConfig;
};

export interface NodeDecoderConfig {
  readonly type: 'NODE';
  readonly options: object;
  readonly optimizer: OwnOptimizerConfig;
}

export type DecoderConfig = EdgeDecoderConfig | NodeDecoderConfig;

export type LossConfig = Chosen<(typeof lossWords)[number]>;

/** Ours. */
export interface RegularizerConfig {
  readonly type: 'NONE' | 'NORM' | 'N3';
  /** The p of the norm, for NORM. */
  readonly norm: number;
  readonly coef: number;
}

export interface ModelConfig {
  readonly random_seed: number;
  readonly learning_task: LearningTask;
  readonly encoder: EncoderConfig;
  readonly decoder: DecoderConfig;
  readonly loss: LossConfig;
  readonly regularizer: RegularizerConfig;
  readonly dense_optimizer: OptimizerConfig;
  readonly sparse_optimizer: OptimizerConfig;
}

export interface DatasetConfig {
  /** A prepared directory, or the name of a catalogue dataset. */
  readonly dataset_dir: string;
  /** Ours: prepare this catalogue dataset into dataset_dir on first use; null: dataset_dir says it all. */
  readonly name: string | null;
  /** Counts that the file states; -1 where it does not. Checked against the dataset, which decides. */
  readonly num_edges: number;
  readonly num_nodes: number;
  readonly num_relations: number;
  readonly num_train: number;
  readonly num_valid: number;
  readonly num_test: number;
  readonly node_feature_dim: number;
  readonly rel_feature_dim: number;
  readonly num_classes: number;
}

export interface EdgeStorageConfig {
  readonly type: 'HOST_MEMORY' | 'FLAT_FILE';
  readonly options: { readonly dtype: IdType };
}

export interface NodeStorageConfig {
  readonly type: 'HOST_MEMORY';
  readonly options: { readonly dtype: IdType };
}

export interface MemoryTableConfig {
  readonly type: 'HOST_MEMORY';
  readonly options: { readonly dtype: TableType };
}

/** Rows and their optimiser's state on the device that computes; embeddings only. In memory where there is none. */
export interface DeviceTableConfig {
  readonly type: 'DEVICE_MEMORY';
  readonly options: { readonly dtype: TableType };
}

/** Rows read from the file when asked for; features only. Ours. */
export interface FileTableConfig {
  readonly type: 'FLAT_FILE';
  readonly options: {
    readonly dtype: TableType;
    /** Bytes. */
    readonly hot_cache_size: number;
    readonly hot_policy: 'PUSH' | 'DEGREE' | 'PRESAMPLE' | 'SIEVE';
  };
}

export interface PartitionBufferConfig {
  readonly type: 'PARTITION_BUFFER';
  readonly options: {
    readonly dtype: TableType;
    readonly num_partitions: number;
    readonly buffer_capacity: number;
    readonly prefetching: boolean;
    readonly fine_to_coarse_ratio: number;
    readonly num_cache_partitions: number;
    readonly edge_bucket_ordering: EdgeBucketOrdering;
    readonly node_partition_ordering: NodePartitionOrdering;
    readonly randomly_assign_edge_buckets: boolean;
  };
}

export interface StorageConfig {
  /** cuda: webgpu where a graphics processor is found when the run starts, else cpu. */
  readonly device_type: 'cpu' | 'cuda' | 'webgpu';
  readonly device_ids: readonly number[];
  readonly dataset: DatasetConfig;
  readonly edges: EdgeStorageConfig;
  readonly nodes: NodeStorageConfig;
  readonly embeddings: MemoryTableConfig | DeviceTableConfig | PartitionBufferConfig;
  readonly features: MemoryTableConfig | FileTableConfig | PartitionBufferConfig;
  /** Ours: bytes of device memory for node features; null: they are copied with every batch. */
  readonly device_cache_size: number | null;
  /** Ours: bytes that training may use; partitions and buffer are then chosen from it. null: not limited. */
  readonly memory_budget: number | null;
  readonly prefetch: boolean;
  readonly shuffle_input: boolean;
  readonly full_graph_evaluation: boolean;
  readonly export_encoded_nodes: boolean;
  /** null: the first free <dataset_dir>/model_<i>. */
  readonly model_dir: string | null;
  readonly log_level: LogLevel;
  readonly train_edges_pre_sorted: boolean;
}

export interface NegativeSamplingConfig {
  readonly num_chunks: number;
  /** -1: all nodes. */
  readonly negatives_per_positive: number;
  readonly degree_fraction: number;
  readonly filtered: boolean;
  readonly local_filter_mode: 'DEG' | 'ALL';
}

export interface PipelineConfig {
  readonly sync: boolean;
  readonly staleness_bound: number;
}

export interface CheckpointConfig {
  /** Epochs between checkpoints; -1: none. */
  readonly interval: number;
  /** Ours; -1: none. */
  readonly minutes: number;
  /** Ours; -1: none. */
  readonly interval_batches: number;
  readonly save_best: boolean;
}

/** Ours. */
export interface EarlyStoppingConfig {
  /** A metric of the validation set, for example `mrr`, or `loss`. */
  readonly metric: string;
  /** Evaluations without improvement before training ends. */
  readonly patience: number;
  readonly min_delta: number;
}

/** Ours. Factors of the configured learning rates by epoch; see `learningRateFactor`. */
export interface LearningRateScheduleConfig {
  readonly type: 'CONSTANT' | 'LINEAR' | 'COSINE' | 'STEP' | 'EXPONENTIAL';
  readonly warmup_epochs: number;
  /** Where LINEAR and COSINE end. */
  readonly final_factor: number;
  /** What STEP (every step_epochs) and EXPONENTIAL (every epoch) multiply by. */
  readonly gamma: number;
  readonly step_epochs: number;
}

export interface TrainingConfig {
  readonly batch_size: number;
  readonly negative_sampling: NegativeSamplingConfig;
  readonly num_epochs: number;
  readonly pipeline: PipelineConfig;
  readonly logs_per_epoch: number;
  readonly save_model: boolean;
  readonly checkpoint: CheckpointConfig;
  readonly resume_training: boolean;
  readonly resume_from_checkpoint: string;
  readonly early_stopping: EarlyStoppingConfig | null;
  readonly learning_rate_schedule: LearningRateScheduleConfig;
  /** Ours: node classification on the whole graph, one step an epoch. */
  readonly full_batch: boolean;
}

export interface EvaluationConfig {
  readonly batch_size: number;
  readonly negative_sampling: NegativeSamplingConfig;
  readonly pipeline: PipelineConfig;
  readonly epochs_per_eval: number;
  readonly checkpoint_dir: string;
  /** Ours. */
  readonly ties: TieRule;
  /** Ours. Lower case: mrr, mr, hits@k, auc; accuracy, f1_macro, f1_micro. */
  readonly metrics: readonly string[];
}

/** Ours: how a run uses several workers. */
export interface DistributedConfig {
  readonly mode: 'sar' | 'sa' | 'one_shot';
  readonly pipeline_depth: number;
  /** Bytes; 0: no limit. */
  readonly max_collective_size: number;
  readonly compression: 'none' | 'f16' | 'bf16' | 'int8';
  readonly partitions: number;
  readonly partition_algorithm: GraphCutter;
  /** Null: the graph is cut at the start. */
  readonly partition_dir: string | null;
  readonly cache_inputs: boolean;
  readonly use_mfgs: boolean;
  /** Seconds. */
  readonly timeout: number;
  readonly peer_timeout: number;
  readonly temporal: {
    readonly consistency: 'exact' | 'stale_cache' | 'local';
    /** A power of two. */
    readonly chunks: number;
    readonly cosine_threshold: number;
    readonly max_skip: number;
    /** Share of the nodes. */
    readonly shared_nodes: number;
  };
}

export interface SkeinConfig {
  readonly model: ModelConfig;
  readonly storage: StorageConfig;
  readonly training: TrainingConfig;
  readonly evaluation: EvaluationConfig;
  /** Ours. Null: the file has no such section, and there is one worker unless a launcher says otherwise. */
  readonly distributed: DistributedConfig | null;
}

/** The name that the source uses. */
export type MariusOptions = SkeinConfig;
