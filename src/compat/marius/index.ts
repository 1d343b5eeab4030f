/** Names of Marius's document that are not Skein's own, built on Skein's. */
export { Evaluator, PipelineEvaluator, SynchronousEvaluator } from './evaluator.js';
export {
  PipelineTrainer,
  type PipelineTrainerOptions,
  SynchronousTrainer,
  Trainer,
  type TrainerOptions,
  type TrainProgress,
} from './trainer.js';
