/** Keys of one-against-all training and of the loop that do not fit together: exit code 2, the key, what was expected, the fix. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const fixtures = fileURLToPath(new URL('../../test/fixtures/config', import.meta.url));
const [sage, nodes, buffer, plain] = [
  ...['graph-sage-uniform', 'node-classification', 'partition-buffer', 'embedding-only'],
];
const printed = captureOutput();

it.each<readonly [title: string, file: string, overrides: readonly string[], parts: readonly string[]]>([
  [
    'an unknown form of training',
    plain,
    ['training.form=one_vs_some'],
    ['training.form', 'one of NEGATIVES, ONE_VS_ALL, K_VS_ALL', 'Did you mean'],
  ],
  [
    'queries of nodes to classify',
    nodes,
    ['training.form=ONE_VS_ALL'],
    ['model.learning_task', 'LINK_PREDICTION with training.form ONE_VS_ALL', 'remove the form'],
  ],
  [
    'queries against nodes that a GNN encodes',
    sage,
    ['training.form=ONE_VS_ALL'],
    ['model.encoder.layers[1]', 'no GNN layer with training.form ONE_VS_ALL', 'form: NEGATIVES'],
  ],
  [
    'queries with another method',
    plain,
    ['training.form=K_VS_ALL', 'model.decoder.options.edge_decoder_method=CORRUPT_REL'],
    [
      'model.decoder.options.edge_decoder_method',
      'CORRUPT_NODE with training.form K_VS_ALL',
      'remove the method',
    ],
  ],
  [
    'distances without products',
    plain,
    ['training.form=ONE_VS_ALL', 'model.decoder.type=TRANSE'],
    ['model.decoder.options.comparator', 'with training.form ONE_VS_ALL', 'products of matrices'],
  ],
  [
    'a loss of pairs',
    plain,
    ['training.form=ONE_VS_ALL', 'model.loss.type=RANKING'],
    ['model.loss.type', 'one of SOFTMAX_CE', 'with training.form ONE_VS_ALL'],
  ],
  [
    'competing answers without a softmax',
    plain,
    ['training.form=ONE_VS_ALL', 'training.filter_known=true', 'model.loss.type=BCE_WITH_LOGITS'],
    ['model.loss.type', 'with training.filter_known', 'remove filter_known'],
  ],
  [
    'whole queries without competing answers',
    plain,
    ['training.form=K_VS_ALL', 'training.filter_known=true'],
    ['training.filter_known', 'false with training.form K_VS_ALL', 'remove it'],
  ],
  [
    'queries against nodes on disk',
    buffer,
    ['training.form=ONE_VS_ALL', 'training.candidates=ALL'],
    ['training.candidates', 'RESIDENT with storage.embeddings.type PARTITION_BUFFER', 'HOST_MEMORY'],
  ],
  [
    'negatives among seen nodes on disk',
    buffer,
    ['training.negative_sampling.candidates=SEEN'],
    [
      'training.negative_sampling.candidates',
      'ALL with storage.embeddings.type PARTITION_BUFFER',
      'remove it',
    ],
  ],
  [
    'known edges on disk',
    buffer,
    ['training.negative_sampling.known_filter=true'],
    [
      'training.negative_sampling.known_filter',
      'false with storage.embeddings.type PARTITION_BUFFER',
      'remove it',
    ],
  ],
  [
    'answers on disk',
    buffer,
    ['training.form=K_VS_ALL'],
    ['storage.embeddings.type', 'HOST_MEMORY with training.form K_VS_ALL', 'ONE_VS_ALL without filter_known'],
  ],
  [
    'queries on a GPU',
    plain,
    ['training.form=ONE_VS_ALL', 'storage.device_type=webgpu'],
    ['training.form', 'NEGATIVES with storage.device_type webgpu', 'device_type: cpu'],
  ],
  [
    'one sum per row for dense parameters',
    plain,
    ['model.dense_optimizer={type: ROW_ADAGRAD}'],
    ['model.dense_optimizer.type', 'an optimiser of dense parameters', 'model.sparse_optimizer'],
  ],
  [
    'a sample of validation edges to classify nodes',
    nodes,
    ['evaluation.max_edges=10'],
    ['evaluation.max_edges', '-1 for model.learning_task NODE_CLASSIFICATION', 'remove it'],
  ],
  [
    'initial values of relations without a name',
    plain,
    ['model.decoder.options.relation_init=nonsense'],
    ['model.decoder.options.relation_init', 'one of DEFAULT, GLOROT_UNIFORM', 'nonsense'],
  ],
  [
    'a time limit without a time',
    plain,
    ['training.time_limit=soon'],
    ['training.time_limit', 'a time such as 45s, 30m or 1.5h', 'soon'],
  ],
])('%s', async (_title, file, overrides, parts) => {
  const code = await run([
    ...['config', join(fixtures, `${file}.yaml`)],
    ...overrides.map((text) => `--${text}`),
  ]);
  expect({ code, out: printed.out }).toEqual({ code: 2, out: '' });
  for (const part of ['config: ', ...parts]) expect(printed.err).toContain(part);
  const lines = printed.err.trim().split('\n');
  expect(new Set(lines).size, 'every problem once').toBe(lines.length);
});

it('a space of a search that is not a file, or that is empty', async () => {
  const file = join(fixtures, `${plain}.yaml`);
  expect(await run(['search', file, '--space', 'spaces.yaml'])).toBe(2);
  expect(printed.err).toMatch(/expected a YAML file or one of kg, .* for --space, got spaces.yaml/);
  const folder = mkdtempSync(join(tmpdir(), 'skein-space-'));
  const empty = join(folder, 'empty.yaml');
  writeFileSync(empty, '# nothing\n');
  printed.clear();
  expect(await run(['search', file, '--space', empty, '--output-dir', join(folder, 'search')])).toBe(2);
  expect(printed.err).toMatch(/expected a mapping of configuration keys to values for the space, got null/);
  expect(readdirSync(folder)).toEqual(['empty.yaml']);
  rmSync(folder, { recursive: true });
});
