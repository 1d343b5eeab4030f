/** `storage.device_type: webgpu` from the command line: training, exit codes, the output of `skein info --gpu`. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { skein as main, root } from '../programs.js';
import { randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';

const folder = scratch();
const rows = randomRows(31, 160, 3);
const dataset = writeDataset(folder(), {
  numNodes: 31,
  numRelations: 3,
  train: rows.subarray(0, 360),
  validation: rows.subarray(360, 420),
  test: rows.subarray(420),
});

function skein(args: readonly string[], env: Record<string, string> = {}) {
  const done = spawnSync(process.execPath, [...main, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  const events = done.stdout.split('\n').filter((line) => line.startsWith('{'));
  return { code: done.status, out: done.stdout, err: done.stderr, events: events.map((e) => JSON.parse(e)) };
}

const config = folder();
writeFileSync(config, renderConfig(tinyConfig(dataset)));
const train = (...more: string[]) => ['train', config, `--storage.model_dir=${folder()}`, '--json', ...more];

it('trains on the device and exits', () => {
  const { code, events, err } = skein(train('--storage.device_type=webgpu'));
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  expect(events[0]).toMatchObject({ event: 'config', device: 'webgpu' });
  expect(events.at(-1)).toMatchObject({ event: 'done', epochs: 2 });
}, 240_000);

it('webgpu without an adapter is code 2 with advice, cuda a warning', () => {
  const none = { SKEIN_GPU: '0' };
  const refused = skein(train('--storage.device_type=webgpu'), none);
  expect(refused.code).toBe(2);
  expect(refused.err).toMatch(/found none: SKEIN_GPU=0.*use the CPU/);
  const fallback = skein(train('--storage.device_type=cuda'), none);
  expect(fallback.code).toBe(0);
  expect(fallback.err).toMatch(/storage\.device_type: expected a GPU for cuda.*runs on the cpu/);
  expect(fallback.events[0]).not.toHaveProperty('device');
}, 240_000);

it('info shows the adapter', () => {
  const { code, events } = skein(['info', '--gpu', '--json']);
  expect(code).toBe(0);
  expect(events[0].graphics.adapter).toMatch(/\w/);
  expect(skein(['info', '--gpu'], { SKEIN_GPU: '0' }).out).toMatch(/GPU: no WebGPU adapter/);
}, 240_000);
