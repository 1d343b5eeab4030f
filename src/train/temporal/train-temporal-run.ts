/**
 * A temporal run from its configuration: epochs over the training events in order of time, each followed by the validation
 * events on the same timeline; then the test events, after the state of the best epoch. Memory is reset at the beginning of
 * an epoch and nowhere else.
 *
 * A run that was cut off goes on from its last checkpoint and ends with the numbers that it would have ended with.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { WorkerGroup } from '../../dist/index.js';
import type { TemporalPart } from '../../temporal/index.js';
import { StateError } from '../../util/errors.js';
import type { Metrics } from '../loop/evaluator.js';
import { StageTimings } from '../loop/timings.js';
import {
  agreedWish,
  Interrupt,
  metricCell,
  Output,
  openWorkers,
  outputOf,
  ProgressReporter,
  peakRssMb,
  RunDirectory,
  resumeCommand,
  showsProgress,
  TraceWriter,
  type Wish,
  withResumeAdvice,
  withWorkers,
} from '../run/index.js';
import { assembleTemporal, type TemporalAssembly } from './assemble.js';
import { assembleWorkers, checkChunks } from './assemble-workers.js';
import { batchesOf, checkTemporalRecord, modelShape } from './check-record.js';
import { judgePart } from './judge-part.js';
import { type OpenedStream, openStream } from './open-stream.js';
import { ranksMatter, renderTemporalConfig, type TemporalRunConfig } from './run-config.js';
import { checkLabels, type RunLabels, trainRunLabels } from './run-labels.js';
import { streamWarnings } from './stream-warnings.js';
import {
  latestTemporal,
  TemporalCheckpoints,
  type TemporalRecord,
  temporalModelFile,
} from './temporal-checkpoint.js';

export interface TemporalRunOptions {
  readonly config: TemporalRunConfig;
  /** The text of the configuration file, kept with the run. */
  readonly source?: string;
  readonly output?: Output;
  /** Write a trace of the stages. */
  readonly profile?: boolean;
  /** The workers; all call this. Default: those that a launcher started. */
  readonly group?: WorkerGroup;
}

export interface TemporalRunResult {
  readonly directory: string;
  readonly interrupted: boolean;
  readonly epochs: number;
  readonly validation: Metrics;
  readonly test: Metrics;
  readonly eventsPerSecond: number;
}

export async function trainTemporalRun(options: TemporalRunOptions): Promise<TemporalRunResult> {
  const config = withWorkers(options.config);
  const { source, group = openWorkers(config.distributed) } = options;
  const output = outputOf(group, options.output ?? new Output());
  if (config.distributed !== null) await group.everywhere(() => checkChunks(config, group.size));
  const stream = await openTogether(config, group);
  for (const warning of streamWarnings(config, stream)) output.warn(warning);
  using run = await RunDirectory.openAt({
    directory: config.storage.model_dir,
    level: config.storage.log_level,
    parent: 'runs',
    resume: config.training.resume_training,
    resolved: (path) => renderTemporalConfig(anywhere(config, path)),
    group,
    ...(source === undefined ? {} : { source }),
  });
  const { graph, rows } = stream;
  output.event('config', {
    directory: run.path,
    dataset: { name: stream.data.name, num_nodes: graph.numNodes, num_events: graph.numEvents },
    events: { train: rows.train.length, validation: rows.validation.length, test: rows.test.length },
  });
  const parts = await group.everywhere(() =>
    config.distributed === null ? assembleTemporal(config, stream) : assembleWorkers(config, stream, group),
  );
  const profile = options.profile === true && group.isRoot;
  const session = new TemporalSession({ config, output, run, stream, parts, group, profile });
  try {
    return await session.train();
  } catch (error) {
    run.logFailure(error);
    throw await withResumeAdvice(error, run.path, latestTemporal);
  } finally {
    session.close();
  }
}

/** The stream, read by every worker; the first before the others, for it may have to be prepared. */
async function openTogether(config: TemporalRunConfig, group: WorkerGroup): Promise<OpenedStream> {
  const open = async (): Promise<OpenedStream> => {
    const stream = await openStream(config);
    checkLabels(config, stream);
    return stream;
  };
  let first: OpenedStream | null = null;
  await group.onRoot(async () => {
    first = await open();
  });
  return group.everywhere(() => first ?? open());
}

/** The configuration as it can be read from any working directory. */
function anywhere({ dataset, storage, ...rest }: TemporalRunConfig, directory: string): TemporalRunConfig {
  const path = dataset.path === '' ? '' : resolve(dataset.path);
  return { ...rest, dataset: { ...dataset, path }, storage: { ...storage, model_dir: directory } };
}

interface SessionParts {
  readonly config: TemporalRunConfig;
  readonly output: Output;
  readonly run: RunDirectory;
  readonly stream: OpenedStream;
  readonly parts: TemporalAssembly;
  readonly group: WorkerGroup;
  readonly profile: boolean;
}

class TemporalSession {
  readonly #group: WorkerGroup;
  readonly #config: TemporalRunConfig;
  readonly #output: Output;
  readonly #run: RunDirectory;
  readonly #stream: OpenedStream;
  readonly #parts: TemporalAssembly;
  readonly #checkpoints: TemporalCheckpoints;
  readonly #trace: TraceWriter | null;
  readonly #timings: StageTimings;
  readonly #interrupt: Interrupt;
  readonly #progress: ProgressReporter;
  #epoch = 0;
  #step = 0;
  #best: TemporalRecord['best'] = null;
  #stale = 0;
  /** Of the epoch under way. */
  #events = 0;
  #loss = 0;
  #validation: Metrics = {};
  #trained = 0;
  #seconds = 0;
  #lastSave = performance.now();

  constructor({ config, output, run, stream, parts, group, profile }: SessionParts) {
    this.#group = group;
    this.#config = config;
    this.#output = output;
    this.#run = run;
    this.#stream = stream;
    this.#parts = parts;
    this.#checkpoints = new TemporalCheckpoints(run.path, parts, group);
    this.#trace = profile ? new TraceWriter(run.file('trace.json')) : null;
    const trace = this.#trace;
    this.#timings = new StageTimings(trace === null ? null : (span) => trace.add(span));
    this.#interrupt = new Interrupt({
      onRequest: () =>
        output.note('Stopping after this batch and saving a checkpoint. Press Ctrl+C again to stop at once.'),
    });
    this.#progress = new ProgressReporter({
      itemName: 'events',
      logsPerEpoch: showsProgress(output) && group.isRoot ? config.training.logs_per_epoch : 0,
      endLine: false,
      status: output.status,
      onLine: (line) => run.log('info', line),
    });
  }

  close(): void {
    this.#interrupt[Symbol.dispose]();
    this.#progress.stop();
    this.#trace?.close();
  }

  async train(): Promise<TemporalRunResult> {
    const { training, evaluation, model } = this.#config;
    if (this.#run.resumed) {
      await this.#resume();
      await this.#run.writeConfig();
    }
    const epochs = model.train.epoch;
    this.#progress.epochs = epochs;
    while (this.#epoch < epochs && !this.#isStale) {
      if (!(await this.#trainEpoch())) return this.#interrupted();
      this.#parts.mailbox?.drain();
      const last = this.#epoch >= epochs;
      if (this.#epoch % evaluation.epochs_per_eval === 0 || last) await this.#validate();
      if (this.#isStale) this.#output.note(`No better ap in ${this.#stale} evaluations: training ends.`);
      if (training.checkpoint.minutes > 0 || training.checkpoint.interval_batches > 0)
        await this.#save(['last']);
    }
    return this.#finish();
  }

  get #isStale(): boolean {
    const { patience } = this.#config.training;
    return patience !== -1 && this.#stale >= patience;
  }

  async #resume(): Promise<void> {
    const latest = await this.#group.onRoot(async () => {
      const found = await latestTemporal(this.#run.path);
      if (found !== null) checkTemporalRecord(this.#run.path, found.record, this.#config, this.#stream);
      return found;
    });
    if (latest === null) {
      // Cut off before its first checkpoint: it begins anew, and so do its metrics.
      await this.#run.keepMetrics(() => false);
      return;
    }
    const { position, best, judged, stale, events, loss, validation } = await this.#checkpoints.restore(
      latest.name,
    );
    this.#epoch = position.epoch;
    this.#step = position.step;
    this.#best = best;
    this.#stale = stale;
    if (best !== null) this.#checkBest(judged);
    this.#events = events;
    this.#loss = loss;
    this.#validation = validation;
    // The test comes again at the end.
    await this.#run.keepMetrics(
      ({ epoch, set }) => set !== 'test' && (typeof epoch !== 'number' || epoch <= position.epoch),
    );
    const where =
      position.step === 0
        ? `after epoch ${position.epoch}`
        : `in epoch ${position.epoch + 1}, after batch ${position.step}`;
    this.#output.note(`Resuming ${where}.`);
    this.#run.log('info', `resuming ${where}`);
  }

  /** Forgets the best epoch where it cannot be compared with any more, or is gone. */
  #checkBest(judged: string): void {
    const gone = this.#config.training.checkpoint.save_best && !this.#has('best', temporalModelFile);
    if (judged === judgedBy(this.#config) && !gone) return;
    this.#best = null;
    this.#stale = 0;
    this.#output.note(
      gone
        ? 'The model of the best epoch is gone; the best of the epochs to come is kept.'
        : 'Evaluation has other negatives now; the best epoch is sought anew.',
    );
  }

  /** Whether the run has a file: what the first worker sees. */
  #has(...path: readonly string[]): boolean {
    return this.#group.agree(existsSync(this.#run.file(...path)));
  }

  /** False when a signal ended it. */
  async #trainEpoch(): Promise<boolean> {
    const { runtime, mailbox, loaders } = this.#parts;
    const loader = loaders.train;
    if (this.#step === 0) {
      mailbox?.reset();
      this.#events = this.#loss = 0;
    }
    this.#progress.start(this.#epoch + 1, loader.numEvents, this.#events);
    const started = performance.now();
    const before = this.#events;
    const batches = loader.epoch(this.#epoch, this.#step)[Symbol.asyncIterator]();
    for (;;) {
      const { value: batch, done } = await this.#timings.timeAsync('load', () => batches.next());
      if (done === true) break;
      const { loss } = this.#timings.time('compute', () => runtime.train(batch));
      if (!Number.isFinite(loss))
        throw new StateError(
          `train: expected a finite loss, got ${loss} in epoch ${this.#epoch + 1}, batch ${this.#step + 1}. Lower train.lr or set training.max_grad_norm.`,
        );
      this.#step++;
      this.#events += batch.eventRows.length;
      this.#loss += loss * batch.eventRows.length;
      this.#progress.addResult(batch.eventRows.length, loss * batch.eventRows.length);
      const wish = agreedWish(this.#group, this.#wish());
      if (wish === 'stop') {
        await batches.return?.(undefined);
        return false;
      }
      if (wish === 'save') await this.#save(['last']);
      if (this.#step % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    this.#progress.stop();
    this.#epochDone((performance.now() - started) / 1000, this.#events - before);
    return true;
  }

  /** What this worker wants after a batch; the clocks of workers differ, so they agree on it. */
  #wish(): Wish {
    if (this.#interrupt.requested) return 'stop';
    const { minutes, interval_batches: interval } = this.#config.training.checkpoint;
    const passed = (performance.now() - this.#lastSave) / 60_000;
    const due = interval > 0 && this.#step % interval === 0;
    return due || (minutes > 0 && passed >= minutes) ? 'save' : 'go';
  }

  #epochDone(seconds: number, events: number): void {
    this.#epoch++;
    const batches = this.#step;
    this.#step = 0;
    this.#trained += events;
    this.#seconds += seconds;
    const record = {
      epoch: this.#epoch,
      loss: this.#loss / Math.max(this.#events, 1),
      items: this.#events,
      batches,
      seconds,
      events_per_second: events / Math.max(seconds, 1e-9),
      stages: this.#timings.take(),
    };
    this.#run.record({ event: 'epoch', ...record });
    this.#output.event('epoch', record);
    this.#say(
      `epoch ${this.#epoch}  loss ${record.loss.toFixed(4)}  ${seconds.toFixed(2)} s  ${Math.round(record.events_per_second).toLocaleString('en')} events/s`,
    );
  }

  async #validate(): Promise<void> {
    if (this.#stream.rows.validation.length === 0) return;
    this.#validation = await this.#judge('validation');
    const { checkpoint } = this.#config.training;
    const value = this.#validation['ap'] ?? this.#validation['mrr'];
    const better = this.#best === null || value > this.#best.value;
    this.#stale = better ? 0 : this.#stale + 1;
    if (!better) return;
    this.#best = { epoch: this.#epoch, value };
    if (checkpoint.save_best) await this.#save(['best'], 'validated');
  }

  /** Goes through a part on the timeline as it stands, and reports. */
  async #judge(part: TemporalPart): Promise<Metrics> {
    const started = performance.now();
    const stage = this.#output.stage(`evaluating on the ${part} events`, { plain: false });
    const metrics = await this.#timings.timeAsync('evaluate', () =>
      judgePart(this.#parts, part, this.#stream.split.isNew, stage.update),
    );
    stage.end();
    const seconds = (performance.now() - started) / 1000;
    this.#run.record({ event: 'eval', set: part, epoch: this.#epoch, ...metrics, seconds });
    this.#output.event('eval', { set: part, epoch: this.#epoch, ...metrics, seconds });
    const headline = [
      'ap',
      'auc',
      ...(ranksMatter(this.#config) ? ['mrr'] : []),
      'new_node_ap',
      'new_node_auc',
    ];
    const shown = headline.filter((name) => name in metrics);
    this.#say(`${part.padEnd(10)}  ${shown.map((name) => `${name} ${metrics[name].toFixed(4)}`).join('  ')}`);
    return metrics;
  }

  #say(line: string): void {
    this.#output.text(line);
    this.#run.log('info', line);
  }

  async #save(names: readonly string[], stage: TemporalRecord['stage'] = 'training'): Promise<void> {
    await this.#checkpoints.save(names, {
      stage,
      position: { epoch: this.#epoch, step: this.#step },
      best: this.#best,
      judged: judgedBy(this.#config),
      stale: this.#stale,
      events: this.#events,
      loss: this.#loss,
      validation: this.#validation,
      stream: this.#stream.fingerprint,
      modelShape: modelShape(this.#config),
      batches: batchesOf(this.#config),
    });
    this.#lastSave = performance.now();
    this.#output.event('checkpoint', { names, epoch: this.#epoch, step: this.#step });
  }

  async #interrupted(): Promise<TemporalRunResult> {
    this.#progress.stop();
    await this.#save(['last']);
    return this.#stopped(`in epoch ${this.#epoch + 1}`, {});
  }

  #stopped(where: string, test: Metrics): TemporalRunResult {
    const directory = this.#run.path;
    this.#output.text(`Stopped ${where}. Resume with: ${resumeCommand(directory, this.#group.size)}`);
    this.#output.event('done', { interrupted: true, directory, epochs: this.#epoch });
    return this.#result(true, test);
  }

  async #finish(): Promise<TemporalRunResult> {
    const best = this.#config.training.checkpoint.save_best ? this.#best : null;
    // More epochs, later, must go on from here: not from the best one, and not from where a run was once cut off.
    if ((best !== null && best.epoch !== this.#epoch) || this.#has('last')) await this.#save(['last']);
    if (best !== null) {
      await this.#checkpoints.restore('best');
      this.#say(`test with the model of epoch ${best.epoch}`);
    }
    const test = this.#stream.rows.test.length === 0 ? {} : await this.#judge('test');
    // After the test events, so that scoring can go on where the stream ends.
    await this.#save([''], 'finished');
    const labels = await this.#labels();
    if (labels === 'stopped')
      return this.#stopped('while labels were learned; links are trained and saved', test);
    const outcome = {
      directory: this.#run.path,
      epochs: this.#epoch,
      ...(this.#best === null ? {} : { best: this.#best }),
      validation: this.#validation,
      test,
      ...named('test.', test),
      ...(labels === null ? {} : { labels, ...named('test.label_', labels.test) }),
      events_per_second: this.#trained / Math.max(this.#seconds, 1e-9),
      seconds: this.#seconds,
      peak_rss_mb: peakRssMb(),
    };
    await this.#run.finish(outcome);
    this.#output.text(`Done in ${this.#output.elapsed()}. Saved in ${this.#run.path}`);
    this.#output.event('done', outcome);
    return this.#result(false, test);
  }

  async #labels(): Promise<RunLabels | 'stopped' | null> {
    if (this.#config.labels.epochs === 0) return null;
    const stop = (): boolean => this.#group.any(this.#interrupt.requested);
    const directory = this.#group.isRoot ? this.#run.path : null;
    const labels = await trainRunLabels(this.#config, this.#stream, this.#parts, directory, stop);
    if (labels === null) return 'stopped';
    for (const part of ['validation', 'test'] as const) {
      this.#run.record({ event: 'eval', set: `${part} labels`, epoch: labels.epoch, ...labels[part] });
      this.#output.event('eval', { set: `${part} labels`, epoch: labels.epoch, ...labels[part] });
      const cells = Object.entries(labels[part]).map(([name, value]) => metricCell(name, value));
      this.#say(`${part} labels  ${cells.join('  ')}`);
    }
    return labels;
  }

  #result(interrupted: boolean, test: Metrics): TemporalRunResult {
    return {
      directory: this.#run.path,
      interrupted,
      epochs: this.#epoch,
      validation: this.#validation,
      test,
      eventsPerSecond: this.#trained / Math.max(this.#seconds, 1e-9),
    };
  }
}

function named(prefix: string, metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** Under which negatives an epoch is the best. */
function judgedBy({ evaluation: { negatives, amount } }: TemporalRunConfig): string {
  return JSON.stringify({ negatives, amount });
}
