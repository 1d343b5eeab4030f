/** Output of a model for a batch. Nothing is written: the runtime commits the memory that it reads here. */
import type { Tensor } from '../../tensor/index.js';

export interface TemporalOutput {
  /** The rows that are scored, one per root [numRoots, d]. */
  readonly embeddings: Tensor;
}

/** Output of a model that may have memory and mail. */
export interface MemoryOutput extends TemporalOutput {
  /** Embeddings for mails with `use_src_emb` and `use_dst_emb`, outside the tape; null if neither is set. */
  readonly mailEmbeddings: Tensor | null;
  /**
   * Memory after the updater [·, D]; null without memory. One row per node that was needed, or per (node, time) with
   * `time_input: query`; `stateOf` finds the row of a root.
   */
  readonly updated: Tensor | null;
  /** Time of every row of `updated`. */
  readonly updatedTime: Float64Array;
  /** Returns the updated memory of roots, outside the tape [n, D], for a commit. Throws without memory. */
  stateOf(roots: Int32Array): Tensor;
  /** Returns the times of these rows. */
  timeOf(roots: Int32Array): Float64Array;
}
