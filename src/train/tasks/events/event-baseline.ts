/** The baseline of an event stream: pairs that met before, the recent ones first, then popular destinations. */
import { halfLivesOf } from '../../../temporal/baselines/recency-popularity.js';
import { evaluateBaseline, RecencyPopularity, TemporalNegatives } from '../../../temporal/index.js';
import type { Baseline, HeldOut } from '../../task.js';
import { evaluationNegatives } from './assemble.js';
import { evaluationPlan } from './evaluation.js';
import { requiredKind } from './model-kind.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** Pairs that are scored; a larger split is sampled. */
const mostScored = 1_000_000;

/**
 * Returns the metrics of the baseline on the events and negatives of the evaluation. None if the model is a baseline, and none
 * for frozen batches: the baseline sees every earlier event, so the two would not be comparable.
 */
export function eventBaselines(config: TemporalRunConfig, stream: OpenedStream, split: HeldOut): Baseline[] {
  if (requiredKind('train', config).learns === false || config.evaluation.cadence === 'batch') return [];
  const { graph, rows } = stream;
  const { trainEnd, validationEnd, isNew } = stream.split;
  const { batch_size: size } = config.evaluation;
  const negatives = evaluationNegatives(config, stream);
  if (!(negatives instanceof TemporalNegatives)) return [];
  const events = rows[split].length;
  const every = Math.max(1, Math.ceil((events * (1 + negatives.amount)) / mostScored));
  const baseline = new RecencyPopularity({ halfLives: halfLivesOf(graph, trainEnd).slice(0, 1) });
  const metrics = evaluateBaseline(baseline, graph, {
    ...{ negatives, trainEnd, validationEnd, split, isNew, every, metrics: evaluationPlan(config).metrics },
    batchSize: size === -1 ? config.model.train.batch_size : size,
  });
  return [{ name: 'recency', metrics, ...(every === 1 ? {} : { items: Math.ceil(events / every) }) }];
}
