/** Small temporal runs for tests: streams written as text, model files, and what a run has learned. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTensors } from 'skein/storage';
import { Output, type RunResult, type TemporalRunConfig, trainRun } from 'skein/train';
import { Random } from 'skein/util';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';

export interface EventFileOptions {
  readonly seed?: number;
  /** Time of the first event. */
  readonly start?: number;
}

/** A stream in JODIE's format: users have favourites, so that there is something to learn. */
export function jodieText(count: number, { seed = 1, start = 0 }: EventFileOptions = {}): string {
  const random = new Random(seed);
  const lines = ['user_id,item_id,timestamp,state_label,comma_separated_list_of_features'];
  let time = start;
  for (let i = 0; i < count; i++) {
    // Ids without gaps in the first rows.
    const user = i < 16 ? i : random.nextInt(16);
    const item = i < 16 ? i % 10 : random.nextFloat() < 0.7 ? (user * 3) % 10 : random.nextInt(10);
    time += random.nextInt(4) / 2;
    lines.push(
      `${user},${item},${time},0,${(random.nextFloat() - 0.5).toFixed(4)},${(item / 10).toFixed(1)}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** The stream in SNAP's format. */
export function snapText(count: number, { seed = 1, start = 0 }: EventFileOptions = {}): string {
  const random = new Random(seed);
  let time = start;
  const rows = Array.from({ length: count }, (_, i) => {
    time += random.nextInt(3);
    const src = i < 14 ? i : random.nextInt(14);
    return `${src} ${(src + 1 + random.nextInt(4)) % 14} ${time}`;
  });
  return `${rows.join('\n')}\n`;
}

export const modelFiles = {
  tgn: `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: gru, mailbox_size: 1 }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 3, batch_size: 20, lr: 0.01, dropout: 0.2, att_dropout: 0.2, reorder: 4 }]
`,
  apan: `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: transformer, mailbox_size: 3, attention_head: 2, deliver_to: neighbors }]
gnn: [{ arch: identity }]
train: [{ epoch: 3, batch_size: 20, lr: 0.01, dropout: 0.2 }]
`,
  jodie: `
sampling: [{ layer: 0, strategy: identity }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: rnn, mailbox_size: 1 }]
gnn: [{ arch: identity, time_transform: JODIE }]
train: [{ epoch: 3, batch_size: 20, lr: 0.01, dropout: 0.2 }]
`,
  tgat: `
sampling: [{ layer: 2, neighbor: [3, 3], strategy: uniform }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 2, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 3, batch_size: 20, lr: 0.01, dropout: 0.2, att_dropout: 0.2 }]
`,
} as const;
export type ModelName = keyof typeof modelFiles;

/** Writes a configuration and gives its path. `path` is the file of events, `at` the directory of the run. */
export function writeTemporalConfig(file: string, model: ModelName, path: string, at: string): string {
  writeFileSync(
    file,
    `${modelFiles[model]}dataset: { path: ${path} }\nstorage: { model_dir: ${at} }\ntraining: { logs_per_epoch: 0 }\n`,
  );
  return file;
}

/** A run of a configuration file, silent. */
export async function temporalRun(file: string, overrides: readonly string[] = []): Promise<RunResult> {
  return trainRun({ config: temporalConfig(file, overrides), output: silent() });
}

function temporalConfig(file: string, overrides: readonly string[] = []): TemporalRunConfig {
  return loadTemporalConfig(file, overrides).config;
}

function silent(): Output {
  const nowhere = { write: () => true };
  return new Output({ stdout: nowhere, stderr: nowhere });
}

/** Everything in a checkpoint (the final state by default): the same in equal runs. */
export async function temporalState(directory: string, name = ''): Promise<Record<string, unknown>> {
  const { tensors, metadata } = await loadTensors(join(directory, name, 'model.safetensors'));
  const { extra } = JSON.parse(metadata['skein.checkpoint']) as { extra: Record<string, unknown> };
  const found: Record<string, unknown> = { ...extra };
  for (const [key, { array }] of Object.entries(tensors)) {
    const { buffer, byteOffset, byteLength } = array as Uint8Array;
    found[key] = Buffer.from(buffer, byteOffset, byteLength).toString('hex');
  }
  return found;
}

/** The evaluation settings of a finished run. */
export function finalMetrics(directory: string): unknown {
  const { best, validation, test, epochs } = JSON.parse(
    readFileSync(join(directory, 'done.json'), 'utf8'),
  ) as Record<string, unknown>;
  return { best, validation, test, epochs };
}
