/**
 * Every name of Marius's API document. The document's life-cycle classes are facades over Skein's own; where the two
 * agree, the name is Skein's class.
 */
export {
  Comparator,
  EdgeDecoder as Decoder,
  LossFunction,
  Regularizer,
  RelationOperator,
} from '../../gnn/index.js';
export type { NeighborSamplingStrategy } from '../../sample/index.js';
export type { EdgeList, NodeNeighbors } from '../../sample/one-hop-sampler.js';
export {
  FileStore as FlatFile,
  MemoryStore as InMemory,
  PartitionBufferStore as PartitionBufferStorage,
} from '../../storage/index.js';
export type { MariusOptions } from '../../train/config/types.js';
export {
  Encoder,
  Featurizer,
  GraphStorage as GraphModelStorage,
  type GraphStorageParts as GraphModelStorageParts,
  initializeStorage,
  LinkPredictionModel,
  LinkPredictionReporter,
  loadConfig as parseConfig,
  Model,
  NodeClassificationModel,
  NodeClassificationReporter,
  ProgressReporter,
  RandomEdgeSampler,
  Reporter,
  TrainingEdgeSampler as EdgeSampler,
  TrainingNegativeSampler as NegativeSampler,
  TrainingNodeSampler as NodeSampler,
} from '../../train/index.js';
export { RandomNodeSampler } from '../../train/tasks/graph/batch/samplers.js';
export { initializeModel } from '../../train/tasks/graph/initialize-model.js';
export { RandomNegativeSampler } from '../../train/tasks/links/negative-sampler.js';
export { Batch, type BatchStatus } from './batch.js';
export { Evaluator, PipelineEvaluator, SynchronousEvaluator } from './evaluator.js';
/** The names that current versions of Marius have for two of these. */
export { GNNGraph, GNNGraph as DENSEGraph } from './gnn-graph.js';
export { GraphBatcher, GraphBatcher as DataLoader, type GraphBatcherOptions } from './graph-batcher.js';
export { MariusGraph, type MariusGraphOptions } from './marius-graph.js';
export { kHopNeighborSampler, NeighborSampler } from './neighbor-sampler.js';
export {
  PipelineTrainer,
  type PipelineTrainerOptions,
  SynchronousTrainer,
  Trainer,
  type TrainerOptions,
  type TrainProgress,
} from './trainer.js';
