/**
 * Prints the results of a run and records them: lines on the terminal and in log.txt, records in metrics.jsonl, events
 * for programs.
 */
import { sparkline } from '../../plot/index.js';
import { type FitEpoch, type FitResult, isLower } from '../fit.js';
import type { Baseline, HeldOut, Metrics, Task } from '../task.js';
import type { Output } from './output.js';
import type { RunDirectory } from './run-directory.js';
import type { RunPlan } from './run-plan.js';
import type { StageTimings } from './timings.js';
import { baselineNote, trainingAdvice } from './training-advice.js';

/** Least time between the lines of epochs without a terminal: quick epochs would only fill the output. */
const epochLineEveryMs = 1000;

/** The memory of a worker's process at the end of an epoch, and its seconds by stage. */
export interface WorkerEpoch {
  readonly memory: number;
  readonly stages: ReturnType<StageTimings['take']>;
}

export class RunReport {
  readonly #plan: RunPlan;
  readonly #run: RunDirectory;
  readonly #output: Output;
  /** Mean loss of each epoch of this process. */
  readonly #losses: number[] = [];
  #stepsPerEpoch = 0;
  #items = 0;
  #seconds = 0;
  /** The line of the last epoch, if it has not been printed. */
  #held: string | null = null;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(plan: RunPlan, run: RunDirectory, output: Output) {
    this.#plan = plan;
    this.#run = run;
    this.#output = output;
  }

  /** Seconds of the epochs of this process. */
  get seconds(): number {
    return this.#seconds;
  }

  get itemsPerSecond(): number {
    return this.#items / Math.max(this.#seconds, 1e-9);
  }

  /** Returns the metric that decides. */
  metricOf(task: Task): string {
    return [this.#plan.fit.metric ?? task.headline].flat()[0];
  }

  /** Prints a line and writes it to log.txt. */
  say(line: string): void {
    this.flush();
    this.#output.text(line);
    this.#run.log('info', line);
  }

  /** Prints the line of the last epoch if it was held back. */
  flush(): void {
    if (this.#held !== null) this.#output.text(this.#held);
    this.#held = null;
  }

  /**
   * Logs the line of an epoch. A terminal shows it at once; elsewhere it is held back for a second, in which later ones
   * replace it, unless another line follows.
   */
  #sayEpoch(line: string): void {
    const now = performance.now();
    this.#run.log('info', line);
    this.#held = line;
    if (!this.#output.isTerminal && now - this.#shownAt < epochLineEveryMs) return;
    this.#shownAt = now;
    this.flush();
  }

  /** Reports an epoch. @param unit the name of the items. @param workers by rank. */
  epoch(done: FitEpoch, unit: string, workers: readonly WorkerEpoch[]): void {
    const { epoch, items, loss: sum, batches, seconds, trained } = done;
    this.#losses.push(items === 0 ? 0 : sum / items);
    this.#stepsPerEpoch = batches;
    this.#items += trained;
    this.#seconds += seconds;
    const perSecond = trained / Math.max(seconds, 1e-9);
    const record = {
      epoch,
      loss: items === 0 ? 0 : sum / items,
      items,
      batches,
      seconds,
      items_per_second: perSecond,
      ...workers[0],
      ...(workers.length === 1 ? {} : { workers }),
    };
    this.#run.record({ event: 'epoch', ...record });
    this.#output.event('epoch', record);
    this.#sayEpoch(
      `epoch ${epoch}  loss ${record.loss.toFixed(4)}  ${seconds.toFixed(2)} s  ${Math.round(perSecond).toLocaleString('en')} ${unit}/s`,
    );
  }

  evaluation(set: HeldOut, epoch: number, metrics: Metrics, seconds: number, more: object = {}): void {
    this.#run.record({ event: 'eval', set, epoch, ...more, ...metrics, seconds });
    this.#output.event('eval', { set, epoch, ...more, ...metrics, seconds });
    this.say(`${set.padEnd(10)}  ${this.#cells(metrics)}`);
  }

  /** Reports baselines next to the metrics of the model. @param unit the name of the items. */
  baselines(set: HeldOut, found: readonly Baseline[], unit: Task['items']): void {
    for (const { name, metrics, ...rest } of found) {
      const fields = { set, baseline: name, ...metrics, ...rest };
      this.#run.record({ event: 'baseline', ...fields });
      this.#output.event('baseline', fields);
      const note = baselineNote({ name, ...rest }, unit);
      this.say(`${'baseline'.padEnd(10)}  ${this.#cells(metrics)}  ${note}`);
    }
  }

  /** Shows the course of the loss on a terminal. */
  course(): void {
    if (!this.#output.isTerminal || this.#losses.length < 3) return;
    const [first, last] = [this.#losses[0], this.#losses[this.#losses.length - 1]];
    this.flush();
    this.#output.text(`loss        ${first.toFixed(4)} ${sparkline(this.#losses)} ${last.toFixed(4)}`);
  }

  /** Prints what might improve the result. */
  advice(task: Task, result: FitResult, test: Metrics, baselines: readonly Baseline[]): void {
    const metric = this.metricOf(task);
    const lines = trainingAdvice({
      ...{ result, metric, test, baselines, losses: this.#losses, stepsPerEpoch: this.#stepsPerEpoch },
      headline: task.headline,
      lowerIsBetter: isLower(metric, [
        ...(this.#plan.fit.lowerIsBetter ?? []),
        ...(task.lowerIsBetter ?? []),
      ]),
    });
    for (const line of lines) {
      this.#output.note(line);
      this.#run.log('info', line);
    }
  }

  #cells(metrics: Metrics): string {
    const shown = this.#plan.shown?.(metrics) ?? Object.keys(metrics);
    return shown
      .filter((name) => name in metrics)
      .map((name) => `${name} ${metrics[name].toFixed(4)}`)
      .join('  ');
  }
}
