/** The state, results and curves of a run, read from its directory, in which a process may be training. */
import { existsSync, readSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { lockOwner } from '../../storage/process-lock.js';
import { describeRun, type RunDescription } from '../../train/describe-run.js';
import type { BufferRecord } from '../../train/run/buffer-record.js';
import type { EvaluationPoint, RunCurves } from '../../train/run/run-curves.js';
import { readRunSettings } from '../../train/run/run-settings.js';
import { readBuffer } from './read-buffer.js';
import type { CatalogRun } from './run-catalog.js';
import { type RunCourse, RunCourses } from './run-course.js';
import { checkRunFile, checkRunFiles, withRunFile } from './run-file.js';
import { thinPoints } from './thin-points.js';

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
  /** Bytes of metrics.jsonl that this is made of. */
  readonly position: number;
}

/** Points of the small curve of a run in a list. */
const mostPoints = 60;

/** The parts of a run that are not in its curves. */
interface Described {
  readonly description: RunDescription;
  readonly settings: Readonly<Record<string, string>>;
}

interface ReadRun {
  readonly summary: RunSummary;
  readonly curves: RunCurves;
  readonly described: Described | null;
  readonly position: number;
}

/** Reads runs, and keeps what cannot change: a page asks for the list of its runs every few seconds. */
export class RunReader {
  readonly #courses = new RunCourses();
  /** Finished runs by path, with the files at that time. */
  readonly #described = new Map<string, { readonly files: string; readonly value: Described }>();

  /** Reads runs before a page asks for them, one after the other, so that requests are answered in between. */
  async prepare(runs: readonly CatalogRun[], signal: AbortSignal): Promise<void> {
    for (const run of runs) {
      await setImmediate();
      if (signal.aborted) return;
      await this.summary(run);
    }
  }

  async summary(run: CatalogRun): Promise<RunSummary> {
    return (await this.#read(run)).summary;
  }

  /**
   * Returns the summary with the configuration and the curves.
   *
   * @param points the most points of each curve; see `thinPoints`
   */
  async details(run: CatalogRun, points: number): Promise<RunDetails> {
    const { summary, curves, described, position } = await this.#read(run);
    const { metric } = summary;
    const ofSet = (set: string): readonly EvaluationPoint[] =>
      thinPoints(
        curves.evaluations.filter((one) => one.set === set),
        points,
        [({ metrics }) => (metric === null ? Number.NaN : metrics[metric])],
      );
    return {
      ...summary,
      settings: described?.settings ?? {},
      curves: {
        epochs: thinPoints(curves.epochs, points, [({ loss }) => loss, ({ rate }) => rate]),
        evaluations: [...new Set(curves.evaluations.map(({ set }) => set))].flatMap(ofSet),
      },
      ...{ checkpoints: described?.description.checkpoints ?? [], position },
      buffer: readBuffer(run.path),
    };
  }

  async #read(run: CatalogRun): Promise<ReadRun> {
    try {
      const state = runState(run.path);
      const course = this.#courses.of(join(run.path, 'metrics.jsonl'));
      const described = await this.#describe(run.path, state, course);
      const summary = summarize(run, state, course, described.description);
      return { summary, described, curves: course.curves, position: course.position };
    } catch (error) {
      // One damaged run must not hide the others of a list.
      const problem = error instanceof Error ? error.message : String(error);
      const curves = { epochs: [], evaluations: [] };
      return { summary: damaged(run, problem), described: null, curves, position: 0 };
    }
  }

  async #describe(directory: string, state: RunState, course: RunCourse): Promise<Described> {
    const files = state === 'finished' ? marks(directory) : '';
    const known = this.#described.get(directory);
    if (files !== '' && known?.files === files) return known.value;
    checkRunFiles(directory);
    const description = await describeWhileTraining(directory, state, course);
    const value = { description, settings: Object.fromEntries(readRunSettings(directory)) };
    this.#described.delete(directory);
    if (files !== '') this.#described.set(directory, { files, value });
    const [oldest] = this.#described.keys();
    if (this.#described.size > mostDescribed && oldest !== undefined) this.#described.delete(oldest);
    return value;
  }
}

/** Finished runs whose description is kept. */
const mostDescribed = 1000;

/** Describes a run, and tries again if a checkpoint has just been replaced by another. */
async function describeWhileTraining(
  directory: string,
  state: RunState,
  course: RunCourse,
): Promise<RunDescription> {
  if (state !== 'training') return describeRun(directory, course.records);
  return describeRun(directory, course.records).catch(async () => {
    await setTimeout(100);
    return describeRun(directory, course.records);
  });
}

/** Returns a text that changes when a file of a finished run does. */
function marks(directory: string): string {
  return ['full_config.yaml', 'metrics.jsonl', 'done.json']
    .map((name) => {
      const found = statSync(join(directory, name), { throwIfNoEntry: false });
      return found === undefined ? '-' : `${found.ino} ${found.size} ${found.mtimeMs}`;
    })
    .join(' ');
}

function summarize(
  run: CatalogRun,
  state: RunState,
  { curves, started }: RunCourse,
  described: RunDescription,
): RunSummary {
  const { best, task, model, dataset, plannedEpochs, metrics, baselines } = described;
  const metric = best?.metric ?? firstMetric(curves);
  const validation = curves.evaluations.filter(({ set }) => set === 'validation');
  const epochs = Math.max(described.epochs, curves.epochs.at(-1)?.epoch ?? 0);
  return {
    ...{ ...run, state, task, model, dataset, plannedEpochs: Math.max(epochs, plannedEpochs), epochs },
    started,
    seconds: curves.epochs.reduce((sum, { seconds }) => sum + (seconds || 0), 0),
    ...{ metric, best, metrics, baselines, problem: null },
    course: {
      loss: thin(curves.epochs.map(({ loss }) => loss)),
      validation: metric === null ? [] : thin(validation.map((one) => one.metrics[metric] ?? Number.NaN)),
    },
  };
}

function damaged(run: CatalogRun, problem: string): RunSummary {
  return {
    ...{ ...run, state: 'stopped', task: '', model: '', dataset: '', epochs: 0, plannedEpochs: 0 },
    ...{ started: null, seconds: 0, metric: null, best: null, metrics: {}, baselines: [], problem },
    course: { loss: [], validation: [] },
  };
}

/** Returns whether a process works in the directory of a run. */
export function runState(directory: string): RunState {
  if (existsSync(join(directory, 'done.json'))) return 'finished';
  const lock = join(directory, 'run.lock');
  checkRunFile(lock);
  return lockOwner(lock) === null ? 'stopped' : 'training';
}

const firstMetric = ({ evaluations }: RunCurves): string | null =>
  Object.keys(evaluations[0]?.metrics ?? {})[0] ?? null;

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

export interface RunLog {
  readonly text: string;
  readonly isWhole: boolean;
  /** Why the log cannot be shown; null for a sound one, or none. */
  readonly problem: string | null;
}

/** Returns the end of log.txt; empty without one. */
export function readLog(directory: string): RunLog {
  try {
    return withRunFile(join(directory, 'log.txt'), readEnd) ?? { text: '', isWhole: true, problem: null };
  } catch (error) {
    return { text: '', isWhole: true, problem: error instanceof Error ? error.message : String(error) };
  }
}

function readEnd(file: number, { size }: Stats): RunLog {
  const bytes = Buffer.alloc(Math.min(size, mostLog));
  const count = readSync(file, bytes, 0, bytes.length, size - bytes.length);
  const text = bytes.toString('utf8', 0, count);
  const isWhole = size <= mostLog;
  return { text: isWhole ? text : text.slice(text.indexOf('\n') + 1), isWhole, problem: null };
}
