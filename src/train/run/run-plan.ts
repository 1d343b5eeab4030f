/** The plan of a run, which its kind of task provides, and the result. */
import type { FitOptions } from '../fit.js';
import type { Baseline, Metrics, Task } from '../task.js';
import type { Output } from './output.js';
import type { RunDirectory, RunSettings } from './run-directory.js';
import type { RunRecord, TaskKind } from './run-record.js';
import type { StageTimings } from './timings.js';

export interface RunPlan {
  readonly task: TaskKind;
  readonly seed: number;
  /** The configuration key of the seed. */
  readonly seedKey: string;
  /** Number of epochs in the configuration. */
  readonly epochs: number;
  /** Properties shared by the checkpoints of this run; see `RunRecord`. */
  readonly identity: RunRecord['identity'];
  readonly evaluatedBy: string;
  readonly fit: Pick<
    FitOptions,
    | 'evaluateEvery'
    | 'lowerIsBetter'
    | 'metric'
    | 'patience'
    | 'minDelta'
    | 'minEpochs'
    | 'minValue'
    | 'schedule'
    | 'plateau'
  >;
  /** Whether to keep the state of the best epoch. */
  readonly keepBest: boolean;
  /** Whether to test and save the best state in place of the last one; default: keepBest. */
  readonly restoreBest?: boolean;
  /** The time limit; absent without one, or where the number of epochs was given. */
  readonly timeLimit?: PlannedLimit;
  /** Whether to save the final model. */
  readonly saveModel: boolean;
  /** When to save within an epoch; 0: never. */
  readonly save: { readonly batches: number; readonly minutes: number };
  readonly logsPerEpoch: number;
  /** Returns the names to save under after an epoch. */
  epochCheckpoints(epoch: number, isLast: boolean): readonly string[];
  /** Throws for a checkpoint of another run, dataset or model. */
  check(folder: string, record: RunRecord): void;
  /** Copies a checkpoint of another run into this one, to start from. Called on the root alone. */
  adopt?(): Promise<RunRecord | null>;
  /** Opens the task, with the tables of the record. Collective. */
  open(record: RunRecord | null, timings: StageTimings): Promise<Task>;
  /** Returns the metrics to print. Default: all. */
  shown?(metrics: Metrics): readonly string[];
  /** Work after the test. Returns null if it was interrupted. */
  finish?(context: FinishContext): Promise<Readonly<Record<string, unknown>> | null>;
}

/** Returns whether the best state is tested and saved in place of the last one. */
export function restoresBest({ restoreBest, keepBest }: RunPlan): boolean {
  return restoreBest ?? keepBest;
}

/** The time limit of a run. */
export interface PlannedLimit {
  readonly seconds: number;
  /** Whether `epochs` of the plan follow from the limit already. */
  readonly isPlanned: boolean;
  /** Returns the resolved configuration with a number of epochs. */
  resolved(path: string, epochs: number): string;
}

export interface FinishContext {
  readonly task: Task;
  readonly run: RunDirectory;
  readonly output: Output;
  /** Returns whether a stop was requested on any worker. Collective. */
  stop(): boolean;
  /** Prints a line and writes it to log.txt. */
  say(line: string): void;
}

export interface RunResult {
  readonly directory: string;
  /** Whether a signal ended it early. */
  readonly interrupted: boolean;
  readonly epochs: number;
  readonly validation: Metrics;
  readonly test: Metrics;
  /** Results without learning on the test split, or on the validation split where there is no test split. */
  readonly baselines: readonly Baseline[];
  readonly itemsPerSecond: number;
}

/** A run whose configuration has been checked and of which nothing has been written yet. */
export interface PreparedRun {
  /** Settings of its directory. */
  readonly settings: Omit<RunSettings, 'source' | 'group'>;
  /** Details reported at the start. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Collective. */
  plan(run: RunDirectory): Promise<RunPlan>;
  close(): void;
}

export function isEmpty(metrics: Metrics): boolean {
  return Object.keys(metrics).length === 0;
}
