/** Configurations compared with their dataset. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { checkAgainstDataset, type DatasetFacts } from '#internal/train/config/check-dataset.js';

const fixtures = fileURLToPath(new URL('../fixtures/config', import.meta.url));

function check(name: string, facts: DatasetFacts, ...overrides: string[]): string[] {
  return checkAgainstDataset(loadConfig(join(fixtures, `${name}.yaml`), overrides).config, facts);
}

const arxiv: DatasetFacts = {
  num_nodes: 169343,
  num_relations: 1,
  num_edges: 1166243,
  num_train: 90941,
  num_valid: 29799,
  num_test: 48603,
  node_feature_dim: 128,
  num_classes: 40,
};
const facts: DatasetFacts = { num_nodes: 14541, num_relations: 237, num_valid: 17535, num_partitions: 1 };

it('accepts matching configurations', () => {
  expect(check('node-classification', arxiv)).toEqual([]);
  expect(check('node-classification', { ...arxiv, num_relations: 0 })).toEqual([]);
  expect(check('embedding-only', facts)).toEqual([]);
  expect(check('first-release', { ...facts, num_partitions: 32 })).toEqual([]);
});

describe('warns about', () => {
  it('other splits', () => {
    expect(check('node-classification', { ...arxiv, num_train: 90000 })).toEqual([
      'storage.dataset.num_train: the dataset has 90000, not 90941; 90000 is used.',
    ]);
  });

  it('missing validation and test sets', () => {
    const typed = { ...facts, num_valid: 0 };
    expect(check('embedding-only', { ...typed, num_test: 0 })).toEqual([
      'storage.dataset: there is neither a validation nor a test set, so there will be no metrics; create the splits with preprocess --dataset-split 0.9 0.05 0.05.',
    ]);
    expect(check('embedding-only', { ...typed, num_test: 5 }).join()).toMatch(
      /no validation set, so metrics are computed at the end only/,
    );
  });

  it('relational decoders for edges without relations', () => {
    const untyped = { ...facts, num_relations: 1 };
    const one = 'storage.dataset.num_relations=-1';
    expect(check('embedding-only', { ...untyped, has_relations: false }, one)).toEqual([
      'model.decoder.type: the edges of the dataset have no relations, so DISTMULT scores their two nodes without one; DOT does the same explicitly.',
    ]);
    expect(check('embedding-only', { ...untyped, has_relations: true }, one)).toEqual([]);
    const dot = 'model.decoder={type: DOT}';
    expect(check('embedding-only', { ...untyped, has_relations: false }, one, dot)).toEqual([]);
  });

  it('unused outputs', () => {
    expect(check('node-classification', { ...arxiv, num_classes: 7 }).join('\n')).toMatch(
      /33 of the 40 outputs are unused/,
    );
  });
});

describe('rejects', () => {
  it.each([
    [
      'other nodes',
      'node-classification',
      { ...arxiv, num_nodes: 5 },
      [],
      /storage\.dataset\.num_nodes, got 169343.*Remove the key/,
    ],
    [
      'other features',
      'node-classification',
      { ...arxiv, node_feature_dim: 100 },
      [],
      /layers\[0\]\[0\]\.output_dim, got 128\. Set it to 100/,
    ],
    [
      'no features',
      'node-classification',
      { ...arxiv, node_feature_dim: -1 },
      [],
      /layers\[0\]\[0\]\.type.*use EMBEDDING/,
    ],
    [
      'more classes',
      'node-classification',
      { ...arxiv, num_classes: 41 },
      [],
      /layers\[3\]\[0\]\.output_dim, got 40\. Set it to 41/,
    ],
    [
      'no classes',
      'node-classification',
      { ...arxiv, num_classes: -1 },
      [],
      /model\.learning_task.*no labels/,
    ],
    [
      'other partitions',
      'first-release',
      { ...facts, num_partitions: 16 },
      [],
      /num_partitions, got 32\. Set it to 16, or prepare .* --num-partitions 32/,
    ],
    [
      'more partitions than nodes',
      'first-release',
      { ...facts, num_nodes: 20 },
      ['storage.dataset.num_nodes=20'],
      /at most the 20 nodes/,
    ],
    [
      'relations to corrupt',
      'embedding-only',
      { ...facts, num_relations: 1 },
      ['model.decoder.options.edge_decoder_method=corrupt_rel'],
      /edge_decoder_method.*Write CORRUPT_NODE/,
    ],
    [
      'buckets of more partitions than nodes',
      'embedding-only',
      { ...facts, num_nodes: 5 },
      ['training.bucket_partitions=6'],
      /bucket_partitions.*at most the 5 nodes|at most the 5 nodes.*bucket_partitions/,
    ],
    [
      'relation features',
      'embedding-only',
      { ...facts, rel_feature_dim: 8 },
      ['model.decoder.options.use_relation_features=true'],
      /use_relation_features.*relation embeddings are learnt/,
    ],
    [
      'early stopping without a validation set',
      'embedding-only',
      { ...facts, num_valid: 0 },
      ['training.early_stopping={}'],
      /no validation set/,
    ],
    [
      'save_best without a validation set',
      'embedding-only',
      { ...facts, num_valid: -1 },
      ['training.checkpoint.save_best=true'],
      /save_best.*no validation set/,
    ],
  ] as const)('%s', (_title, name, data, overrides, message) => {
    expect(() => check(name, data, ...overrides)).toThrow(message);
  });
});
