/**
 * One run once its dataset and its directory are there: where it goes on from, epochs with evaluation, checkpoints, the
 * final result. With several workers every one of them has a session, and all do the same.
 */
import { existsSync } from 'node:fs';
import type { PreparedDataset } from '../../data/index.js';
import type { WorkerGroup } from '../../dist/index.js';
import { manualSeed } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { DeviceFeatures } from '../batch/device-features.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import type { RunTable } from '../batch/node-table.js';
import { type DistributedConfig, learningRateFactor, type SkeinConfig } from '../config/index.js';
import type { Model } from '../model/model.js';
import {
  agreedWish,
  Interrupt,
  type Output,
  ProgressReporter,
  peakRssMb,
  type RunDirectory,
  resumeCommand,
  showsProgress,
  TraceWriter,
} from '../run/index.js';
import { cutDataset } from '../sharded/cut-dataset.js';
import { isSharded, openShards } from '../sharded/open-shards.js';
import { planStep } from '../sharded/plan-run.js';
import { RootTable } from '../sharded/root-table.js';
import type { ShardedBatcher } from '../sharded/sharded-batcher.js';
import {
  adoptCheckpoint,
  type BestResult,
  type CheckpointRecord,
  Checkpoints,
  type EpochProgress,
  latestCheckpoint,
  tableFolder,
} from './checkpoint.js';
import { comparesEmbeddings, encodeAllNodes, saveEncodedNodes } from './encoded-nodes.js';
import { type Evaluator, type Metrics, PipelineEvaluator, SynchronousEvaluator } from './evaluator.js';
import { initializeBatcher, initializeModel } from './initialize-model.js';
import { initializeSharedStorage } from './initialize-storage.js';
import { nodeTable } from './initialize-table.js';
import { checkIdentity, type RunIdentity, runIdentity } from './run-identity.js';
import { StageTimings } from './timings.js';
import type { TrainRunOptions, TrainRunResult } from './train-run.js';
import {
  PipelineTrainer,
  SynchronousTrainer,
  type Trainer,
  type TrainerOptions,
  type TrainProgress,
} from './trainer.js';
import { openDeviceFeatures, type TrainingDevice } from './training-device.js';

const noProgress: EpochProgress = { batches: 0, items: 0, loss: 0 };

export interface SessionOptions extends TrainRunOptions {
  readonly output: Output;
  readonly group: WorkerGroup;
  /** What computes; null: the cpu. */
  readonly device?: TrainingDevice | null;
}

export class TrainingSession {
  readonly #group: WorkerGroup;
  readonly #config: SkeinConfig;
  readonly #output: Output;
  readonly #run: RunDirectory;
  readonly #dataset: PreparedDataset;
  readonly #trace: TraceWriter | null;
  readonly #timings: StageTimings;
  readonly #interrupt: Interrupt;
  readonly #progress: ProgressReporter;
  readonly #device: TrainingDevice | null;
  /** Where the run began: 0, or the epoch of the checkpoint that it started from. */
  #firstEpoch = 0;
  #best: BestResult | null = null;
  #stale = 0;
  #validation: Metrics = {};
  /** Of the last epoch, an edge or node. */
  #loss = 0;
  #items = 0;
  #seconds = 0;
  #lastSave = performance.now();
  #progressOfEpoch: EpochProgress = noProgress;
  #table: RunTable | null = null;
  /** Taken when training starts: what the dataset becomes meanwhile is not what was trained on. */
  #identity: RunIdentity | null = null;
  #features: DeviceFeatures | null = null;

  constructor(
    { config, output, profile, group, device = null }: SessionOptions,
    run: RunDirectory,
    dataset: PreparedDataset,
  ) {
    this.#group = group;
    this.#config = config;
    this.#dataset = dataset;
    this.#output = output;
    this.#device = device;
    this.#run = run;
    this.#trace = profile === true && group.isRoot ? new TraceWriter(run.file('trace.json')) : null;
    const trace = this.#trace;
    this.#timings = new StageTimings(trace === null ? null : (span) => trace.add(span));
    this.#interrupt = new Interrupt({
      onRequest: () =>
        output.note('Stopping after this batch and saving a checkpoint. Press Ctrl+C again to stop at once.'),
    });
    this.#progress = new ProgressReporter({
      itemName: config.model.learning_task === 'LINK_PREDICTION' ? 'edges' : 'nodes',
      logsPerEpoch: showsProgress(output) && group.isRoot ? config.training.logs_per_epoch : 0,
      endLine: false,
      status: output.status,
      onLine: (line) => run.log('info', line),
    });
  }

  async close(): Promise<void> {
    this.#interrupt[Symbol.dispose]();
    this.#progress.stop();
    this.#trace?.close();
    this.#features?.release();
    await this.#table?.unload(false);
  }

  async start(): Promise<TrainRunResult> {
    const config = this.#config;
    const group = this.#group;
    const dataset = this.#dataset;
    const { resumeFrom, identity } = await group.onRoot(async () => {
      const own = await runIdentity(config, dataset);
      const found = await this.#resumePoint();
      if (found !== null) checkIdentity(this.#run.path, found.record.identity, own, dataset);
      return { resumeFrom: found, identity: own };
    });
    this.#identity = identity;
    const sharded = isSharded(config);
    const places = {
      tableDirectory: tableFolder(this.#run.path),
      manifest: resumeFrom?.record.table ?? null,
    };
    this.#table = sharded ? await RootTable.open(group, () => nodeTable(config, dataset, places)) : null;
    const device = this.#device?.device ?? null;
    const stored = sharded
      ? null
      : await initializeSharedStorage(config, dataset, { ...places, group, device });
    this.#table ??= stored?.table ?? null;
    manualSeed(config.model.random_seed);
    const makeModel = (): Model =>
      initializeModel(config, {
        numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
        numClasses: Math.max(0, dataset.stats.num_classes),
      });
    const model = await group.everywhere(makeModel);
    if (group.size > 1 || sharded) model.workers = group;
    const batcher =
      stored === null ? await this.#shards(makeModel) : initializeBatcher(config, stored.storage, group);
    if (this.#device !== null && stored !== null) {
      this.#features = await openDeviceFeatures(config, this.#device, stored.storage);
      batcher.deviceFeatures = this.#features;
    }
    return this.#train(this.#table as RunTable, model, batcher, resumeFrom?.name ?? null);
  }

  /** Batches on the whole graph, which is cut where nobody has done it yet; says what a step will need. */
  async #shards(makeModel: () => Model): Promise<ShardedBatcher> {
    const group = this.#group;
    const distributed = this.#config.distributed as DistributedConfig;
    const path = await group.onRoot(
      () =>
        distributed.partition_dir ??
        cutDataset(this.#config, distributed, this.#dataset, this.#run.file('partitions')),
    );
    const { node_feature_dim: width, num_classes: classes } = this.#dataset.stats;
    const batcher = await openShards(this.#config, distributed, path, group, { width, classes });
    const planned = planStep(batcher.sets.train, group, makeModel) / 2 ** 20;
    const workers = group.size === 1 ? 'one worker' : `${group.size} workers`;
    const plan = `plan: ${planned.toFixed(1)} MB of tensors a worker at the worst moment (${distributed.mode}, ${workers})`;
    this.#output.event('plan', { mode: distributed.mode, workers: group.size, peak_tensor_mb: planned });
    this.#say(plan);
    return batcher;
  }

  /** The checkpoint to go on from; null for a new run. */
  async #resumePoint(): Promise<{ readonly name: string; readonly record: CheckpointRecord } | null> {
    const { resume_from_checkpoint: from } = this.#config.training;
    if (this.#run.resumed) {
      const latest = await latestCheckpoint(this.#run.path);
      if (latest === null && existsSync(tableFolder(this.#run.path))) {
        const { rm } = await import('node:fs/promises');
        // Cut off before its first checkpoint: what is there belongs to nothing.
        await rm(tableFolder(this.#run.path), { recursive: true });
      }
      return latest;
    }
    if (from === '') return null;
    return { name: 'last', record: await adoptCheckpoint(from, this.#run.path) };
  }

  async #train(
    table: RunTable,
    model: Model,
    batcher: GraphBatcher,
    resume: string | null,
  ): Promise<TrainRunResult> {
    const { training, evaluation } = this.#config;
    const checkpoints = new Checkpoints(this.#run.path, model, table, this.#group);
    if (resume !== null) await this.#restore(checkpoints, resume, batcher);
    // Cut off before its first checkpoint: it begins anew, and so do its metrics.
    else if (this.#run.resumed) await this.#run.keepMetrics(() => false);
    if (this.#run.resumed) await this.#run.writeConfig();
    if (this.#device !== null) {
      model.to(this.#device.device);
      const cached =
        this.#features === null ? '' : `, ${percent(this.#features.cachedRatio)} of the features cached`;
      this.#run.log('info', `computing on webgpu (${this.#device.adapter})${cached}`);
    }
    const epochs = this.#firstEpoch + training.num_epochs;
    this.#progress.epochs = epochs;
    const evaluator = this.#evaluator(batcher, model);
    const trainer = this.#trainer(batcher, model, checkpoints);
    trainer.continueFrom(this.#progressOfEpoch);
    if (batcher.position.epoch >= epochs)
      this.#output.note(`Nothing to train: ${batcher.position.epoch} of ${epochs} epochs are done.`);
    let stoppedEarly = this.#isStale;
    while (batcher.position.epoch < epochs && !stoppedEarly) {
      const { epoch } = batcher.position;
      const factor = learningRateFactor(training.learning_rate_schedule, epoch, epochs);
      model.encoderOptimizer?.scaleRates(factor);
      if (table.optimizer !== null)
        table.optimizer.learningRate = this.#config.model.sparse_optimizer.options.learning_rate * factor;
      batcher.setTrainSet();
      await trainer.train(1);
      if (trainer.stopped) return this.#interrupted(checkpoints, batcher);
      const done = batcher.position.epoch;
      const isLast = done >= epochs;
      if (done % evaluation.epochs_per_eval === 0 || isLast)
        stoppedEarly = await this.#evaluate(evaluator, checkpoints, batcher);
      if (training.checkpoint.interval > 0 && done % training.checkpoint.interval === 0 && !isLast)
        await this.#save(checkpoints, batcher, ['last', `checkpoint_${done}`]);
    }
    return this.#finish(checkpoints, batcher, evaluator);
  }

  async #restore(checkpoints: Checkpoints, name: string, batcher: GraphBatcher): Promise<void> {
    const record = await checkpoints.restore(name);
    batcher.seek(record.position);
    this.#progressOfEpoch = record.progress;
    const { epoch, step } = record.position;
    if (this.#run.resumed) {
      this.#best = record.best;
      this.#stale = record.stale;
      this.#firstEpoch = record.firstEpoch;
    } else {
      // A new run trains its own number of epochs and has its own best; should it be cut off, it must know that.
      this.#firstEpoch = epoch;
      await this.#save(checkpoints, batcher, [name]);
    }
    await this.#run.keepMetrics(({ epoch: at }) => typeof at !== 'number' || at <= epoch);
    const where = step === 0 ? `after epoch ${epoch}` : `in epoch ${epoch + 1}, after batch ${step}`;
    this.#output.note(`Resuming ${where}.`);
    this.#run.log('info', `resuming ${where}`);
  }

  #evaluator(batcher: GraphBatcher, model: Model): Evaluator {
    const { sync } = this.#config.evaluation.pipeline;
    return sync || this.#group.size > 1
      ? new SynchronousEvaluator(batcher, model)
      : new PipelineEvaluator(batcher, model);
  }

  #trainer(batcher: GraphBatcher, model: Model, checkpoints: Checkpoints): Trainer {
    const { checkpoint, pipeline } = this.#config.training;
    const options: TrainerOptions = {
      timings: this.#timings,
      progressReporter: this.#progress,
      onBatch: ({ batches, items, loss }) => {
        this.#progressOfEpoch = { batches, items, loss };
      },
      decide: () => {
        const due =
          checkpoint.interval_batches > 0 && batcher.position.step % checkpoint.interval_batches === 0;
        const minutes = (performance.now() - this.#lastSave) / 60_000;
        const save = due || (checkpoint.minutes > 0 && minutes >= checkpoint.minutes);
        return agreedWish(this.#group, this.#interrupt.requested ? 'stop' : save ? 'save' : 'go');
      },
      onSave: () => this.#save(checkpoints, batcher, ['last']),
      onEpoch: (progress) => this.#epochDone(progress),
    };
    if (!pipeline.sync && this.#group.size > 1)
      this.#output.warn('training.pipeline.sync: false has no effect with several workers.');
    return pipeline.sync || this.#group.size > 1
      ? new SynchronousTrainer(batcher, model, options)
      : new PipelineTrainer(batcher, model, { ...options, stalenessBound: pipeline.staleness_bound });
  }

  #epochDone({ epoch, items, loss, seconds, batches, perSecond }: TrainProgress): void {
    this.#progressOfEpoch = noProgress;
    this.#items += perSecond * seconds;
    this.#seconds += seconds;
    this.#loss = items === 0 ? 0 : loss / items;
    const record = {
      epoch: epoch + 1,
      loss: this.#loss,
      items,
      batches,
      seconds,
      items_per_second: perSecond,
      stages: this.#timings.take(),
    };
    this.#run.record({ event: 'epoch', ...record });
    this.#output.event('epoch', record);
    this.#say(
      `epoch ${epoch + 1}  loss ${record.loss.toFixed(4)}  ${seconds.toFixed(2)} s  ${Math.round(perSecond).toLocaleString('en')} ${this.#progress.itemName}/s`,
    );
  }

  /** A line for people and for log.txt. */
  #say(line: string): void {
    this.#output.text(line);
    this.#run.log('info', line);
  }

  /** Evaluates on the validation set; true when training should end. */
  async #evaluate(evaluator: Evaluator, checkpoints: Checkpoints, batcher: GraphBatcher): Promise<boolean> {
    const { training } = this.#config;
    const started = performance.now();
    const metrics = await this.#measure(evaluator, 'validation');
    if (Object.keys(metrics).length === 0) return false;
    this.#validation = metrics;
    const { epoch } = batcher.position;
    this.#report('validation', epoch, metrics, (performance.now() - started) / 1000);
    const metric = training.early_stopping?.metric ?? this.#mainMetric();
    const value = metric === 'loss' ? this.#loss : metrics[metric];
    if (value === undefined)
      throw new StateError(
        `training.early_stopping.metric: expected one of ${Object.keys(metrics).join(', ')}, got ${metric}.`,
      );
    const sign = metric === 'mr' || metric === 'loss' ? -1 : 1;
    const better =
      this.#best === null || sign * (value - this.#best.value) > (training.early_stopping?.min_delta ?? 0);
    this.#stale = better ? 0 : this.#stale + 1;
    if (better) {
      this.#best = { epoch, value };
      if (training.checkpoint.save_best) await this.#save(checkpoints, batcher, ['best']);
    }
    if (!this.#isStale) return false;
    this.#output.note(`No improvement of ${metric} in ${this.#stale} evaluations: training ends.`);
    return true;
  }

  async #measure(evaluator: Evaluator, set: 'validation' | 'test'): Promise<Metrics> {
    const stage = this.#output.stage(`evaluating on the ${set} set`, { plain: false });
    evaluator.onProgress = stage.update;
    try {
      return await this.#timings.timeAsync('evaluate', () => evaluator.evaluate(set === 'validation'));
    } finally {
      stage.end();
    }
  }

  /** Whether it has not become better for as long as the configuration allows. */
  get #isStale(): boolean {
    return this.#stale >= (this.#config.training.early_stopping?.patience ?? Number.POSITIVE_INFINITY);
  }

  #mainMetric(): string {
    const { metrics } = this.#config.evaluation;
    const usual = this.#config.model.learning_task === 'LINK_PREDICTION' ? 'mrr' : 'accuracy';
    return metrics.includes(usual) ? usual : metrics[0];
  }

  #report(set: string, epoch: number, metrics: Metrics, seconds: number): void {
    this.#run.record({ event: 'eval', set, epoch, ...metrics, seconds });
    this.#output.event('eval', { set, epoch, ...metrics, seconds });
    const text = Object.entries(metrics).map(([name, value]) => `${name} ${value.toFixed(4)}`);
    this.#say(`${set.padEnd(10)}  ${text.join('  ')}`);
  }

  async #save(checkpoints: Checkpoints, batcher: GraphBatcher, names: readonly string[]): Promise<void> {
    await checkpoints.save(names, {
      position: batcher.position,
      firstEpoch: this.#firstEpoch,
      best: this.#best,
      stale: this.#stale,
      learningTask: this.#config.model.learning_task,
      seed: this.#config.model.random_seed,
      identity: this.#identity as RunIdentity,
      progress: this.#progressOfEpoch,
    });
    this.#lastSave = performance.now();
    this.#output.event('checkpoint', { names, ...batcher.position });
  }

  async #interrupted(checkpoints: Checkpoints, batcher: GraphBatcher): Promise<TrainRunResult> {
    this.#progress.stop();
    await this.#save(checkpoints, batcher, ['last']);
    const directory = this.#run.path;
    this.#output.text(
      `Stopped in epoch ${batcher.position.epoch + 1}. Resume with: ${resumeCommand(directory, this.#group.size)}`,
    );
    const rate = this.#items / Math.max(this.#seconds, 1e-9);
    this.#output.event('done', { interrupted: true, directory, epochs: batcher.position.epoch });
    return {
      directory,
      interrupted: true,
      epochs: batcher.position.epoch,
      validation: this.#validation,
      test: {},
      itemsPerSecond: rate,
    };
  }

  async #finish(
    checkpoints: Checkpoints,
    batcher: GraphBatcher,
    evaluator: Evaluator,
  ): Promise<TrainRunResult> {
    const { training, model } = this.#config;
    const last = this.#group.agree(existsSync(this.#run.file('last'))) ? ['last'] : [];
    if (training.save_model) await this.#save(checkpoints, batcher, ['', ...last]);
    const started = performance.now();
    const test = await this.#measure(evaluator, 'test');
    const { epoch } = batcher.position;
    if (Object.keys(test).length > 0) this.#report('test', epoch, test, (performance.now() - started) / 1000);
    await this.#exportEncoded(evaluator);
    const itemsPerSecond = this.#items / Math.max(this.#seconds, 1e-9);
    const perSecond = model.learning_task === 'LINK_PREDICTION' ? 'edges_per_second' : 'nodes_per_second';
    const outcome = {
      directory: this.#run.path,
      epochs: epoch,
      ...(this.#best === null ? {} : { best: this.#best }),
      validation: this.#validation,
      test,
      ...Object.fromEntries(Object.entries(test).map(([name, value]) => [`test.${name}`, value])),
      [perSecond]: itemsPerSecond,
      seconds: this.#seconds,
      peak_rss_mb: peakRssMb(),
      ...(this.#group.size === 1 ? {} : { workers: this.#group.size }),
    };
    await this.#run.finish(outcome);
    this.#output.text(`Done in ${this.#output.elapsed()}. Saved in ${this.#run.path}`);
    this.#output.event('done', outcome);
    return {
      directory: this.#run.path,
      interrupted: false,
      epochs: epoch,
      validation: this.#validation,
      test,
      itemsPerSecond,
    };
  }
  async #exportEncoded({ model, graphBatcher: batcher }: Evaluator): Promise<void> {
    // Where the encoder passes embeddings on, the table has them already.
    if (!this.#config.storage.export_encoded_nodes || comparesEmbeddings(model)) return;
    const encoded = await this.#timings.timeAsync('evaluate', () => encodeAllNodes({ model, batcher }));
    await this.#group.onRoot(() => saveEncodedNodes(this.#run.path, encoded, this.#dataset));
    batcher.graphStorage.setEncodedNodes(null);
    batcher.setTrainSet();
  }
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
