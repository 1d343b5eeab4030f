/** Metrics of a run, as a predictor shows them. */
import type { Metrics } from '../train/index.js';
import { readOutcomeFile } from '../train/run/outcome-file.js';
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
  const outcome = readOutcomeFile(directory);
  if (outcome === null) return { validation: record.validation };
  const { validation, test, baselines } = outcome as unknown as Outcome;
  const best = bestBaseline(baselines ?? [], headline, false);
  return { validation, test, ...(best === null ? {} : { baseline: best.metrics }) };
}

/** The fields of `done.json` that metrics are read from; runs of older versions have no baselines. */
interface Outcome {
  readonly validation: Metrics;
  readonly test: Metrics;
  readonly baselines?: readonly Baseline[];
}
