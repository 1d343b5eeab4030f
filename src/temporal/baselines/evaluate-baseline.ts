/**
 * Evaluates a baseline as a model is evaluated: the same events, negatives and metrics. Before an event is scored, all events
 * with an earlier time have been observed and none of the same time, those of training, validation and test alike.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type EventStream, type StreamSplit, streamSplits } from '../event-stream.js';
import { LinkMetrics, type LinkMetricsOptions, type LinkMetricValues } from '../metrics/link-metrics.js';
import type { TemporalNegatives } from '../negatives/temporal-negatives.js';
import type { TemporalBaseline } from './baseline.js';

export interface EvaluateBaselineOptions {
  readonly negatives: TemporalNegatives;
  /** First event row after training. */
  readonly trainEnd: number;
  /** First event row after validation. */
  readonly validationEnd: number;
  /** The split to evaluate on (default 'test'). */
  readonly split?: StreamSplit;
  /** Events per batch in metrics that are means over batches (default 200). */
  readonly batchSize?: number;
  /** Score every this many events of the split (default 1: all of them); all are observed. */
  readonly every?: number;
  /** The metrics to compute. Default: all. */
  readonly metrics?: LinkMetricsOptions;
  /** Whether an event has a node that training never saw, by event row. */
  readonly isNew?: ArrayLike<number | boolean>;
}

const name = 'evaluateBaseline';

/**
 * @example
 * const negatives = new TemporalNegatives(graph, { trainEnd, seed: 1 });
 * evaluateBaseline(new EdgeBank(), graph, { negatives, trainEnd, validationEnd }).ap
 */
export function evaluateBaseline(
  baseline: TemporalBaseline,
  stream: EventStream,
  options: EvaluateBaselineOptions,
): LinkMetricValues {
  checkOptionNames('evaluateBaseline', options, {
    negatives: true,
    trainEnd: true,
    validationEnd: true,
    split: true,
    batchSize: true,
    isNew: true,
    every: true,
    metrics: true,
  });
  const { negatives, split = 'test', batchSize = 200, isNew } = options;
  const numEvents = stream.src.length;
  const validationEnd = checkInteger(name, 'validationEnd', options.validationEnd, 0, numEvents);
  const trainEnd = checkInteger(name, 'trainEnd', options.trainEnd, 0, validationEnd);
  checkInteger(name, 'batchSize', batchSize, 1);
  const every = checkInteger(name, 'every', options.every ?? 1, 1);
  if (!streamSplits.includes(split))
    throw new ValueError(expected(name, `one of ${streamSplits.join(', ')}`, 'split', split));
  const begin = { train: 0, validation: trainEnd, test: validationEnd }[split];
  const end = { train: trainEnd, validation: validationEnd, test: numEvents }[split];
  baseline.reset();
  const run = new BaselineRun(baseline, stream, negatives);
  run.learn(0, Math.min(trainEnd, begin));
  run.advance(begin);
  const metrics = new LinkMetrics(options.metrics);
  for (let from = begin; from < end; from += batchSize) {
    const to = Math.min(from + batchSize, end);
    const rows = rowsFrom(from + ((every - ((from - begin) % every)) % every), to, every);
    if (rows.length === 0) continue;
    const { positive, negative } = run.score(rows, split);
    if (isNew === undefined) metrics.add(positive, negative);
    else
      metrics.add(
        positive,
        negative,
        Array.from(rows, (row) => isNew[row]),
      );
  }
  return metrics.result();
}

/** Returns every `step`-th row of first … end − 1. */
function rowsFrom(first: number, end: number, step: number): Int32Array {
  return Int32Array.from(
    { length: Math.max(0, Math.ceil((end - first) / step)) },
    (_, i) => first + i * step,
  );
}

/** Goes through a stream; an event is observed when a later one is scored. */
class BaselineRun {
  readonly #baseline: TemporalBaseline;
  readonly #stream: EventStream;
  readonly #negatives: TemporalNegatives;
  /** Rows below have been observed. */
  #observed = 0;

  constructor(baseline: TemporalBaseline, stream: EventStream, negatives: TemporalNegatives) {
    this.#baseline = baseline;
    this.#stream = stream;
    this.#negatives = negatives;
  }

  /** Observes the events before `row` whose time is earlier. */
  advance(row: number): void {
    const { src, dst, time } = this.#stream;
    const now = row < time.length ? time[row] : Infinity;
    for (; this.#observed < row && time[this.#observed] < now; this.#observed++)
      this.#baseline.observe(src[this.#observed], dst[this.#observed], time[this.#observed]);
  }

  learn(begin: number, end: number): void {
    if (this.#baseline.learn === undefined || begin >= end) return;
    const { src, dst, time } = this.#stream;
    const { amount } = this.#negatives;
    const step = Math.max(1, Math.floor(65536 / amount));
    for (let from = begin; from < end; from += step) {
      const to = Math.min(end, from + step);
      const others = this.#negatives.draw(from, to, { split: 'train' });
      for (let row = from; row < to; row++) {
        this.advance(row);
        this.#baseline.learn(src[row], dst[row], time[row], 1);
        for (let k = 0; k < amount; k++)
          this.#baseline.learn(src[row], others[(row - from) * amount + k], time[row], 0);
      }
    }
  }

  score(rows: Int32Array, split: StreamSplit): { positive: Float64Array; negative: Float64Array } {
    const { src, dst, time } = this.#stream;
    const { amount } = this.#negatives;
    const others = this.#negatives.drawFor(rows, { split });
    const positive = new Float64Array(rows.length);
    const negative = new Float64Array(others.length);
    for (const [i, row] of rows.entries()) {
      this.advance(row);
      positive[i] = this.#baseline.score(src[row], dst[row], time[row]);
      for (let k = i * amount; k < (i + 1) * amount; k++)
        negative[k] = this.#baseline.score(src[row], others[k], time[row]);
    }
    for (const at of this.#negatives.ignored(rows)) negative[at] = Number.NEGATIVE_INFINITY;
    return { positive, negative };
  }
}
