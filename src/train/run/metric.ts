/**
 * Metrics of ranks and of classes. For a custom metric, subclass `RankingMetric` or `ClassificationMetric` and pass it to a
 * reporter, or register it for configurations. Empty input gives NaN.
 */

import { hitsAtK, meanReciprocalRank } from '../../temporal/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, Registry } from '../../util/registry.js';
import { anyCasePattern } from '../../util/schema/json-schema.js';
import { classificationMetrics } from '../tasks/nodes/classification-metrics.js';
import { Metric } from './base-metric.js';
import {
  CoverageAtK,
  HitRateAtK,
  MeanAveragePrecisionAtK,
  NdcgAtK,
  PrecisionAtK,
  RecallAtK,
  type RecommendationMetric,
} from './recommendation-metrics.js';

export { Metric };

/** A metric computed from the ranks of true edges among their candidates; rank 1 is best. */
export abstract class RankingMetric extends Metric {
  /** `candidates[i]` is the number of negatives that edge i was ranked among. The method may modify both arrays. */
  abstract compute(ranks: Float64Array, candidates: Float64Array): number;
}

/** A metric computed from labels and predicted classes. */
export abstract class ClassificationMetric extends Metric {
  abstract compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number;
}

function mean(values: Float64Array, of: (value: number, i: number) => number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += of(values[i], i);
  return sum / values.length;
}

export class MeanRank extends RankingMetric {
  override readonly name = 'mr';

  override compute(ranks: Float64Array): number {
    return mean(ranks, (rank) => rank);
  }
}

export class MeanReciprocalRank extends RankingMetric {
  override readonly name = 'mrr';

  override compute(ranks: Float64Array): number {
    return meanReciprocalRank(ranks);
  }
}

/** The fraction of ranks up to k. */
export class HitsAtK extends RankingMetric {
  override readonly name: string;
  readonly k: number;

  constructor(k: number) {
    super();
    this.k = checkInteger('HitsAtK', 'k', k, 1);
    this.name = `hits@${k}`;
  }

  override compute(ranks: Float64Array): number {
    return hitsAtK(ranks, this.k);
  }
}

/** The probability that a true edge scores above one of its candidates, averaged over true edges. */
export class AreaUnderCurve extends RankingMetric {
  override readonly name = 'auc';

  override compute(ranks: Float64Array, candidates: Float64Array): number {
    return mean(ranks, (rank, i) => (candidates[i] === 0 ? 1 : 1 - (rank - 1) / candidates[i]));
  }
}

export class CategoricalAccuracy extends ClassificationMetric {
  override readonly name = 'accuracy';

  override compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number {
    return classificationMetrics(labels, predictions, numClasses).accuracy;
  }
}

/** F1: the mean over classes (macro), or over all rows (micro). */
export class F1Score extends ClassificationMetric {
  override readonly name: string;

  constructor(readonly average: 'macro' | 'micro' = 'macro') {
    super();
    this.name = `f1_${average}`;
  }

  override compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number {
    const { macroF1, microF1 } = classificationMetrics(labels, predictions, numClasses);
    return this.average === 'macro' ? macroF1 : microF1;
  }
}

const builtIn: ReadonlySet<unknown> = new Set([
  ...[MeanRank, MeanReciprocalRank, HitsAtK, AreaUnderCurve, CategoricalAccuracy, F1Score],
]);

/**
 * Computes a metric. A custom metric receives copies, so that its changes do not affect other metrics. Built-in ones only
 * read.
 */
export function metricValue<T extends Float64Array | Int32Array>(
  metric: Metric,
  [first, second]: readonly [T, T],
  compute: (first: T, second: T) => number,
): number {
  const copy = (array: T): T => (builtIn.has(metric.constructor) ? array : (array.slice() as T));
  const value: unknown = compute(copy(first), copy(second));
  if (typeof value === 'number') return value;
  throw new ValueError(
    expected('evaluation', 'a number', `the result of compute() of ${metric.name}`, value),
  );
}

type Task = 'LINK_PREDICTION' | 'NODE_CLASSIFICATION';
type AnyMetric = RankingMetric | ClassificationMetric | RecommendationMetric;

/** A metric that `evaluation.metrics` can name. */
interface MetricType {
  /** The name as printed; `@k` stands for a number. */
  readonly name: string;
  /** Other spellings, in lower case. */
  readonly aliases?: readonly string[];
  readonly task: Task;
  /** Reported by default: once, or for each of these k. */
  readonly standard?: true | readonly number[];
  /** Whether lower is better (default false). */
  readonly lowerIsBetter?: boolean;
  readonly make: (k: number) => AnyMetric;
}

/** Built-in metrics, in the order in which the default ones are reported. */
const metricTypes: readonly MetricType[] = [
  {
    name: 'mrr',
    aliases: ['mean_reciprocal_rank'],
    task: 'LINK_PREDICTION',
    standard: true,
    make: () => new MeanReciprocalRank(),
  },
  {
    name: 'mr',
    aliases: ['mean_rank'],
    task: 'LINK_PREDICTION',
    standard: true,
    make: () => new MeanRank(),
  },
  {
    name: 'hits@k',
    task: 'LINK_PREDICTION',
    standard: [1, 3, 5, 10, 50, 100],
    make: (k) => new HitsAtK(k),
  },
  { name: 'auc', task: 'LINK_PREDICTION', make: () => new AreaUnderCurve() },
  { name: 'recall@k', task: 'LINK_PREDICTION', make: (k) => new RecallAtK(k) },
  { name: 'precision@k', task: 'LINK_PREDICTION', make: (k) => new PrecisionAtK(k) },
  { name: 'ndcg@k', task: 'LINK_PREDICTION', make: (k) => new NdcgAtK(k) },
  { name: 'map@k', task: 'LINK_PREDICTION', make: (k) => new MeanAveragePrecisionAtK(k) },
  { name: 'hit_rate@k', task: 'LINK_PREDICTION', make: (k) => new HitRateAtK(k) },
  { name: 'coverage@k', task: 'LINK_PREDICTION', make: (k) => new CoverageAtK(k) },
  {
    name: 'accuracy',
    aliases: ['acc'],
    task: 'NODE_CLASSIFICATION',
    standard: true,
    make: () => new CategoricalAccuracy(),
  },
  {
    name: 'f1_macro',
    aliases: ['f1', 'macro_f1'],
    task: 'NODE_CLASSIFICATION',
    standard: true,
    make: () => new F1Score('macro'),
  },
  {
    name: 'f1_micro',
    aliases: ['micro_f1'],
    task: 'NODE_CLASSIFICATION',
    make: () => new F1Score('micro'),
  },
];

/** The registry of metrics: the built-in and custom ones. */
const registry = new Registry<MetricType>({
  ...{ key: 'evaluation.metrics', builtIn: metricTypes, spelling: 'small' },
});

/** Names of other fields in metrics.jsonl and in results, which a metric must not use. */
const reserved = ['time', 'event', 'set', 'epoch', 'seconds', 'count', 'loss'];

/** A custom metric for `registerMetric`; `make` returns one with the same `name`. */
export type CustomMetric = Pick<MetricType, 'name' | 'task' | 'lowerIsBetter'> & {
  readonly make: () => RankingMetric | ClassificationMetric;
};

/**
 * Registers a metric, so that configurations can name it as `evaluation.metrics: [mine]`.
 *
 * @returns a function that removes it.
 * @example
 * registerMetric({ name: 'mine', task: 'LINK_PREDICTION', make: () => new MyMetric() });
 */
export function registerMetric(given: CustomMetric): () => void {
  const where = 'registerMetric';
  checkRecord(where, given);
  checkOptionNames(where, given, { name: true, task: true, lowerIsBetter: true, make: true });
  const { name, task, lowerIsBetter = false, make } = given;
  if (reserved.includes(name)) {
    const what = `a name that metrics.jsonl does not use (${reserved.join(', ')})`;
    throw new ValueError(expected(where, what, 'name', name, 'Choose another.'));
  }
  const same = typeof name === 'string' ? findMetric(name) : undefined;
  if (same !== undefined)
    throw new ValueError(
      expected(
        where,
        'a name that is not taken',
        'name',
        name,
        `It stands for ${same.name}; choose another.`,
      ),
    );
  if (typeof lowerIsBetter !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'lowerIsBetter', lowerIsBetter));
  const classes = { LINK_PREDICTION: RankingMetric, NODE_CLASSIFICATION: ClassificationMetric };
  if (!Object.hasOwn(classes, task))
    throw new ValueError(expected(where, Object.keys(classes).join(' or '), 'task', task));
  const checked = (): RankingMetric | ClassificationMetric => {
    const made = make();
    if (made instanceof classes[task] && made.name === name) return made;
    const what = `a ${classes[task].name} with the name ${name}`;
    throw new ValueError(expected(where, what, `the result of make() of ${name}`, made));
  };
  return registry.register(
    where,
    { name, task, lowerIsBetter, make: typeof make === 'function' ? checked : make },
    ['make'],
  );
}

/** Metrics for which lower is better. */
export function lowerMetrics(): string[] {
  return registry.all().flatMap(({ name, lowerIsBetter }) => (lowerIsBetter === true ? [name] : []));
}

interface NamedMetric {
  /** The name with its number: `hits@10`. */
  readonly name: string;
  readonly task: Task;
  readonly make: () => AnyMetric;
}

/** Finds a metric by name, ignoring case: `MRR`, `hits10`, `hits@k10`. Returns undefined if there is none. */
export function findMetric(text: string): NamedMetric | undefined {
  const lower = text.trim().toLowerCase();
  for (const { name, aliases = [], task, make } of registry.all()) {
    if (!name.endsWith('@k')) {
      if (lower === name || aliases.includes(lower)) return { name, task, make: () => make(0) };
      continue;
    }
    const stem = name.slice(0, -'@k'.length);
    const rest = lower.startsWith(stem) ? /^@?k?([1-9]\d*)$/.exec(lower.slice(stem.length)) : null;
    if (rest !== null) return { name: `${stem}@${rest[1]}`, task, make: () => make(Number(rest[1])) };
  }
  return undefined;
}

/** For editors: names to suggest, and a pattern that matches all names that `findMetric` accepts. */
export function metricSpellings(): { readonly names: string[]; readonly pattern: string } {
  const all = registry.all();
  const names = all.flatMap(({ name, standard }) =>
    name.endsWith('@k')
      ? (typeof standard === 'object' ? standard : [10, 20]).map((k) => name.replace('@k', `@${k}`))
      : [name],
  );
  const patterns = all
    .flatMap(({ name, aliases = [] }) => [name, ...aliases])
    .map((name) =>
      name.endsWith('@k')
        ? `${anyCasePattern(name.slice(0, -'@k'.length))}@?[Kk]?[1-9][0-9]*`
        : anyCasePattern(name),
    );
  return { names, pattern: `^(${patterns.join('|')})$` };
}

/** Returns the names of one task's metrics, or of all. */
export function metricList(task?: Task): string[] {
  const types = registry.all().filter((each) => task === undefined || each.task === task);
  return types.map(({ name }) => name);
}

/** Lists the names of one task's metrics, or of all, for messages: `mrr, mr, hits@k or auc`. */
export function metricText(task?: Task): string {
  const names = metricList(task);
  return `${names.slice(0, -1).join(', ')} or ${names[names.length - 1]}`;
}

/** Returns the metrics reported by default; the first decides which epoch is the best. */
export function standardMetrics(task: Task): string[] {
  return metricTypes
    .filter((each) => each.task === task)
    .flatMap(({ name, standard = [] }) =>
      standard === true ? [name] : standard.map((k) => name.replace('@k', `@${k}`)),
    );
}

/** Returns the metric for a name in `evaluation.metrics`. */
export function metricByName(name: string): AnyMetric {
  const found = findMetric(name);
  if (found === undefined) throw new ValueError(expected('metricByName', metricText(), 'name', name));
  return found.make();
}

/** Returns the metric that decides which epoch is the best: the first standard one, or else the first reported. */
export function headlineMetric(task: Task, metrics: readonly string[]): string {
  const [usual] = standardMetrics(task);
  return metrics.includes(usual) ? usual : metrics[0];
}
