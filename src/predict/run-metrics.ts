/** What a run measured at its end. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metrics } from '../train/index.js';
import type { RunRecord } from '../train/run/run-record.js';

/** Metrics by split: those of `done.json`, before that the validation of the checkpoint. */
export function runMetrics({
  directory,
  record,
}: {
  readonly directory: string;
  readonly record: RunRecord;
}): Readonly<Record<string, Metrics>> {
  const path = join(directory, 'done.json');
  if (!existsSync(path)) return { validation: record.validation };
  const { validation, test } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Metrics>;
  return { validation, test };
}
