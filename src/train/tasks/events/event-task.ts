/**
 * Link prediction in a stream of events. An epoch processes the training events in order of time, and evaluation continues
 * on the same timeline. Node memory is reset only at the beginning of an epoch.
 */

import type { LinkMetricsOptions } from '../../../temporal/index.js';
import type { EventBatch, TemporalBatches } from '../../../temporal/steps.js';
import type { StateSnapshot } from '../../../temporal/temporal-state.js';
import { type Tensor, tensor } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { noTimings, type StageTimings } from '../../run/timings.js';
import type {
  Baseline,
  Batches,
  Cursor,
  HeldOut,
  Metrics,
  SavedState,
  SplitName,
  StepLoss,
  Task,
} from '../../task.js';
import type { TemporalAssembly } from './assemble.js';
import { evaluateEvents } from './evaluate-events.js';

/** The position of node memory in the stream: in training, after validation, or at the end. */
export type EventStage = 'training' | 'validated' | 'finished';

/** The checkpoint state other than tensors. */
export interface EventState {
  readonly stage: EventStage;
  /** The model's state by its name, without its arrays; null under the name `mailbox` if there is none. */
  readonly [name: string]: unknown;
}

export interface EventTaskOptions<B extends EventBatch> {
  readonly parts: TemporalAssembly<B>;
  /** For each event, whether one of its nodes was never seen in training. */
  readonly isNew: Uint8Array;
  /** The metric of the best epoch and of early stopping. Default: ap. */
  readonly metric?: string;
  /** The metrics to compute. Default: all. */
  readonly metrics?: LinkMetricsOptions;
  readonly timings?: Pick<StageTimings, 'time'>;
  /** Evaluates baselines on a split. Default: there are none. */
  readonly baselines?: (split: HeldOut) => readonly Baseline[];
}

export class EventTask<B extends EventBatch = EventBatch> implements Task<B> {
  readonly items = 'events';
  readonly headline: string;
  readonly evaluationMovesState = true;
  readonly parts: TemporalAssembly<B>;
  readonly batches: Readonly<Record<SplitName, Batches<B>>>;
  readonly #isNew: Uint8Array;
  readonly #metrics: LinkMetricsOptions;
  readonly #timings: Pick<StageTimings, 'time'>;
  readonly #baselines: (split: HeldOut) => readonly Baseline[];
  #stage: EventStage = 'training';

  constructor(options: EventTaskOptions<B>) {
    checkOptionNames('EventTask', options, {
      ...{ parts: true, isNew: true, timings: true, baselines: true },
      ...{ metric: true, metrics: true },
    });
    const { parts, isNew, timings = noTimings, baselines = () => [] } = options;
    const { metric = 'ap', metrics = {} } = options;
    this.parts = parts;
    this.headline = metric;
    this.#isNew = isNew;
    this.#metrics = metrics;
    this.#timings = timings;
    this.#baselines = baselines;
    const { train, validation, test } = parts.loaders;
    this.batches = {
      train: new EventBatches(train, () => parts.state?.drain?.()),
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
    this.parts.state?.reset();
    this.#stage = 'training';
  }

  train(batch: B): StepLoss {
    const items = batch.eventRows.length;
    const { loss } = this.#timings.time('compute', () => this.parts.runtime.train(batch));
    return { loss: loss * items, items };
  }

  async evaluate(split: HeldOut, onProgress?: (done: number, total: number) => void): Promise<Metrics> {
    const empty = this.batches[split].numItems === 0;
    const options = { isNew: this.#isNew, metrics: this.#metrics, ...(onProgress && { onProgress }) };
    const metrics = empty ? {} : await evaluateEvents(this.parts, split, options);
    this.#stage = split === 'test' ? 'finished' : 'validated';
    return metrics;
  }

  async baselines(split: HeldOut): Promise<readonly Baseline[]> {
    return this.batches[split].numItems === 0 ? [] : this.#baselines(split);
  }

  async snapshot(): Promise<SavedState> {
    const { state } = this.parts;
    if (state === null) return { tensors: {}, state: { [noState]: null, stage: this.#stage } };
    const { arrays, ...rest } = state.snapshot();
    const tensors = Object.entries(arrays).map(([name, array]) => [`${state.name}.${name}`, asTensor(array)]);
    return { tensors: Object.fromEntries(tensors), state: { [state.name]: rest, stage: this.#stage } };
  }

  async restore({ tensors, state: saved }: SavedState): Promise<void> {
    const { state } = this.parts;
    const name = state?.name ?? noState;
    const rest = (saved[name] ?? null) as Omit<StateSnapshot, 'arrays'> | null;
    if ((rest === null) !== (state === null)) {
      const [wanted, got] = rest === null ? ['with', 'without'] : ['without', 'with'];
      const what = name === noState ? 'memory' : `a state called ${name}`;
      throw new StateError(
        `train: expected a checkpoint ${wanted} ${what}, got one ${got}. Use the configuration of the run.`,
      );
    }
    this.#stage = (saved as unknown as EventState).stage;
    if (rest === null) return;
    const arrays = Object.entries(tensors).map(([key, t]) => [key.slice(name.length + 1), t.dataSync()]);
    state?.restore({ ...rest, arrays: Object.fromEntries(arrays) });
  }

  async close(): Promise<void> {}
}

/** The key that is null in checkpoints of models without state. */
const noState = 'mailbox';

function asTensor(array: StateSnapshot['arrays'][string]): Tensor {
  const dtype = array instanceof Float32Array ? 'f32' : array instanceof Float64Array ? 'f64' : 'i32';
  return tensor(array as Float32Array, { shape: [array.length], dtype });
}

class EventBatches<B extends EventBatch> implements Batches<B> {
  readonly #loader: TemporalBatches<B>;
  readonly #atEnd: () => void;

  /** @param atEnd called at the end of an epoch. */
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
