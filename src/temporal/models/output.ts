/** What a model makes of a batch. Nothing is written: the runtime commits what it asks for here. */
import type { Tensor } from '../../tensor/index.js';

export interface TemporalOutput {
  /** What is scored, one row per root [numRoots, d]. */
  readonly embeddings: Tensor;
}

/** That of a model with memory and mail, or of one that could have them. */
export interface MemoryOutput extends TemporalOutput {
  /** What goes into mails with `use_src_emb` and `use_dst_emb`, outside the tape; null when neither is asked for. */
  readonly mailEmbeddings: Tensor | null;
  /**
   * Memory after the updater [·, D]; null without memory. One row per node that was needed, or per (node, time) with
   * `time_input: query`; `stateOf` knows which is whose.
   */
  readonly updated: Tensor | null;
  /** Time of every row of `updated`. */
  readonly updatedTime: Float64Array;
  /** Updated memory of roots, outside the tape [n, D]: what a commit stores. Refused without memory. */
  stateOf(roots: Int32Array): Tensor;
  /** Times of the same rows. */
  timeOf(roots: Int32Array): Float64Array;
}
