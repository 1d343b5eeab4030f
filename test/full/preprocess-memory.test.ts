/**
 * `preprocess` works in bounded memory: ten million edges within 512 MiB + 256 MiB, and in less memory the same bytes. The
 * bound is the one that docs/preprocessing.md states.
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset, preprocess } from 'skein/data';
import { Random } from 'skein/util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const edges = 10_000_000;
const mebi = 2 ** 20;
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-preprocess-memory-'));
  const file = createWriteStream(join(folder, 'edges.tsv'));
  const random = new Random(1);
  for (let i = 0; i < edges; ) {
    let text = '';
    for (const end = Math.min(edges, i + 50_000); i < end; i++)
      text += `/m/${random.nextInt(1e6).toString(36)}\tr${random.nextInt(100)}\t/m/${random.nextInt(1e6).toString(36)}\n`;
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('ten million edges in 512 MiB', async () => {
  const checksums: unknown[] = [];
  for (const [limit, threads] of [
    [512, 2],
    [256, 1],
  ]) {
    const outputDir = join(folder, `out${limit}`);
    const { peakRssBytes, ...stats } = await preprocess({
      ...{ edges: join(folder, 'edges.tsv'), outputDir, split: [0.9, 0.05, 0.05], partitions: 16, threads },
      memoryLimit: limit * mebi,
    });
    expect(stats).toMatchObject({
      num_train: 9_000_000,
      num_valid: 500_000,
      num_test: 500_000,
      num_relations: 100,
    });
    expect(peakRssBytes / mebi).toBeLessThan(limit + 256 + (13 * stats.num_nodes) / mebi);
    const data = await PreparedDataset.open(outputDir, { verify: true });
    checksums.push(data.details?.files);
    expect(
      (await readFile(join(outputDir, 'edges/train_partition_offsets.txt'), 'utf8')).split('\n').length,
    ).toBe(257);
  }
  expect(checksums[0]).toEqual(checksums[1]);
});
