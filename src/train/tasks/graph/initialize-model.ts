/** Makes the model of a configuration with its optimisers, and the source of its batches. */

import { hopsOfStage } from '../../../gnn/conv/conv-registry.js';
import { comparators } from '../../../gnn/decoders/comparator.js';
import { edgeDecoder } from '../../../gnn/decoders/decoders.js';
import type { EmbeddingPenalty } from '../../../gnn/decoders/embedding-penalty.js';
import {
  type EdgeDecoder,
  lossFunction,
  N3Regularizer,
  NormRegularizer,
  type Regularizer,
} from '../../../gnn/index.js';
import type { LayerSampling } from '../../../sample/layered-neighbor-sampler.js';
import type { Tensor } from '../../../tensor/index.js';
import { Random } from '../../../util/philox.js';
import { subsamples } from '../../config/check.js';
import { checkLoaded } from '../../config/check-loaded.js';
import type { OptimizerConfig, SkeinConfig } from '../../config/index.js';
import type {
  EdgeDecoderConfig,
  NegativeSamplingConfig,
  NeighborSamplingConfig,
  OwnOptimizerConfig,
  RegularizerConfig,
} from '../../config/types.js';
import { LinkPredictionReporter, NodeClassificationReporter } from '../../run/index.js';
import { metricByName, RankingMetric } from '../../run/metric.js';
import { RecommendationMetric } from '../../run/recommendation-metrics.js';
import { LinkPredictionModel } from '../links/link-prediction-model.js';
import { RandomNegativeSampler, type TrainingNegativeSampler } from '../links/negative-sampler.js';
import { QueryBatches } from '../links/query-batches.js';
import { RecommendationEvaluation } from '../links/recommend/recommendation-evaluation.js';
import { SubsamplingWeights } from '../links/subsampling-weights.js';
import { ValidationSample } from '../links/validation-sample.js';
import { NodeClassificationModel } from '../nodes/node-classification-model.js';
import type { WorkerRank } from './batch/batch-share.js';
import { BatchSource } from './batch/batch-source.js';
import { KHopNeighborSampler, type TrainingNeighborSampler } from './batch/neighbor-sampler.js';
import { RandomEdgeSampler, RandomNodeSampler } from './batch/samplers.js';
import { GeneralEncoder } from './model/encoder.js';
import type { Model } from './model/model.js';
import type { TextSizes } from './model/text-bags.js';
import type { GraphStorage } from './storage/graph-storage.js';
import { seedStreams } from './storage/initialize-table.js';

/** Sizes of a dataset that a model depends on. */
export interface ModelSizes {
  readonly numRelations: number;
  readonly numClasses: number;
  /** The text of the nodes, for TEXT layers; default: none. */
  readonly text?: TextSizes | null;
}

export function initializeModel(config: SkeinConfig, sizes: ModelSizes): Model {
  checkLoaded('initializeModel', config);
  const random = new Random(config.model.random_seed, seedStreams.model);
  const { encoder: encoderConfig, decoder: decoderConfig, loss, regularizer } = config.model;
  const encoder = new GeneralEncoder(encoderConfig, {
    random,
    numRelations: sizes.numRelations,
    text: sizes.text ?? null,
  });
  const lossOf = lossFunction(loss.type, loss.options);
  const metrics = config.evaluation.metrics;
  let model: Model;
  let decoder: EdgeDecoder | null = null;
  if (decoderConfig.type === 'NODE') {
    const withLoss = config.training.early_stopping?.metric === 'loss';
    const reporter = new NodeClassificationReporter({
      numClasses: sizes.numClasses,
      metrics,
      loss: withLoss,
    });
    model = new NodeClassificationModel(encoder, lossOf, newRegularizer(regularizer), null, reporter);
  } else {
    decoder = newDecoder(decoderConfig, encoder.outputDim, sizes.numRelations, random);
    const made = metrics.map(metricByName);
    const reporter = new LinkPredictionReporter({
      ties: config.evaluation.ties,
      metrics: made.filter((metric) => metric instanceof RankingMetric),
    });
    const links = new LinkPredictionModel(
      encoder,
      decoder,
      lossOf,
      regularizer.type === 'NORM' ? newRegularizer(regularizer) : null,
      null,
      reporter,
    );
    links.objective = {
      penalty: newPenalty(regularizer),
      relationPrediction: config.model.relation_prediction.weight,
    };
    const ofLists = made.filter((metric) => metric instanceof RecommendationMetric);
    if (ofLists.length > 0) links.recommendation = new RecommendationEvaluation(ofLists);
    links.seed = config.model.random_seed;
    links.wholeQueries = config.training.form === 'K_VS_ALL';
    model = links;
  }
  return model.useOptimizer(
    config.model.dense_optimizer,
    ownOptimizers(encoder, decoder, decoderConfig.optimizer),
  );
}

function newDecoder(
  config: EdgeDecoderConfig,
  dim: number,
  numRelations: number,
  random: Random,
): EdgeDecoder {
  const { inverse_edges: inverseEdges, edge_decoder_method: method, comparator, bias } = config.options;
  const {
    relation_init: init,
    entity_dropout: entityDropout,
    relation_dropout: relationDropout,
  } = config.options;
  return edgeDecoder(
    config.type,
    {
      ...{ dim, numRelations, inverseEdges, method, random, entityDropout, relationDropout, bias },
      comparator: comparators[comparator](),
      ...(init.type === 'DEFAULT' ? {} : { relationInit: init }),
    },
    config.options,
  );
}

/** Returns the penalty on the rows of nodes of a classification, or on the ends of edges (NORM). */
function newRegularizer({ type, norm, coef }: RegularizerConfig): Regularizer | null {
  if (type === 'NORM') return new NormRegularizer(norm, coef);
  return type === 'N3' ? new N3Regularizer(coef) : null;
}

/** Returns the penalty on the embeddings of directed examples. */
function newPenalty(config: RegularizerConfig): EmbeddingPenalty | null {
  const { type, norm, coef, relation_coef: relationCoef, weighted } = config;
  return type === 'N3' || type === 'LP' ? { type, norm, coef, relationCoef, weighted } : null;
}

/** Returns the parameters whose layer or decoder has a separate optimiser. */
function ownOptimizers(
  encoder: GeneralEncoder,
  decoder: EdgeDecoder | null,
  decoderOptimizer: OwnOptimizerConfig,
): Map<Tensor, OptimizerConfig> {
  const own = new Map<Tensor, OptimizerConfig>();
  const assign = (params: readonly Tensor[], config: OwnOptimizerConfig): void => {
    if (config.type === 'DEFAULT') return;
    for (const p of params) own.set(p, config);
  };
  for (const stage of encoder.stages)
    for (const layer of stage) assign(layer.parameters(), layer.config.optimizer);
  if (decoder !== null) assign(decoder.parameters(), decoderOptimizer);
  return own;
}

/**
 * Custom samplers for the training batches of a run, in place of those of the configuration; evaluation draws as
 * configured. Their draws must depend on the seed and the batch alone, so that a run repeats and resumes. Each of several
 * workers draws the negatives of the whole batch; custom neighbour samplers work in one process only.
 */
export interface RunSamplers {
  readonly negatives?: (storage: GraphStorage, config: SkeinConfig) => TrainingNegativeSampler;
  readonly neighbors?: (storage: GraphStorage, config: SkeinConfig) => TrainingNeighborSampler;
}

/** Makes the source of a run's batches. `worker`: one of several that share every batch. */
export function initializeBatches(
  config: SkeinConfig,
  storage: GraphStorage,
  worker: WorkerRank = { rank: 0, size: 1 },
  own: RunSamplers = {},
): BatchSource {
  const seed = config.model.random_seed;
  const order = { seed, shuffle: config.storage.shuffle_input };
  const { encoder } = config.model;
  const neighbours = (rules: readonly NeighborSamplingConfig[]): KHopNeighborSampler | null =>
    rules.length === 0
      ? null
      : new KHopNeighborSampler(storage, rules.map(toLayerSampling), 'ALL', -1, {
          incoming: encoder.use_incoming_nbrs,
          outgoing: encoder.use_outgoing_nbrs,
          seed,
        });
  const { full_batch: fullBatch, batch_size: batchSize } = config.training;
  // The whole graph in one step: all training nodes, and all neighbours unless the file configures sampling.
  const hops = encoder.layers.reduce((sum, stage) => sum + hopsOfStage(stage), 0);
  const whole = Array.from({ length: hops }, (): NeighborSamplingConfig => ({ type: 'ALL', options: {} }));
  const rules = (given: readonly NeighborSamplingConfig[]) =>
    fullBatch && given.length === 0 ? whole : given;
  const train = own.neighbors?.(storage, config) ?? neighbours(rules(encoder.train_neighbor_sampling));
  const evaluation = neighbours(rules(encoder.eval_neighbor_sampling));
  const links = config.model.learning_task === 'LINK_PREDICTION';
  const evaluationSampling = config.evaluation.negative_sampling;
  const againstAll = evaluationSampling.filtered || evaluationSampling.negatives_per_positive === -1;
  const { max_edges: most } = config.evaluation;
  const negatives = config.training.form === 'NEGATIVES';
  const sampler = links ? new RandomEdgeSampler(storage, order) : new RandomNodeSampler(storage, order);
  return new BatchSource(storage, sampler, {
    batchSize: fullBatch ? Math.max(1, storage.splitNodes('train')?.length ?? 0) : batchSize,
    evaluationBatchSize: evaluationBatch(config, storage),
    queries: links && !negatives ? newQueries(storage, config) : null,
    negatives:
      links && negatives
        ? (own.negatives?.(storage, config) ?? newNegatives(storage, config.training.negative_sampling, seed))
        : null,
    edgeWeights: subsamples(config) ? new SubsamplingWeights(storage) : null,
    evaluationNegatives: !links || againstAll ? null : newNegatives(storage, evaluationSampling, seed),
    neighbors: train,
    evaluationNeighbors: evaluation,
    filtered: evaluationSampling.filtered,
    candidates: config.evaluation.candidates,
    validation: links && most > 0 ? new ValidationSample(most, seed) : null,
    worker,
  });
}

/** Returns the size of evaluation batches: large where a table is in files, because ranking a batch reads all of it. */
function evaluationBatch(config: SkeinConfig, storage: GraphStorage): number {
  const { batch_size: size } = config.evaluation;
  return storage.allResident ? size : Math.max(size, 2 ** 16);
}

function newNegatives(
  storage: GraphStorage,
  config: NegativeSamplingConfig,
  seed: number,
): RandomNegativeSampler {
  return new RandomNegativeSampler(storage, {
    numChunks: config.num_chunks,
    numNegatives: config.negatives_per_positive,
    degreeFraction: config.degree_fraction,
    filtered: config.filtered,
    localFilterMode: config.local_filter_mode,
    selfFilter: config.self_filter,
    knownEnds: config.known_ends,
    knownFilter: config.known_filter ?? false,
    seenEnds: config.candidates === 'SEEN',
    seed,
  });
}

function newQueries(storage: GraphStorage, { model, training, storage: stored }: SkeinConfig): QueryBatches {
  return new QueryBatches(storage, {
    batchSize: training.batch_size,
    maxAnswers: training.max_answers,
    wholeQueries: training.form === 'K_VS_ALL',
    known: training.filter_known,
    seed: model.random_seed,
    shuffle: stored.shuffle_input,
  });
}

function toLayerSampling(config: NeighborSamplingConfig): LayerSampling {
  if (config.type === 'UNIFORM') return { type: 'UNIFORM', maxNeighbors: config.options.max_neighbors };
  return config.type === 'DROPOUT' ? { type: 'DROPOUT', rate: config.options.rate } : { type: 'ALL' };
}
