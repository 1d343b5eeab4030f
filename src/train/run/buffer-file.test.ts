/** buffer.json: what is written and when, and files that cannot be used. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { BufferFile, readBufferFile } from './buffer-file.js';
import type { EnteredState } from './buffer-record.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-buffer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const memory = {
  ...{ budget: 100, table: 400, buffer: 50, transfers: 10, edges: 5, reserved: 20 },
  ...{ read: 800, written: 700 },
};
const states = [
  [0, 1],
  [0, 2],
  [1, 2],
];
const entered = (state: number): EnteredState => ({
  ...{ epoch: 1, state, partitions: 3, states, buckets: null, items: [4, 5, 6] },
});

it('has the plan at once, then the first state; quick ones are left out, the last is not', () => {
  const path = join(folder, 'buffer.json');
  const file = new BufferFile(path, memory);
  expect(readBufferFile(path)).toEqual({ memory, now: null });
  file.enter(false, () => entered(0));
  expect(readBufferFile(path)?.now?.state).toBe(0);
  const undescribed = (): EnteredState => {
    throw new Error('a state that is not written is not described');
  };
  file.enter(false, undescribed);
  file.enter(true, () => entered(2));
  expect(readBufferFile(path)).toEqual({ memory, now: entered(2) });
  expect(readdirSync(folder)).toEqual(['buffer.json']);
});

it('does not end training where the file cannot be written', () => {
  const file = new BufferFile(join(folder, 'missing', 'buffer.json'), memory);
  expect(() => file.enter(true, () => entered(0))).not.toThrow();
});

it('does not end training where a state cannot be described', () => {
  const path = join(folder, 'undescribed.json');
  const file = new BufferFile(path, memory);
  const undescribed = (): EnteredState => {
    throw new Error('no such state');
  };
  expect(() => file.enter(true, undescribed)).not.toThrow();
  expect(readBufferFile(path)).toEqual({ memory, now: null });
});

it.each([
  ['half a file', '{"memory":{"table":4'],
  ['another value', '[1, 2]'],
  ['no plan', JSON.stringify({ now: null })],
  ['a state that does not exist', JSON.stringify({ memory, now: entered(7) })],
  ['states without items', JSON.stringify({ memory, now: { ...entered(0), items: [] } })],
])('takes %s for no file', (_, text) => {
  const path = join(folder, 'damaged.json');
  writeFileSync(path, text);
  expect(readBufferFile(path)).toBeNull();
  expect(readBufferFile(join(folder, 'absent.json'))).toBeNull();
});
