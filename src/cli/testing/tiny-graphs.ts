/** A tiny graph with links and one with classes, their configurations, and training without output. For tests only. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Output, type SkeinConfig, trainRun } from '../../train/index.js';
import type { RunSamplers } from '../../train/tasks/graph/initialize-model.js';
import { run } from '../program.js';

/** Prepares a ring of 30 nodes with two relations, and one with classes. */
export async function tinyGraphs(
  folder: string,
): Promise<{ readonly links: string; readonly nodes: string }> {
  const at = (name: string): string => join(folder, name);
  const [links, nodes] = [at('links'), at('nodes')];
  if (existsSync(links)) return { links, nodes };
  const rows = Array.from({ length: 30 }, (_, i) => `n${i},r${i % 2},n${(i + 1 + (i % 2)) % 30}\n`);
  writeFileSync(at('edges.csv'), rows.join(''));
  const split = ['--dataset-split', '0.8', '0.1', '0.1'];
  const [edges, into] = [['--edges', at('edges.csv')], '--output-directory'];
  expect(await run(['preprocess', ...edges, into, links, ...split])).toBe(0);
  writeFileSync(at('nodes.csv'), Array.from({ length: 30 }, (_, i) => `n${i},${i % 2}\n`).join(''));
  const of = ['--node-labels', at('nodes.csv'), '--node-split', '0.5', '0.2', '0.3'];
  expect(await run(['preprocess', ...edges, into, nodes, ...of])).toBe(0);
  return { links, nodes };
}

export const embedding = { type: 'EMBEDDING', output_dim: 8 };

/** Returns a link prediction configuration with embeddings alone. */
export function tinyFile(dataset: string, directory: string, model: object = {}): Record<string, object> {
  return {
    model: {
      random_seed: 7,
      learning_task: 'LINK_PREDICTION',
      encoder: { layers: [[embedding]] },
      ...model,
    },
    storage: { dataset: { dataset_dir: dataset }, model_dir: directory },
    training: { num_epochs: 2, batch_size: 8, negative_sampling: { negatives_per_positive: 5 } },
    evaluation: { negative_sampling: { filtered: true } },
  };
}

/** Trains without output; returns the result and the loss of each epoch. */
export async function trainQuietly(config: SkeinConfig, samplers?: RunSamplers) {
  const losses: number[] = [];
  const write = (text: string): void => {
    const { event, loss } = JSON.parse(text) as { event: string; loss: number };
    if (event === 'epoch') losses.push(loss);
  };
  const output = new Output({ json: true, stdout: { write }, stderr: { write: () => undefined } });
  const result = await trainRun({ config, output, ...(samplers === undefined ? {} : { samplers }) });
  return { ...result, losses };
}
