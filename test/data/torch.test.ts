/** Tensors in files of PyTorch. The fixtures are written by scripts/golden/torch_files.py. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTorch } from 'skein/data';
import { FormatError } from 'skein/util';
import { expect, onTestFinished, test } from 'vitest';
import { fixtures } from './fixtures.js';

const file = (name: string): string => join(fixtures, 'torch', `${name}.pt`);
const quarters = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75];

test.each([
  ['float', [4, 2], quarters],
  ['double', [4, 2], quarters],
  ['half', [4, 2], quarters],
  ['brain', [4, 2], quarters],
  ['long', [4, 2], [0, 1, 2, 3, 4, 5, 6, 7]],
  ['bool', [4, 2], [0, 0, 0, 1, 1, 1, 1, 1]],
  ['rows', [2, 2], [0.5, 0.75, 1, 1.25]],
  ['turned', [2, 4], [0, 0.5, 1, 1.5, 0.25, 0.75, 1.25, 1.75]],
])('%s', async (name, shape, values) => {
  const tensor = await readTorch(file(name));
  expect(tensor.shape).toEqual(shape);
  expect(Array.from(tensor.data as Float32Array)).toEqual(values);
});

test('other objects, older files, and no archive at all', async () => {
  await expect(readTorch(file('parameter'))).rejects.toThrow('expected one tensor, got another object');
  await expect(readTorch(file('legacy'))).rejects.toThrow('a zip archive of PyTorch 1.6 or later');
  await expect(readTorch(join(fixtures, 'types.npz'))).rejects.toThrow('expected a member data.pkl');
});

test('a file that is truncated or has a wrong byte anywhere is rejected', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skein-torch-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const bytes = readFileSync(file('float'));
  const path = join(folder, 'broken.pt');
  for (let length = 2; length < bytes.length; length += 37) {
    writeFileSync(path, bytes.subarray(0, length));
    await expect(readTorch(path), `cut at ${length}`).rejects.toThrow(FormatError);
  }
  for (let at = 0; at < bytes.length; at++) {
    const wrong = Buffer.from(bytes);
    wrong[at] ^= 0x55;
    writeFileSync(path, wrong);
    // Padding and dates carry no meaning; anything else must be found, and as a FormatError.
    const result = await readTorch(path).catch((error: unknown) => error);
    if (result instanceof Error) expect(result, `byte ${at}`).toBeInstanceOf(FormatError);
    else expect(Array.from((result as { data: Float32Array }).data), `byte ${at}`).toEqual(quarters);
  }
});
