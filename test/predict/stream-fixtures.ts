/** Small trained models of events, and streams of events that are sent as unreliable senders do. */
import { join } from 'node:path';
import {
  type DurableStream,
  fitEvents,
  openStream,
  type StreamEvent,
  type StreamOptions,
} from 'skein/predict';

/** A number from 0 to 1 that depends on its arguments alone. */
export const noise = (i: number, salt: number): number =>
  (Math.imul(Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt + 7, 0x85ebca6b), 0xc2b2ae35) >>> 8) / 2 ** 24;

export const lastTraining = 1000 + 399;

export type Kind = 'statistics' | 'tgn' | 'baseline' | 'mixer' | 'jodie' | 'featured';

/** Trains a model of a kind in `folder` and returns the path of its run. */
export async function trainedRun(folder: string, kind: Kind): Promise<string> {
  const events = Array.from({ length: 400 }, (_, i): [string, string, number] => [
    `user ${i % 20}`,
    `item ${(i * 3 + (i >> 4)) % 8}`,
    1000 + i,
  ]);
  const keys = {
    statistics: { 'train.batch_size': 20 },
    baseline: { 'model.kind': 'recency_popularity' },
    mixer: { 'model.kind': 'graph_mixer', 'train.batch_size': 20 },
    jodie: {
      ...{ 'gnn.arch': 'identity', 'gnn.time_transform': 'JODIE', 'sampling.strategy': 'identity' },
      ...{
        'memory.dim_out': 8,
        'memory.dim_time': 8,
        'gnn.dim_out': 8,
        'train.batch_size': 20,
        'gnn.pair_depth': 0,
      },
    },
    tgn: {
      ...{ 'memory.dim_out': 8, 'memory.dim_time': 8, 'gnn.dim_out': 8, 'gnn.dim_time': 8 },
      'train.batch_size': 20,
    },
    featured: {
      ...{ 'memory.dim_out': 8, 'memory.dim_time': 8, 'gnn.dim_out': 8, 'gnn.dim_time': 8 },
      ...{ 'train.batch_size': 20, 'gnn.pair_depth': 0 },
      ...{ 'dataset.random_node_features': 4, 'memory.combine_node_feature': true },
    },
  }[kind];
  const directory = join(folder, kind);
  const model = await fitEvents(events, {
    ...{ seed: 3, directory, config: keys, nodeTypes: ['user', 'item'] },
    ...(kind === 'baseline' ? {} : { epochs: 1 }),
  });
  await model.close();
  return directory;
}

/** Events after training, in order of time, some at the same time; `newShare` of their names are new. */
export function laterEvents(count: number, newShare = 0.05): StreamEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    head:
      noise(i, 1) < newShare
        ? `new user ${Math.floor(9 * noise(i, 2))}`
        : `user ${Math.floor(20 * noise(i, 3))}`,
    tail:
      noise(i, 4) < newShare
        ? `new item ${Math.floor(9 * noise(i, 5))}`
        : `item ${Math.floor(8 * noise(i, 6))}`,
    time: lastTraining + 1 + Math.floor(i / 2) + (noise(i, 7) < 0.5 ? 0.5 : 0),
    id: `event ${i}`,
  })).sort((a, b) => Number(a.time) - Number(b.time));
}

const quiet: Pick<StreamOptions, 'onNotice' | 'groupCommit'> = {
  onNotice: () => undefined,
  groupCommit: { milliseconds: 0 },
};

export function open(
  run: string,
  state: string,
  options: Partial<StreamOptions> = {},
): Promise<DurableStream> {
  return openStream(run, { state, ...quiet, ...options });
}

/** Events in requests of `size`. */
export function requestsOf<T>(events: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(events.length / size) }, (_, i) =>
    events.slice(i * size, (i + 1) * size),
  );
}
