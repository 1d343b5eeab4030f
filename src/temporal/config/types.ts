/**
 * The model files of TGL and StarryGL as types: four sections with the keys as they stand in the file, all defaults
 * filled in. Keys that only we have: memory.time_input, memory.empty_mail, gnn.variant and
 * gnn.pair_depth.
 */

export interface SamplingSection {
  /** Hops; 0 when nothing is sampled. */
  readonly layer: number;
  /** Fan-out of each hop, the one next to the roots first. */
  readonly neighbor: readonly number[];
  readonly strategy: 'recent' | 'uniform' | 'weighted' | 'identity';
  /** Deeper hops ask at the root's time instead of the edge's. */
  readonly prop_time: boolean;
  /** Windows that a root's past is cut into. */
  readonly history: number;
  /** Length of a window; 0 means all of the past (with one window only). */
  readonly duration: number;
}

export interface MemorySection {
  readonly type: 'node' | 'none';
  /** Width of a node's memory; 0 without memory. */
  readonly dim_out: number;
  /** Width of the encoding of time in the updater. */
  readonly dim_time: number;
  /** Who gets the mail of an event: both ends, or their sampled neighbours as well. */
  readonly deliver_to: 'self' | 'neighbors';
  readonly mail_combine: 'last' | 'mean';
  readonly memory_update: 'gru' | 'rnn' | 'transformer' | 'identity';
  /** Mails that a node keeps. */
  readonly mailbox_size: number;
  /** Heads of the transformer updater. */
  readonly attention_head: number;
  /** Add the node's features to its memory. */
  readonly combine_node_feature: boolean;
  /** The time that the updater sees next to the memory's: of the mail (TGN, DistTGL) or of the question (TGL). */
  readonly time_input: 'mail' | 'query';
  /** What becomes of a memory without mail: kept (TGN) or updated from zeros (TGL). */
  readonly empty_mail: 'keep' | 'update';
}

export interface GnnSection {
  readonly arch: 'transformer_attention' | 'identity';
  readonly layer: number;
  readonly att_head: number;
  readonly dim_time: number;
  /** Width of embeddings. */
  readonly dim_out: number;
  /** The own half of a mail is the source's embedding instead of its memory. */
  readonly use_src_emb: boolean;
  readonly use_dst_emb: boolean;
  readonly time_transform: 'JODIE' | 'none';
  /** How embeddings of several windows become one. */
  readonly combine: 'rnn' | 'none';
  /** Score the updated memory; embeddings go into mails only. */
  readonly dyrep: boolean;
  /** Attention as in TGL (LeakyReLU of unscaled scores) or as in TGN (scaled dot product). */
  readonly variant: 'tgl' | 'tgn';
  /** Past events of either node in which the predictor looks for the other; 0: it sees the two embeddings alone. */
  readonly pair_depth: number;
}

export interface TrainSection {
  readonly epoch: number;
  readonly batch_size: number;
  readonly lr: number;
  readonly dropout: number;
  readonly att_dropout: number;
  /** Chunks of a batch by which its boundaries move from epoch to epoch; 1 keeps them. */
  readonly reorder: number;
}

export interface TemporalConfig {
  readonly sampling: SamplingSection;
  readonly memory: MemorySection;
  readonly gnn: GnnSection;
  readonly train: TrainSection;
}
