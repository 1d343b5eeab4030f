/** Metrics of a run, as a predictor shows them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metrics } from '../train/index.js';
import type { RunRecord } from '../train/run/run-record.js';
import { bestBaseline } from '../train/run/training-advice.js';
import type { Baseline } from '../train/task.js';

/**
 * Returns metrics by split: those of `done.json`, with the best baseline by the metric `headline`; before the end, the
 * validation of the checkpoint.
 */
export function readRunMetrics(
  { directory, record }: { readonly directory: string; readonly record: RunRecord },
  headline: string,
): Readonly<Record<string, Metrics>> {
  const path = join(directory, 'done.json');
  if (!existsSync(path)) return { validation: record.validation };
  const { validation, test, baselines } = JSON.parse(readFileSync(path, 'utf8')) as Outcome;
  const best = bestBaseline(baselines ?? [], headline, false);
  return { validation, test, ...(best === null ? {} : { baseline: best.metrics }) };
}

/** The fields of `done.json` that metrics are read from; runs of older versions have no baselines. */
interface Outcome {
  readonly validation: Metrics;
  readonly test: Metrics;
  readonly baselines?: readonly Baseline[];
}
