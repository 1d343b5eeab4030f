/** The data that a `GraphStorage` is made of. */
import type { Residency, RowReader, TrainedRows } from '../../../../storage/index.js';
import type { SplitName } from '../../../task.js';
import type { TextRows } from '../model/text-bags.js';
import type { EdgeSplit } from './edge-splits.js';

/** Resident partitions in each state of an epoch, and what is trained then: buckets a·p + b of edges, or nodes by global id. */
export interface EpochPlan {
  /** Partitions of the plan; where all rows are in memory, they only order edges. */
  readonly partitions: number;
  readonly states: readonly Int32Array[];
  readonly buckets?: readonly Int32Array[];
  readonly nodes?: readonly Int32Array[];
}

export interface GraphStorageParts {
  readonly numNodes: number;
  /** 0 without relations. */
  readonly numRelations: number;
  readonly edges: Readonly<Partial<Record<SplitName, EdgeSplit>>>;
  /** Trained rows of all nodes. */
  readonly embeddings?: TrainedRows | null;
  /** Fixed rows of all nodes. */
  readonly features?: RowReader<Float32Array> | null;
  /** Words of all nodes, in memory. */
  readonly text?: TextRows | null;
  /** Resident nodes; default: those of the embeddings, or all. */
  readonly residency?: Residency;
  readonly labels?: Int32Array | null;
  /** The type of each node; null or absent: there is one. */
  readonly nodeTypes?: Uint8Array | null;
  readonly nodes?: Readonly<Partial<Record<SplitName, Int32Array>>>;
  /** The states of an epoch; needed when not all rows fit. */
  readonly plan?: (epoch: number) => EpochPlan;
  /** Identifies the states: a position within an epoch is valid under the same key only. */
  readonly planKey?: string;
  /** Rows that other workers read here until the run ends. */
  readonly shared?: readonly SharedRows[];
}

/** Rows that a worker stores for all workers. */
export interface SharedRows {
  /** Ends reads by other workers. */
  close(): void;
}
