/**
 * The example that trains on the graphics processor runs and ends with an accuracy: on Cora where $SKEIN_DATA has it,
 * otherwise on a generated graph. The bounds are five points below what several seeds reach.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bounds = { cora: 0.72, generated: 0.9 };

test('examples/gpu/cora-gcn-webgpu trains', () => {
  const args = [join(root, 'scripts/example.mjs'), 'gpu/cora-gcn-webgpu', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root });
  const last = stdout.trim().split('\n').at(-1) ?? '';
  expect(last, stderr.slice(-2000)).toContain('"event":"done"');
  const done = JSON.parse(last) as { dataset: keyof typeof bounds; test_accuracy: number };
  expect(done.test_accuracy).toBeGreaterThan(bounds[done.dataset]);
}, 240_000);
