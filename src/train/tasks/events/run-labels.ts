/** Labels of events in a temporal run: embeddings of a frozen pass over the stream, a classifier on them, its file. */
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
 * Goes through a stream from its beginning without learning and gives the embedding of every event's source just before
 * the event, row by row. Once `stop` says so it ends early, with rows of zeros for the rest.
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
    await eventLoop();
    if (stop()) break;
  }
  return all;
}

/** Lets signals in: without it nobody hears of them between batches. */
const eventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Trains the classifier that `labels` asks for and keeps it in the run's directory, where one is given; memory is left at the stream's end.
 * Null when `stop` ended it, which is asked after every batch; nothing is kept then.
 */
export async function trainRunLabels(
  config: TemporalRunConfig,
  stream: OpenedStream,
  parts: TemporalAssembly,
  directory: string | null,
  stop: () => boolean = () => false,
): Promise<RunLabels | null> {
  checkLabels(config, stream);
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

/** Metrics of the run's classifier; null when it has none. */
export async function evaluateRunLabels(
  { config, stream, parts, directory }: OpenedEventRun,
  part: 'validation' | 'test',
): Promise<Metrics | null> {
  const path = join(directory, headFile);
  if (config.labels.epochs === 0 || stream.data.labels === null || !existsSync(path)) return null;
  const { dim_hidden, dropout } = config.labels;
  const head = newHead(widthOf(parts), countClasses(stream.data.labels), {
    ...(dim_hidden === -1 ? {} : { dimHidden: dim_hidden }),
    dropout,
  });
  await loadModel(path, head);
  return evaluateLabels(head, await labelledEvents(stream, parts), part);
}

/** Refuses a run that asks for a classifier of labels which its stream does not have. */
export function checkLabels({ labels }: TemporalRunConfig, { data }: OpenedStream): void {
  if (labels.epochs === 0 || data.labels !== null) return;
  throw new StateError(
    `train: expected a stream with labels of events for labels.epochs ${labels.epochs}, got ${data.name}, which has none. JODIE's and TGN's files have them; else leave labels.epochs at 0.`,
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
