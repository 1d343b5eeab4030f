/** Classification of event labels in a temporal run: embeds events with the frozen model and trains, saves and evaluates a classifier. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadModel, saveModel } from '../../../storage/index.js';
import { InternalError, StateError } from '../../../util/errors.js';
import type { Metrics } from '../../task.js';
import type { TemporalAssembly } from './assemble.js';
import { countClasses, evaluateLabels, type LabelledEvents, newHead, trainLabelHead } from './label-head.js';
import type { OpenedEventRun } from './open-event-run.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

const headFile = 'labels.safetensors';

export interface RunLabels {
  readonly epoch: number;
  readonly validation: Metrics;
  readonly test: Metrics;
}

/**
 * Passes over a stream from its beginning without training and returns the embedding of every event's source just before
 * the event, row by row. If `stop` returns true it ends early, and the remaining rows are zeros.
 */
export async function embedSources(
  { runtime, state, wholeStream: loader }: TemporalAssembly,
  stop: () => boolean = () => false,
): Promise<Float32Array> {
  state?.reset();
  let all = new Float32Array(0);
  let done = 0;
  for await (const batch of loader.epoch(0)) {
    const rows = runtime.embed(batch);
    if (all.length === 0) all = new Float32Array((rows.length / batch.eventRows.length) * loader.numEvents);
    all.set(rows, done);
    done += rows.length;
    await yieldToEventLoop();
    if (stop()) break;
  }
  return all;
}

/** Returns to the event loop, so that signals are handled between batches. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Trains the classifier that the section `labels` configures and saves it in `directory`, if one is given. Leaves node
 * memory at the end of the stream. `stop` is called after every batch; if it returns true, the result is null and nothing is
 * saved.
 */
export async function trainRunLabels(
  config: TemporalRunConfig,
  stream: OpenedStream,
  parts: TemporalAssembly,
  directory: string | null,
  stop: () => boolean = () => false,
): Promise<RunLabels | null> {
  checkEventLabels(config, stream);
  const { epochs, batch_size, lr, dim_hidden, dropout, patience } = config.labels;
  const events = await labelledEvents(stream, parts, stop);
  if (stop()) return null;
  const learned = await trainLabelHead(events, {
    ...{ epochs, lr, dropout, batchSize: batch_size, seed: config.training.random_seed, stop },
    ...(dim_hidden === -1 ? {} : { dimHidden: dim_hidden }),
    ...(patience === -1 ? {} : { patience }),
  });
  if (learned === null) return null;
  const { head, epoch, validation, test } = learned;
  if (directory !== null) await saveModel(join(directory, headFile), head);
  return { epoch, validation, test };
}

/** Returns the metrics of the run's classifier, or null if it has none. */
export async function evaluateRunLabels(
  { config, stream, parts, directory }: OpenedEventRun,
  split: 'validation' | 'test',
): Promise<Metrics | null> {
  const path = join(directory, headFile);
  if (config.labels.epochs === 0 || stream.data.labels === null || !existsSync(path)) return null;
  const { dim_hidden, dropout } = config.labels;
  const head = newHead(widthOf(parts), countClasses(stream.data.labels), {
    ...(dim_hidden === -1 ? {} : { dimHidden: dim_hidden }),
    dropout,
  });
  await loadModel(path, head);
  return evaluateLabels(head, await labelledEvents(stream, parts), split);
}

/** Throws if a run configures a classifier of labels and its stream has no labels. */
export function checkEventLabels({ labels }: TemporalRunConfig, { data }: OpenedStream): void {
  if (labels.epochs === 0 || data.labels !== null) return;
  throw new StateError(
    `train: expected a stream with event labels for labels.epochs ${labels.epochs}, got ${data.name}, which has none. Use a file in JODIE's or TGN's format, which have labels, or set labels.epochs to 0.`,
  );
}

function widthOf({ model }: TemporalAssembly): number {
  if (model.dimOut === undefined) throw new InternalError('labels for a model without embeddings');
  return model.dimOut;
}

async function labelledEvents(
  { data, split }: OpenedStream,
  parts: TemporalAssembly,
  stop?: () => boolean,
): Promise<LabelledEvents> {
  const { trainEnd, validationEnd } = split;
  return {
    embeddings: await embedSources(parts, stop),
    width: widthOf(parts),
    labels: data.labels as Float32Array,
    ...{ trainEnd, validationEnd },
  };
}
