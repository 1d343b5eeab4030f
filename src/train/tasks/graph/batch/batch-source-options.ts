import type { CandidateRule } from '../../../config/types.js';
import type { TrainingNegativeSampler } from '../../links/negative-sampler.js';
import type { QueryBatches } from '../../links/query-batches.js';
import type { SubsamplingWeights } from '../../links/subsampling-weights.js';
import type { ValidationSample } from '../../links/validation-sample.js';
import type { WorkerRank } from './batch-share.js';
import type { TrainingNeighborSampler } from './neighbor-sampler.js';

export interface BatchSourceOptions {
  /** Edges or nodes of a training batch (default 1000). */
  readonly batchSize?: number;
  /** Edges or nodes of an evaluation batch (default: batchSize). */
  readonly evaluationBatchSize?: number;
  /** Negatives for training; null: none. */
  readonly negatives?: TrainingNegativeSampler | null;
  /** Negatives for evaluation; null: every edge is ranked against all nodes. */
  readonly evaluationNegatives?: TrainingNegativeSampler | null;
  /** Weights of training edges in the loss; null: all are 1. */
  readonly edgeWeights?: SubsamplingWeights | null;
  /** Trains queries against all resident nodes, in place of edges against negatives; null: trains edges. */
  readonly queries?: QueryBatches | null;
  /** Neighbours for training; null: none. */
  readonly neighbors?: TrainingNeighborSampler | null;
  /** Neighbours for evaluation (default: those of training). */
  readonly evaluationNeighbors?: TrainingNeighborSampler | null;
  /** Leave true edges out when ranking against all nodes (default true). */
  readonly filtered?: boolean;
  /** Rank among all nodes (default), or among those seen at that end of the relation in training. */
  readonly candidates?: CandidateRule;
  /** Take the edges of a batch out of the sampled neighbourhood (default true). */
  readonly hideTargets?: boolean;
  /** The most validation edges: a fixed sample of them is evaluated. Default: all. */
  readonly validation?: ValidationSample | null;
  /** One of several workers that share every batch; all have the same batches. Default: the only one. */
  readonly worker?: WorkerRank;
}
