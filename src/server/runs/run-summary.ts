/** The state, results and curves of a run, read from its directory, in which a process may be training. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lockOwner } from '../../storage/process-lock.js';
import { describeRun, type RunDescription } from '../../train/describe-run.js';
import { bufferFile, readBufferFile } from '../../train/run/buffer-file.js';
import type { BufferRecord } from '../../train/run/buffer-record.js';
import { readCompleteRecords } from '../../train/run/metrics-file.js';
import { type RunCurves, readCurves } from '../../train/run/run-curves.js';
import { readRunSettings } from '../../train/run/run-settings.js';
import type { CatalogRun } from './run-catalog.js';

/** `training`: a process works in the directory. `stopped`: none does, and the run is not finished. */
export type RunState = 'finished' | 'training' | 'stopped';

export interface RunSummary {
  readonly name: string;
  readonly path: string;
  readonly state: RunState;
  readonly task: string;
  readonly model: string;
  readonly dataset: string;
  readonly epochs: number;
  readonly plannedEpochs: number;
  /** Time of the first record, as ISO 8601; null before it. */
  readonly started: string | null;
  readonly seconds: number;
  /** The metric by which epochs are compared; null before the first evaluation. */
  readonly metric: string | null;
  readonly best: RunDescription['best'];
  readonly metrics: RunDescription['metrics'];
  readonly baselines: RunDescription['baselines'];
  /** Loss of each epoch and the metric on validation, thinned. */
  readonly course: { readonly loss: readonly number[]; readonly validation: readonly number[] };
  /** Why the run cannot be described, instead of everything else; null for a sound one. */
  readonly problem: string | null;
}

export interface RunDetails extends RunSummary {
  readonly settings: Readonly<Record<string, string>>;
  readonly curves: RunCurves;
  readonly checkpoints: RunDescription['checkpoints'];
  /** The memory plan and the partition buffer; null for a run that has neither. */
  readonly buffer: BufferRecord | null;
}

/** Points of the small curve of a run in a list. */
const mostPoints = 60;

export async function summarizeRun(run: CatalogRun): Promise<RunSummary> {
  return (await readRun(run)).summary;
}

/** Returns the summary with the configuration and the whole curves. */
export async function readRunDetails(run: CatalogRun): Promise<RunDetails> {
  const { summary, curves, checkpoints } = await readRun(run);
  const settings = summary.problem === null ? Object.fromEntries(readRunSettings(run.path)) : {};
  const buffer = readBufferFile(join(run.path, bufferFile));
  return { ...summary, settings, curves, checkpoints, buffer };
}

interface ReadRun {
  readonly summary: RunSummary;
  readonly curves: RunCurves;
  readonly checkpoints: RunDescription['checkpoints'];
}

async function readRun(run: CatalogRun): Promise<ReadRun> {
  const curves = readCurves(run.path);
  const state = stateOf(run.path);
  try {
    const described = await describeRun(run.path);
    const { best, checkpoints } = described;
    const metric = best?.metric ?? firstMetric(curves);
    const validation = curves.evaluations.filter(({ set }) => set === 'validation');
    const { task, model, dataset, plannedEpochs, metrics, baselines } = described;
    const epochs = Math.max(described.epochs, curves.epochs.at(-1)?.epoch ?? 0);
    return {
      ...{ curves, checkpoints },
      summary: {
        ...{ ...run, state, task, model, dataset, plannedEpochs: Math.max(epochs, plannedEpochs), epochs },
        started: startOf(run.path),
        seconds: curves.epochs.reduce((sum, { seconds }) => sum + (seconds || 0), 0),
        ...{ metric, best, metrics, baselines, problem: null },
        course: {
          loss: thin(curves.epochs.map(({ loss }) => loss)),
          validation: metric === null ? [] : thin(validation.map((one) => one.metrics[metric] ?? Number.NaN)),
        },
      },
    };
  } catch (error) {
    // One damaged run must not hide the others of a list.
    const problem = error instanceof Error ? error.message : String(error);
    return {
      ...{ curves, checkpoints: [] },
      summary: {
        ...{ ...run, state, task: '', model: '', dataset: '', epochs: 0, plannedEpochs: 0, started: null },
        ...{ seconds: 0, metric: null, best: null, metrics: {}, baselines: [], problem },
        course: { loss: [], validation: [] },
      },
    };
  }
}

function stateOf(directory: string): RunState {
  if (existsSync(join(directory, 'done.json'))) return 'finished';
  return lockOwner(join(directory, 'run.lock')) === null ? 'stopped' : 'training';
}

const firstMetric = ({ evaluations }: RunCurves): string | null =>
  Object.keys(evaluations[0]?.metrics ?? {})[0] ?? null;

function startOf(directory: string): string | null {
  const [first] = readCompleteRecords(join(directory, 'metrics.jsonl'));
  return typeof first?.['time'] === 'string' ? first['time'] : null;
}

/** Keeps some of the values, with the first and the last. */
function thin(values: readonly number[]): number[] {
  if (values.length <= mostPoints) return [...values];
  return Array.from(
    { length: mostPoints },
    (_, i) => values[Math.round((i * (values.length - 1)) / (mostPoints - 1))],
  );
}

/** Most bytes of a log that a page shows. */
const mostLog = 256 * 1024;

/** Returns the end of log.txt; empty without one. */
export function readLog(directory: string): { readonly text: string; readonly isWhole: boolean } {
  const path = join(directory, 'log.txt');
  if (!existsSync(path)) return { text: '', isWhole: true };
  const { size } = statSync(path);
  const bytes = readFileSync(path);
  const text = bytes.subarray(Math.max(0, bytes.length - mostLog)).toString('utf8');
  return { text: size > mostLog ? text.slice(text.indexOf('\n') + 1) : text, isWhole: size <= mostLog };
}
