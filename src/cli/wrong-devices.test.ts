/** Settings that do not run on a GPU are rejected when the configuration is read: exit code 2, the key, the fix. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const file = fileURLToPath(new URL('../../test/fixtures/config/embedding-only.yaml', import.meta.url));
const stream = fileURLToPath(new URL('../../examples/collegemsg-tgn.yaml', import.meta.url));
const printed = captureOutput();

async function expectFailure(path: string, ...overrides: string[]): Promise<string> {
  printed.clear();
  const given = ['storage.device_type=webgpu', ...overrides].map((override) => `--${override}`);
  expect(await run(['config', path, ...given])).toBe(2);
  return printed.err;
}

const halves = 'storage.embeddings={type: DEVICE_MEMORY, options: {dtype: float16}}';
const amsgrad = 'model.dense_optimizer={type: ADAM, options: {amsgrad: true}}';

it.each([
  ['storage.embeddings={type: PARTITION_BUFFER}', 'storage.embeddings.type', 'use device_type: cpu'],
  ['storage.features={type: PARTITION_BUFFER}', 'storage.features.type', 'use device_type: cpu'],
  [halves, 'storage.embeddings.options.dtype', 'host memory'],
  [amsgrad, 'model.dense_optimizer.options.amsgrad', 'no kernel'],
  ['distributed.mode=sar', 'distributed', 'the cpu only'],
])('%s', async (override, key, fix) => {
  const message = await expectFailure(file, override);
  expect(message).toContain(`${key}`);
  expect(message).toContain('with storage.device_type webgpu');
  expect(message).toContain(fix);
});

it('event streams have no device', async () => {
  expect(await expectFailure(stream)).toMatch(/a known key, got storage\.device_type/);
});
