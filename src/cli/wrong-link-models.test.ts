/** Wrong options of decoders, losses and negatives: exit code 2, the key path, what was expected, the fix. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const fixture = join(
  fileURLToPath(new URL('../../test/fixtures/config', import.meta.url)),
  'embedding-only.yaml',
);
const printed = captureOutput();

it.each<[title: string, overrides: string[], message: string[]]>([
  [
    'negatives for one end',
    ['training.negative_sampling.negatives_per_positive={src: 5}'],
    ['training.negative_sampling.negatives_per_positive', '{ src, dst }', '"src":5'],
  ],
  [
    'moduli of an odd width',
    [
      'model.encoder.layers=[[{type: EMBEDDING, output_dim: 7}]]',
      'model.decoder={type: TRANSE, options: {comparator: MODULUS}}',
    ],
    ['model.decoder.options.comparator', 'an even encoder output', 'MODULUS on width 7'],
  ],
  [
    'moduli on a GPU',
    [
      'storage.device_type=webgpu',
      'model.encoder.layers=[[{type: EMBEDDING, output_dim: 8}]]',
      'model.decoder={type: ROTATE, options: {comparator: MODULUS}}',
    ],
    ['model.decoder.options.comparator', 'webgpu', 'got "MODULUS"'],
  ],
  [
    'biases of another comparator',
    ['model.decoder={type: TRANSE, options: {bias: true}}'],
    ['model.decoder.options.comparator', 'SQUARED_L2 with model.decoder.options.bias', 'got "L2"'],
  ],
  [
    'pairs of columns without one for the bias',
    ['model.encoder.layers=[[{type: EMBEDDING, output_dim: 8}]]', 'model.decoder.type=ROTE'],
    ['model.decoder.type', 'an odd encoder output', 'ROTE on width 8'],
  ],
  [
    'bounds of initial values in the wrong order',
    ['model.encoder.layers=[[{type: EMBEDDING, output_dim: 8, init: {type: UNIFORM, options: {low: 1}}}]]'],
    ['model.encoder.layers[0][0].init.options.high', 'a number above low 1', 'got 1'],
  ],
  [
    'subsampling with rows on disk',
    [
      'model.loss={type: SELF_ADVERSARIAL, options: {subsampling: true}}',
      'storage.embeddings={type: PARTITION_BUFFER, options: {num_partitions: 4, buffer_capacity: 2}}',
    ],
    ['model.loss.options.subsampling', 'PARTITION_BUFFER', 'HOST_MEMORY'],
  ],
])('%s', async (_title, overrides, message) => {
  const code = await run(['config', fixture, ...overrides.map((text) => `--${text}`)]);
  expect({ code, out: printed.out }).toEqual({ code: 2, out: '' });
  for (const part of message) expect(printed.err).toContain(part);
});
