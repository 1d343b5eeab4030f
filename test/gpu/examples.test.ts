/**
 * The example that trains on the GPU runs and ends with an accuracy: on a generated graph,
 * and in the long suite on Cora where $SKEIN_DATA has it. The bounds are five points below what several seeds reach.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isWide } from '../wide.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bounds = { cora: 0.72, generated: 0.9 };
const env = isWide ? process.env : { ...process.env, SKEIN_DATA: '/nowhere' };

test('examples/gpu/cora-gcn-webgpu trains', () => {
  const args = [join(root, 'scripts/example.mjs'), 'gpu/cora-gcn-webgpu', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root, env });
  const last = stdout.trim().split('\n').at(-1) ?? '';
  expect(last, stderr.slice(-2000)).toContain('"event":"done"');
  const done = JSON.parse(last) as { dataset: keyof typeof bounds; test_accuracy: number };
  expect(done.test_accuracy).toBeGreaterThan(bounds[done.dataset]);
}, 240_000);
