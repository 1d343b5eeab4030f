/**
 * The resolved sections of a temporal run beside TGL's: what training reads, every default filled in. Written out, not
 * derived from the schema, so that the package's types need no other package's; the schema is checked against them.
 */
import type { DistributedConfig, LogLevel } from '../config/index.js';

export interface TemporalColumns {
  readonly src: string;
  readonly dst: string;
  readonly time: string;
  readonly label: string;
  readonly type: string;
  /** These alone are features; null: all others. */
  readonly features: readonly string[] | null;
}

export interface TemporalDatasetSection {
  readonly name: string;
  readonly path: string;
  readonly format: 'auto' | 'jodie' | 'tgn' | 'tgl' | 'snap' | 'csv';
  readonly columns: TemporalColumns;
  readonly header: 'auto' | 'true' | 'false';
  readonly node_types: readonly string[] | null;
  readonly directed: boolean;
  readonly sort: boolean;
  readonly types_as_features: boolean;
  readonly random_node_features: number;
  readonly train_share: number;
  readonly validation_share: number;
  readonly new_node_share: number;
}

export interface TemporalTrainingSection {
  readonly random_seed: number;
  readonly negatives: number;
  readonly tie_groups: boolean;
  readonly patience: number;
  readonly max_grad_norm: number;
  readonly resume_training: boolean;
  readonly checkpoint: {
    readonly interval_batches: number;
    readonly minutes: number;
    readonly save_best: boolean;
  };
  readonly logs_per_epoch: number;
}

export interface TemporalEvaluationSection {
  readonly negatives: 'random' | 'historical' | 'inductive' | 'all';
  readonly amount: number;
  readonly batch_size: number;
  readonly epochs_per_eval: number;
}

export interface TemporalLabelsSection {
  readonly epochs: number;
  readonly batch_size: number;
  readonly lr: number;
  readonly dim_hidden: number;
  readonly dropout: number;
  readonly patience: number;
}

export interface TemporalRunSections {
  readonly dataset: TemporalDatasetSection;
  readonly training: TemporalTrainingSection;
  readonly evaluation: TemporalEvaluationSection;
  readonly labels: TemporalLabelsSection;
  readonly storage: { readonly model_dir: string | null; readonly log_level: LogLevel };
  /** Null: the file has no such section, and there is one worker unless a launcher says otherwise. */
  readonly distributed: DistributedConfig | null;
}
