/** One flipped bit in edges that a run reads from files is found before it trains, in the dataset and in the run's own sorted copy. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SkeinConfig } from 'skein/train';
import { beforeAll, describe, expect, it } from 'vitest';
import { prepareGraph } from '#internal/data/prepare/prepare-graph.js';
import { randomRows, run, scratch, tinyConfig } from './tiny.js';

const folder = scratch();

async function dataset(): Promise<string> {
  const rows = randomRows(40, 160, 0);
  const part = (from: number, to: number) => ({
    src: Int32Array.from({ length: to - from }, (_, i) => rows[2 * (from + i)]),
    dst: Int32Array.from({ length: to - from }, (_, i) => rows[2 * (from + i) + 1]),
  });
  const outputDir = folder();
  await prepareGraph([part(0, 140), part(140, 150), part(150, 160)], { outputDir, numNodes: 40 });
  return outputDir;
}

/** Another id that is as good as the one before. */
function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[8] ^= 1;
  writeFileSync(path, bytes);
}

const inFiles = (data: string, model_dir: string, more: object = {}): SkeinConfig =>
  tinyConfig(data, {
    model: { decoder: { type: 'DOT' } },
    storage: { model_dir, edges: { type: 'FLAT_FILE' }, ...more },
  });

const buffer = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};

describe('edges of a dataset', () => {
  let data = '';
  beforeAll(async () => {
    data = await dataset();
    flip(join(data, 'edges/train_edges.bin'));
  });

  it.each([
    ['read from their file', {}],
    ['sorted into buckets', buffer],
  ])('%s', async (_, more) => {
    await expect(run(inFiles(data, folder(), more))).rejects.toThrow(
      /train_edges\.bin: expected the checksum [0-9a-f]{8}, got [0-9a-f]{8}/,
    );
  });
});

describe("a run's own sorted edges", () => {
  it.each([
    ['a flipped bit', 'train_edges.bin', flip, /train_edges\.bin: expected the checksum .* made again/],
    [
      'sizes that are not JSON',
      'train_bucket_sizes.json',
      (path: string) => writeFileSync(path, '{"rows": 14'),
      /train_bucket_sizes\.json: expected the sizes of buckets as JSON/,
    ],
  ])('%s', async (_, name, damage, message) => {
    const model_dir = folder();
    const config = inFiles(await dataset(), model_dir, buffer);
    await run(config);
    damage(join(model_dir, 'edges', name));
    const more = { ...config.training, num_epochs: 3, resume_training: true };
    await expect(run({ ...config, training: more })).rejects.toThrow(message);
  });
});
