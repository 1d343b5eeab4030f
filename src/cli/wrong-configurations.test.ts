/** Every way we could think of to get a configuration wrong: exit code 2, the key path, what was expected, the fix. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';
import { fixtureNames, type Message, type WrongValue, wrongModels } from './testing/wrong-models.js';

const fixtures = fileURLToPath(new URL('../../test/fixtures/config', import.meta.url));
const fixture = (name: string): string => join(fixtures, `${name}.yaml`);
const folder = mkdtempSync(join(tmpdir(), 'skein-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const printed = captureOutput();

/** Checks a file with overrides; expects code 2 and gives the message. */
async function expectFailure(file: string, overrides: readonly string[]): Promise<string> {
  const code = await run(['config', file, ...overrides.map((text) => `--${text}`)]);
  expect({ code, out: printed.out }).toEqual({ code: 2, out: '' });
  return printed.err;
}

function check(message: string, [key, what, fix]: Message): void {
  expect(message).toContain('config: ');
  expect(message).toContain(key);
  for (const part of [what, fix]) {
    if (typeof part === 'string') expect(message).toContain(part);
    else expect(message).toMatch(part);
  }
}

const { buffer, plain } = fixtureNames;
const options = 'storage.embeddings.options';

const cases: readonly WrongValue[] = [
  [
    'misspelt key',
    plain,
    ['training.num_epoch=3'],
    ['training.num_epoch', 'a known key', 'Did you mean training.num_epochs?'],
  ],
  [
    'misspelt section',
    plain,
    ['trainning.num_epochs=3'],
    ['trainning', 'a known key', 'Did you mean training?'],
  ],
  [
    'key in the wrong section',
    plain,
    ['training.dataset_dir=x'],
    ['training.dataset_dir', 'a known key', 'Known keys here: batch_size'],
  ],
  [
    'option of another type',
    plain,
    ['model.loss.options.margin=1'],
    ['model.loss.options.margin', 'a known key', 'Known keys here: reduction'],
  ],
  [
    'text for a number',
    plain,
    ['training.batch_size=many'],
    ['training.batch_size', 'a whole number of at least 1', 'got "many"'],
  ],
  [
    'fraction for a whole number',
    plain,
    ['training.num_epochs=1.5'],
    ['training.num_epochs', 'a whole number', 'got 1.5'],
  ],
  [
    'zero epochs',
    plain,
    ['training.num_epochs=0'],
    ['training.num_epochs', 'of at least 1', 'Change the value'],
  ],
  [
    'not a number',
    plain,
    ['model.dense_optimizer.options.learning_rate=.nan'],
    ['dense_optimizer.options.learning_rate', 'a number above 0', 'got NaN'],
  ],
  [
    'infinite',
    plain,
    ['model.sparse_optimizer.options.learning_rate=.inf'],
    ['sparse_optimizer.options.learning_rate', 'a number above 0', 'got Infinity'],
  ],
  ['number for a flag', plain, ['training.save_model=1'], ['training.save_model', 'true or false', 'got 1']],
  [
    'list for a section',
    plain,
    ['training.pipeline=[1]'],
    ['training.pipeline', 'a section with keys such as sync', 'got [1]'],
  ],
  [
    'share above one',
    plain,
    ['training.negative_sampling.degree_fraction=1.5'],
    ['degree_fraction', 'from 0 to 1', 'got 1.5'],
  ],
  [
    'misspelt key of the workers',
    plain,
    ['distributed.pipeline_deph=2'],
    ['distributed.pipeline_deph', 'a known key', 'Did you mean distributed.pipeline_depth?'],
  ],
  [
    'unknown mode of the workers',
    plain,
    ['distributed.mode=sarr'],
    ['distributed.mode', 'one of sar, sa, one_shot', 'Did you mean sar?'],
  ],
  ...[0, 1e9].map((count): (typeof cases)[number] => [
    `${count} partitions`,
    plain,
    [`distributed.partitions=${count}`],
    ['distributed.partitions', 'a whole number from 1 to 1048576', `got ${count}`],
  ]),
  [
    'negative size of exchanges',
    plain,
    ['distributed.max_collective_size=-5'],
    ['distributed.max_collective_size', 'a size such as 2G, 500M or a number of bytes, or 0', 'got -5'],
  ],
  ['edges', plain, ['distributed.edges=sprad'], ['distributed.edges', 'one of auto', 'mean spread?']],
  [
    'unknown compression',
    plain,
    ['distributed.compression=int4'],
    ['distributed.compression', 'one of none, f16, bf16, int8', 'Did you mean int8?'],
  ],
  [
    'more than all nodes shared',
    plain,
    ['distributed.temporal.shared_nodes=2'],
    ['distributed.temporal.shared_nodes', 'a number from 0 to 1', 'got 2'],
  ],
  [
    'no negatives',
    plain,
    ['training.negative_sampling.negatives_per_positive=0'],
    ['negatives_per_positive', 'or -1 (all nodes)', 'got 0'],
  ],
  [
    'unknown decoder',
    plain,
    ['model.decoder.type=DISMULT'],
    ['model.decoder.type', 'one of DISTMULT, TRANSE', 'Did you mean DISTMULT?'],
  ],
  [
    'unknown task',
    plain,
    ['model.learning_task=LINKS'],
    ['model.learning_task', 'one of LINK_PREDICTION, NODE_CLASSIFICATION', 'got "LINKS"'],
  ],
  [
    'unknown device',
    plain,
    ['storage.device_type=tpu'],
    ['storage.device_type', 'one of cpu, cuda', 'got "tpu"'],
  ],
  [
    'unknown metric',
    plain,
    ['evaluation.metrics=[mrr, hits]'],
    ['evaluation.metrics[1]', 'hits@k', 'got "hits"'],
  ],
  [
    'metric of the other task',
    plain,
    ['evaluation.metrics=[accuracy]'],
    ['evaluation.metrics[0]', 'LINK_PREDICTION', 'Use mrr'],
  ],
  ['unknown element type', plain, [`${options}.dtype=int8`], [`${options}.dtype`, 'float16', 'got "int8"']],
  [
    'no size',
    plain,
    ['storage.memory_budget=2Q'],
    ['storage.memory_budget', 'a size such as 2G', 'got "2Q"'],
  ],
  [
    'whole-graph steps for edges',
    plain,
    ['training.full_batch=true'],
    ['training.full_batch', 'false for LINK_PREDICTION', 'node classification'],
  ],
  [
    'buffer larger than partitions',
    buffer,
    [`${options}.buffer_capacity=64`],
    [`${options}.buffer_capacity`, 'at most num_partitions, 32', 'Lower buffer_capacity'],
  ],
  [
    'buffer of one',
    buffer,
    [`${options}.buffer_capacity=1`],
    [`${options}.buffer_capacity`, 'of at least 2', 'got 1'],
  ],
  [
    'partitions that are not a multiple of the group size',
    buffer,
    [`${options}.fine_to_coarse_ratio=3`],
    [`${options}.num_partitions`, 'a multiple of fine_to_coarse_ratio 3', 'choose a multiple'],
  ],
  [
    'buffer of one group',
    buffer,
    [`${options}.fine_to_coarse_ratio=8`],
    [`${options}.fine_to_coarse_ratio`, 'at most 4', 'Two groups'],
  ],
  [
    'cache fills the buffer',
    buffer,
    [`${options}.num_cache_partitions=2`],
    [`${options}.num_cache_partitions`, 'at most 0', 'raise buffer_capacity'],
  ],
  [
    'custom ordering',
    buffer,
    [`${options}.edge_bucket_ordering=CUSTOM`],
    [`${options}.edge_bucket_ordering`, 'a computed ordering', 'in a program'],
  ],
  [
    'unequal buffers',
    buffer,
    ['storage.features={type: PARTITION_BUFFER, options: {num_partitions: 16}}'],
    ['storage.features.options.num_partitions', 'the 32 of storage.embeddings', 'make the two equal'],
  ],
  [
    'edges in a buffer',
    plain,
    ['storage.edges.type=PARTITION_BUFFER'],
    ['storage.edges.type', 'one of HOST_MEMORY, FLAT_FILE', 'got "PARTITION_BUFFER"'],
  ],
  [
    'unknown stopping metric',
    plain,
    ['training.early_stopping.metric=accuracy'],
    ['training.early_stopping.metric', 'loss or one of evaluation.metrics', 'Add it'],
  ],
  [
    'two ways to resume',
    plain,
    ['training.resume_training=true', 'training.resume_from_checkpoint=x'],
    ['training.resume_from_checkpoint', 'nothing with resume_training', 'keep one'],
  ],
  [
    'endless warm-up',
    plain,
    ['training.learning_rate_schedule={type: COSINE, warmup_epochs: 10}'],
    ['warmup_epochs', 'fewer than training.num_epochs, 10', 'Shorten'],
  ],
  [
    'penalty without a type',
    plain,
    ['model.regularizer.coef=0.1'],
    ['model.regularizer.type', 'NORM, N3 or LP', 'Set the type'],
  ],
  [
    'wrong table width',
    plain,
    ['model.encoder.embedding_dim=64'],
    ['model.encoder.embedding_dim', 'the 50 that the EMBEDDING layers add up to', 'Remove the key'],
  ],
  [
    'override into a value',
    plain,
    ['training.num_epochs.more=1'],
    ['training.num_epochs', 'a section', 'needs one'],
  ],
  [
    'override outside a list',
    plain,
    ['model.encoder.layers[4][0].bias=true'],
    ['model.encoder.layers', 'an index from 0 to 1', 'got 4'],
  ],
  [
    'override of a list by name',
    plain,
    ['model.encoder.layers.first=1'],
    ['model.encoder.layers', 'an index from 0 to 1', 'got first'],
  ],
  [
    'override of what every object has',
    plain,
    ['model.__proto__.x=1'],
    ['model.__proto__.x', 'a known key', 'docs'],
  ],
  [
    'override that is not YAML',
    plain,
    ['training.num_epochs=[1'],
    ['training.num_epochs', 'a YAML value', 'Quote it'],
  ],
];

describe('wrong values', () => {
  it.each([...cases, ...wrongModels])('%s', async (_title, file, overrides, message) => {
    check(await expectFailure(fixture(file), overrides), message);
  });
});

const files: readonly (readonly [title: string, text: string, message: Message])[] = [
  [
    'no task',
    'model: {encoder: {layers: [[{type: EMBEDDING, output_dim: 4}]]}}\nstorage: {dataset: {dataset_dir: d}}',
    ['model.learning_task', 'one of LINK_PREDICTION', 'Add the key'],
  ],
  [
    'no dataset',
    'model: {learning_task: LP, encoder: {layers: [[{type: EMBEDDING, output_dim: 4}]]}}',
    ['storage.dataset', 'dataset_dir', 'Add the key'],
  ],
  [
    'no encoder',
    'model: {learning_task: LP}\nstorage: {dataset: {dataset_dir: d}}',
    ['model.encoder', 'layers', 'Add the key'],
  ],
  ['empty file', '', ['broken.yaml', 'sections such as model', 'got an empty file']],
  ['only comments', '# model:\n', ['broken.yaml', 'got an empty file', 'config <dataset>']],
  [
    'a type that is a key of every object',
    'model: {learning_task: LP, encoder: {layers: [[{type: EMBEDDING, output_dim: 4}]]}, loss: {type: constructor}}\nstorage: {dataset: {dataset_dir: d}}',
    ['model.loss.type', 'one of SOFTMAX_CE', '"constructor"'],
  ],
  ['a list', '- a\n- b', ['the configuration', 'the sections model, storage', 'got a list']],
  ['no YAML', 'model:\n  a: [1\nb: 2', ['broken.yaml', 'expected YAML', 'line']],
  ['a key twice', 'model: {}\nmodel: {}', ['broken.yaml', 'line 2', 'unique, model occurs twice']],
  ['a nested key twice', 'a:\n  - {b: 1, c: 2,\n     b: 3}', ['broken.yaml', 'line 3', 'b occurs twice']],
];

describe('wrong files', () => {
  it.each(files)('%s', async (_title, text, message) => {
    const path = join(folder, 'broken.yaml');
    writeFileSync(path, text);
    check(await expectFailure(path, []), message);
  });

  it('missing file', async () => {
    check(await expectFailure(join(folder, 'none.yaml'), []), [
      'none.yaml',
      'a readable file',
      'Check the path',
    ]);
  });

  it('every problem is named at once, with its line', async () => {
    const path = join(folder, 'two.yaml');
    writeFileSync(
      path,
      'model:\n  learning_task: XY\n  encodr: 1\nstorage:\n  dataset:\n    dataset_dir: 3\n',
    );
    const message = await expectFailure(path, []);
    expect(message).toMatch(/4 problems/);
    expect(message).toMatch(/two\.yaml:2: .*model\.learning_task/);
    expect(message).toMatch(/two\.yaml:3: .*model\.encodr.*Did you mean model\.encoder\?/);
    expect(message).toMatch(/two\.yaml:6: .*storage\.dataset\.dataset_dir/);
  });

  it('many unknown keys take time in proportion, and the first twenty are printed', async () => {
    const path = join(folder, 'many.yaml');
    writeFileSync(path, Array.from({ length: 40_000 }, (_, i) => `key_${i}: ${i}`).join('\n'));
    const start = process.cpuUsage();
    const message = await expectFailure(path, []);
    // Processor time, whatever else runs: about one second; comparing every key with all others takes a minute.
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(15);
    expect(message).toMatch(/40003 problems/);
    expect(message.match(/a known key, got key_/g)?.length).toBeLessThanOrEqual(20);
    expect(message).toContain('… and 39983 more');
  }, 240_000);
});
