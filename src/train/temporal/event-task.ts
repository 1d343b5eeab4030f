/**
 * Link prediction in a stream of events: epochs go through the training events in order of time, evaluation continues on the
 * same timeline. Memory is reset at the beginning of an epoch and nowhere else.
 */

import type { EventBatch, MailBoxSnapshot, TemporalBatches } from '../../temporal/index.js';
import { type Tensor, tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { noTimings, type StageTimings } from '../run/timings.js';
import type { Batches, Cursor, HeldOut, Metrics, Snapshot, SplitName, StepLoss, Task } from '../task.js';
import type { TemporalAssembly } from './assemble.js';
import { judgePart } from './judge-part.js';

/** Where memory stands: in training, after validation, or at the end of the stream. */
export type EventStage = 'training' | 'validated' | 'finished';

/** What a checkpoint keeps beside tensors. */
export interface EventState {
  /** The mailbox without its arrays; null without memory. */
  readonly mailbox: Omit<MailBoxSnapshot, 'arrays'> | null;
  readonly stage: EventStage;
}

export interface EventTaskOptions<B extends EventBatch> {
  readonly parts: TemporalAssembly<B>;
  /** By event, whether a node of it was never seen in training. */
  readonly isNew: Uint8Array;
  readonly timings?: Pick<StageTimings, 'time'>;
}

export class EventTask<B extends EventBatch = EventBatch> implements Task<B> {
  readonly items = 'events';
  readonly headline: string;
  readonly evaluationMovesState = true;
  readonly parts: TemporalAssembly<B>;
  readonly batches: Readonly<Record<SplitName, Batches<B>>>;
  readonly #isNew: Uint8Array;
  readonly #timings: Pick<StageTimings, 'time'>;
  #stage: EventStage = 'training';

  constructor(options: EventTaskOptions<B>) {
    checkOptionNames('EventTask', options, { parts: true, isNew: true, timings: true });
    const { parts, isNew, timings = noTimings } = options;
    this.parts = parts;
    this.headline = 'ap';
    this.#isNew = isNew;
    this.#timings = timings;
    const { train, validation, test } = parts.loaders;
    this.batches = {
      train: new EventBatches(train, () => parts.mailbox?.drain()),
      validation: new EventBatches(validation),
      test: new EventBatches(test),
    };
  }

  get model(): TemporalAssembly<B>['model'] {
    return this.parts.model;
  }

  get optimizer(): TemporalAssembly<B>['optimizer'] {
    return this.parts.optimizer;
  }

  startEpoch(): void {
    this.parts.mailbox?.reset();
    this.#stage = 'training';
  }

  train(batch: B): StepLoss {
    const items = batch.eventRows.length;
    const { loss } = this.#timings.time('compute', () => this.parts.runtime.train(batch));
    return { loss: loss * items, items };
  }

  async evaluate(split: HeldOut, onProgress?: (done: number, total: number) => void): Promise<Metrics> {
    const empty = this.batches[split].numItems === 0;
    const metrics = empty ? {} : await judgePart(this.parts, split, this.#isNew, onProgress);
    this.#stage = split === 'test' ? 'finished' : 'validated';
    return metrics;
  }

  async snapshot(): Promise<Snapshot> {
    const taken = this.parts.mailbox?.snapshot() ?? null;
    if (taken === null) return { tensors: {}, state: { mailbox: null, stage: this.#stage } };
    const { arrays, ...mailbox } = taken;
    const tensors = Object.entries(arrays).map(([name, array]) => [`mailbox.${name}`, asTensor(array)]);
    return { tensors: Object.fromEntries(tensors), state: { mailbox, stage: this.#stage } };
  }

  async restore({ tensors, state }: Snapshot): Promise<void> {
    const { mailbox, stage } = state as unknown as EventState;
    if ((mailbox === null) !== (this.parts.mailbox === null)) {
      const [wanted, got] = mailbox === null ? ['with', 'without'] : ['without', 'with'];
      throw new StateError(
        `train: expected a checkpoint ${wanted} memory, got one ${got}. Use the configuration of the run.`,
      );
    }
    this.#stage = stage;
    if (mailbox === null) return;
    const arrays = Object.entries(tensors).map(([key, t]) => [key.replace(/^mailbox\./, ''), t.dataSync()]);
    this.parts.mailbox?.restore({ ...mailbox, arrays: Object.fromEntries(arrays) } as MailBoxSnapshot);
  }

  async close(): Promise<void> {}
}

function asTensor(array: MailBoxSnapshot['arrays'][string]): Tensor {
  const dtype = array instanceof Float32Array ? 'f32' : array instanceof Float64Array ? 'f64' : 'i32';
  return tensor(array as Float32Array, { shape: [array.length], dtype });
}

class EventBatches<B extends EventBatch> implements Batches<B> {
  readonly #loader: TemporalBatches<B>;
  readonly #atEnd: () => void;

  /** @param atEnd called when an epoch has come to its end. */
  constructor(loader: TemporalBatches<B>, atEnd: () => void = () => {}) {
    this.#loader = loader;
    this.#atEnd = atEnd;
  }

  get numItems(): number {
    return this.#loader.numEvents;
  }

  async *epoch(epoch: number, from?: Cursor): AsyncGenerator<B, void, undefined> {
    yield* this.#loader.epoch(epoch, from?.step ?? 0);
    this.#atEnd();
  }
}
