/** Loops over batches, checkpoints, whole runs, and what can be done with a saved one. */
export { type CheckpointRecord, Checkpoints, latestCheckpoint } from './checkpoint.js';
export * from './describe-run.js';
export * from './encode-new-nodes.js';
export * from './encoded-nodes.js';
export { Evaluator, type Metrics, PipelineEvaluator, SynchronousEvaluator } from './evaluator.js';
export { initializeBatcher, initializeModel, type ModelSizes } from './initialize-model.js';
export {
  type InitializedStorage,
  type InitializeStorageOptions,
  initializeSharedStorage,
  initializeStorage,
} from './initialize-storage.js';
export { openDataset } from './open-dataset.js';
export { type FoundRun, findRun, type OpenedRun, type OpenRunOptions, openRun } from './open-run.js';
export * from './predict.js';
export { openRunTables } from './run-tables.js';
export { type StageSpan, StageTimings } from './timings.js';
export * from './top-nodes.js';
export { type TrainRunOptions, type TrainRunResult, trainRun } from './train-run.js';
export {
  PipelineTrainer,
  type PipelineTrainerOptions,
  SynchronousTrainer,
  Trainer,
  type TrainerOptions,
  type TrainProgress,
} from './trainer.js';
