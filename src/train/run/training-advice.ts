/** Sentences at the end of training: baselines next to the test metrics, and what to change if the result is poor. */
import type { FitResult } from '../fit.js';
import type { Baseline, Metrics } from '../task.js';
import { formatMetric } from './reporter.js';

/** Returns the best of some baselines by a metric; null if none has it. */
export function bestBaseline(
  baselines: readonly Baseline[],
  metric: string,
  lowerIsBetter: boolean,
): Baseline | null {
  const sign = lowerIsBetter ? -1 : 1;
  return baselines
    .filter(({ metrics }) => Number.isFinite(metrics[metric]))
    .reduce<Baseline | null>(
      (best, one) => (best === null || sign * (one.metrics[metric] - best.metrics[metric]) > 0 ? one : best),
      null,
    );
}

export interface TrainingOutcome {
  readonly result: Pick<FitResult, 'stopped' | 'epochs' | 'best'>;
  /** Mean loss of each epoch of this process. */
  readonly losses: readonly number[];
  /** Steps of an epoch. */
  readonly stepsPerEpoch: number;
  /** The metric that decides, and whether lower is better. */
  readonly metric: string;
  readonly lowerIsBetter: boolean;
  /** The metric of the task, higher being better, for baselines without the one that decides. */
  readonly headline: string;
  readonly test: Metrics;
  readonly baselines: readonly Baseline[];
}

/** A smaller fall of the loss is noise, or not worth the time. */
const leastFall = 0.02;
/** Fewer steps rarely move embeddings far from where they started. */
const fewSteps = 500;

/** Returns advice, one sentence per line; none for a result without objection. */
export function trainingAdvice(outcome: TrainingOutcome): string[] {
  const { result, losses, metric, test, baselines } = outcome;
  const falling = lossFall(outcome);
  const isDecisive = baselines.some(({ metrics }) => Number.isFinite(metrics[metric]));
  const compared = isDecisive ? metric : outcome.headline;
  const lowerIsBetter = isDecisive && outcome.lowerIsBetter;
  const best = bestBaseline(baselines, compared, lowerIsBetter);
  const lines: string[] = [];
  if (best !== null && Number.isFinite(test[compared])) {
    const [theirs, own] = [best.metrics[compared], test[compared]];
    if (lowerIsBetter ? own > theirs : own < theirs)
      lines.push(
        `${capitalized(best.name)} reaches ${compared} ${formatMetric(theirs)}, the model ${formatMetric(own)}: ${remedy(outcome, falling)}`,
      );
  }
  if (falling !== null && lines.length === 0)
    lines.push(
      `Train longer: the loss still fell by ${Math.round(100 * falling)} % over the last ${plural(windowOf(losses), 'epoch')}${result.best === null ? '' : `, and ${metric} was best at the end`}.`,
    );
  return lines;
}

function remedy({ result, stepsPerEpoch }: TrainingOutcome, falling: number | null): string {
  const steps = stepsPerEpoch * result.epochs;
  if (steps < fewSteps) return `train longer or with smaller batches (${steps} steps so far).`;
  if (falling !== null) return 'train longer, the loss is still falling.';
  return 'try another learning rate, penalty or model.';
}

/** Epochs at the end over which the fall of the loss is measured. */
const windowOf = (losses: readonly number[]): number => Math.max(1, Math.floor(losses.length / 10));

/** Returns by which fraction the loss fell at the end; null if it did not, or if validation was better before. */
function lossFall({ result, losses }: TrainingOutcome): number | null {
  const { stopped, best, epochs } = result;
  const before = losses[losses.length - 1 - windowOf(losses)];
  const last = losses[losses.length - 1];
  if (stopped !== 'finished' || before === undefined || before <= 0) return null;
  if (best !== null && best.epoch < epochs) return null;
  const fall = (before - last) / before;
  return fall >= leastFall ? fall : null;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const plural = (count: number, unit: string): string =>
  count === 1 ? unit : `${count.toLocaleString('en')} ${unit}s`;

/** Returns the name of a baseline for the end of its line, with the number of items if it was evaluated on some of them. */
export function baselineNote({ name, items }: Pick<Baseline, 'name' | 'items'>, unit: string): string {
  return items === undefined ? `(${name})` : `(${name}, ${items.toLocaleString('en')} ${unit})`;
}
