/** How a temporal run is evaluated: the section `evaluation` with its automatic values resolved. */
import type { LinkMetricsOptions } from '../../../temporal/index.js';
import type { ConfigProblem } from '../../../util/schema/problem.js';
import { protocolProblems } from './protocol.js';
import type { TemporalRunConfig } from './run-config.js';
import type { TemporalRunSections } from './schema.js';

/** With more negatives than this per event, `pooled: auto` computes ranks alone. */
const mostPooled = 100;

const metricNames = /^(new_node_)?(ap|auc|ap_batch|auc_batch|mrr|hits@[1-9]\d{0,6})$/;

export interface EvaluationPlan {
  /** The metric of the best epoch and of early stopping. */
  readonly metric: string;
  /** Negatives per event: every destination, those of a file, or a number. */
  readonly amount: number | 'all' | 'file';
  readonly metrics: LinkMetricsOptions;
}

export function evaluationPlan({ evaluation }: Pick<TemporalRunSections, 'evaluation'>): EvaluationPlan {
  const { negatives, amount: given, metric: name, pooled } = evaluation;
  const every = negatives === 'all' || (negatives === 'tgb' && given === -1);
  const amount = every ? 'all' : negatives === 'file' ? 'file' : given === -1 ? 1 : given;
  const curves = pooled === 'auto' ? typeof amount === 'number' && amount <= mostPooled : pooled === 'true';
  const metric = name === 'auto' ? (curves ? 'ap' : 'mrr') : name.toLowerCase();
  const own = /hits@(\d+)$/.exec(metric)?.[1];
  const hits = [...new Set([1, 3, 10, ...(own === undefined ? [] : [Number(own)])])].sort((a, b) => a - b);
  return { metric, amount, metrics: { hits, curves } };
}

/** Returns whether events are ranked against more than one negative destination. */
export function hasRanks(config: Pick<TemporalRunSections, 'evaluation'>): boolean {
  return evaluationPlan(config).amount !== 1;
}

/** Returns the number of events per step of evaluation. */
export function evaluationBatchSize({ evaluation, model }: TemporalRunConfig): number {
  return evaluation.batch_size === -1 ? model.train.batch_size : evaluation.batch_size;
}

/**
 * Returns whether the events of a batch are scored, by their rows in the stream. The result depends on the first row alone, so
 * that loaders and all workers agree.
 *
 * @param begin the first row of the split.
 */
export function isScoredBatch(config: TemporalRunConfig, begin: number, eventRows: Int32Array): boolean {
  const step = Math.floor((eventRows[0] - begin) / evaluationBatchSize(config));
  return step % config.evaluation.score_every === 0;
}

/** Describes the evaluation of a run; results are comparable only if it is the same. */
export function evaluatedBy(config: TemporalRunSections): string {
  const { negatives, cadence, score_every: scoreEvery } = config.evaluation;
  const { metric, amount } = evaluationPlan(config);
  return JSON.stringify({
    ...{ negatives, amount: typeof amount === 'number' ? amount : 1 },
    ...(metric === 'ap' ? {} : { metric }),
    ...(cadence === 'batch' ? { cadence } : {}),
    ...(scoreEvery === 1 ? {} : { scoreEvery }),
    ...(config.protocol === 'none' ? {} : { protocol: config.protocol }),
  });
}

export function evaluationProblems(config: TemporalRunSections): ConfigProblem[] {
  const { metric, pooled, negatives, negatives_path: path } = config.evaluation;
  const problems = protocolProblems(config);
  if ((negatives === 'file') !== (path !== ''))
    problems.push({
      key: 'evaluation.negatives_path',
      message: `expected evaluation.negatives file and evaluation.negatives_path together, got ${negatives} and ${path === '' ? 'no path' : path}. Set or leave out both.`,
    });
  if (metric !== 'auto' && !metricNames.test(metric.toLowerCase()))
    problems.push({
      key: 'evaluation.metric',
      message: `expected one of auto, ap, auc, ap_batch, auc_batch, mrr, hits@k, or one of these after new_node_, for evaluation.metric, got ${metric}.`,
    });
  else if (!evaluationPlan(config).metrics.curves && /(ap|auc)(_batch)?$/.test(metric))
    problems.push({
      key: 'evaluation.metric',
      message: `expected a metric of ranks for evaluation.metric with evaluation.pooled ${pooled}, got ${metric}. Use mrr or hits@10, or set evaluation.pooled to true.`,
    });
  return problems;
}

export function evaluationWarnings({ evaluation }: TemporalRunSections): string[] {
  const { negatives, amount } = evaluation;
  if ((negatives !== 'all' && negatives !== 'file') || Math.abs(amount) === 1) return [];
  const reason = negatives === 'all' ? 'which takes every destination' : 'which lists them';
  return [`evaluation.amount: has no effect, evaluation.negatives is ${negatives}, ${reason}.`];
}
