/** One flipped bit in the features of a prepared dataset is found wherever they are read, and the file is named. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preprocess } from 'skein/data';
import { resolveConfig, type SkeinConfig } from 'skein/train';
import { beforeAll, describe, expect, test } from 'vitest';
import { openFlatTables } from '#internal/data/prepare/flat-tables.js';
import { randomRows, run, scratch } from './tiny.js';

const folder = scratch();
const dataset = folder();
const damage = /features\.bin: expected the checksum [0-9a-f]{8}, got [0-9a-f]{8}\. The directory is damaged/;

beforeAll(async () => {
  const rows = randomRows(40, 120, 0);
  const [edges, table] = [`${folder()}.csv`, `${folder()}.csv`];
  const pairs = Array.from({ length: 120 }, (_, i) => `n${rows[2 * i]},n${rows[2 * i + 1]}`);
  writeFileSync(edges, `source,target\n${pairs.join('\n')}\n`);
  const nodes = Array.from({ length: 40 }, (_, i) => `n${i},${i % 7},${(i * 3) % 5},${i % 2 ? 'a' : 'b'}`);
  writeFileSync(table, `id,age,size,kind\n${nodes.join('\n')}\n`);
  await preprocess({ edges, nodeTable: table, labelColumn: 'kind', outputDir: dataset });
  const file = join(dataset, 'nodes/features.bin');
  const bytes = readFileSync(file);
  bytes[13] ^= 4;
  writeFileSync(file, bytes);
});

function config(features: object, layers: readonly { readonly output_dim: number }[]): SkeinConfig {
  const input_dim = layers.reduce((sum, { output_dim }) => sum + output_dim, 0);
  const gnn = {
    type: 'GNN',
    options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' },
    input_dim,
    output_dim: 2,
    bias: true,
  };
  const joined = layers.length === 1 ? [] : [[{ type: 'REDUCTION', input_dim, output_dim: input_dim }]];
  return resolveConfig({
    model: {
      random_seed: 1,
      learning_task: 'NODE_CLASSIFICATION',
      encoder: { train_neighbor_sampling: [{ type: 'ALL' }], layers: [layers, ...joined, [gnn]] },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
    },
    storage: { dataset: { dataset_dir: dataset }, model_dir: folder(), features },
    training: { batch_size: 10, num_epochs: 1 },
    evaluation: { batch_size: 10 },
  }).config;
}

describe('damaged features are refused', () => {
  const feature = { type: 'FEATURE', output_dim: 2 };
  const embedding = { type: 'EMBEDDING', output_dim: 4 };
  test.each([
    ['in memory', {}, [feature]],
    ['with embeddings', {}, [feature, embedding]],
    ['in a file', { type: 'FLAT_FILE' }, [feature, embedding]],
  ])('by training %s', async (_where, features, layers) => {
    await expect(run(config(features, layers))).rejects.toThrow(damage);
  });

  test('by export', async () => {
    await expect(openFlatTables(dataset)).rejects.toThrow(damage);
  });
});
