/** Custom samplers of a run: training, resuming, and errors where they do not work. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { WorkerGroup } from '../dist/index.js';
import {
  KHopNeighborSampler,
  openRun,
  resolveConfig,
  type TrainingBatch,
  TrainingNegativeSampler,
  trainRun,
} from '../train/index.js';
import type { RunSamplers } from '../train/tasks/graph/initialize-model.js';
import { captureOutput } from './testing/capture-output.js';
import { embedding, tinyFile, tinyGraphs, trainQuietly } from './testing/tiny-graphs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-samplers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
captureOutput();

describe('samplers of a program', () => {
  class Next extends TrainingNegativeSampler {
    static asked = 0;
    override getNegatives({ src, dst }: TrainingBatch, ofSources: boolean): Int32Array {
      Next.asked++;
      const ends = (ofSources ? src : dst) as Int32Array;
      return Int32Array.from({ length: 4 }, (_, i) => (ends[0] + i + 1) % this.graphStorage.numNodes);
    }
  }
  const negatives: RunSamplers = { negatives: (storage) => new Next(storage) };

  test('negatives: trained with, resumed with, and evaluated without', async () => {
    const { links } = await tinyGraphs(folder);
    const given = (epochs: number, directory: string, resume_training = false) => {
      const all = tinyFile(links, at(directory));
      Object.assign(all['training'], { num_epochs: epochs, resume_training });
      return resolveConfig(all).config;
    };
    const whole = await trainQuietly(given(3, 'sampled'), negatives);
    expect(Next.asked).toBeGreaterThan(0);
    expect(whole.losses).not.toEqual((await trainQuietly(given(3, 'usual'))).losses);
    await trainQuietly(given(1, 'cut'), negatives);
    await expect(trainQuietly(given(3, 'cut', true))).rejects.toThrow(
      'expected the samplers that it was trained with (negatives) for samplers of trainRun, got none',
    );
    const resumed = await trainQuietly(given(3, 'cut', true), negatives);
    expect(resumed.losses).toEqual(whole.losses.slice(1));
    const opened = await openRun(whole.directory, { over: 'graph' });
    expect(await opened.task.evaluate('test')).toEqual(whole.test);
    await opened.close();
  });

  test('neighbours: one that takes all gives what the configuration gives', async () => {
    const { nodes } = await tinyGraphs(folder);
    const layers = [[embedding], [{ type: 'GNN', output_dim: 2, options: { type: 'GCN' } }]];
    const given = (directory: string, rule: object) =>
      resolveConfig({
        ...tinyFile(nodes, at(directory), {
          learning_task: 'NODE_CLASSIFICATION',
          encoder: { layers, train_neighbor_sampling: [rule], eval_neighbor_sampling: [{ type: 'ALL' }] },
        }),
        evaluation: {},
      }).config;
    const one = { type: 'UNIFORM', options: { max_neighbors: 1 } };
    const own: RunSamplers = {
      neighbors: (storage, { model }) =>
        new KHopNeighborSampler(storage, [{ type: 'ALL' }], 'ALL', -1, { seed: model.random_seed }),
    };
    const all = await trainQuietly(given('all', { type: 'ALL' }));
    expect((await trainQuietly(given('own-all', one), own)).losses).toEqual(all.losses);
    expect((await trainQuietly(given('few', one))).losses).not.toEqual(all.losses);
    await expect(trainQuietly(given('idle', one), negatives)).rejects.toThrow(
      'trainRun: expected nothing for samplers.negatives, got "a sampler". The batches of this run do not use one',
    );
    const group = new WorkerGroup({ comm: { rank: 0, size: 2 } as never });
    await expect(trainRun({ config: given('idle', one), samplers: own, group })).rejects.toThrow(
      'A custom sampler cannot draw the whole batch of several workers',
    );
    await expect(trainQuietly(given('idle', one), { neighbours: () => null } as never)).rejects.toThrow(
      'Did you mean neighbors?',
    );
  });
});
