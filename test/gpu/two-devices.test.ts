/** Two devices with averaged gradients learn what one device learns. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('examples/gpu/two-devices: workers with a device each, the model of one within 1e-5', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['scripts/example.mjs', 'gpu/two-devices', '--json'];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, number>;
  expect(done).toMatchObject({ event: 'done', devices: 2 });
  expect(done['accuracy']).toBeGreaterThan(0.9);
  expect(done['accuracy_on_one']).toBe(done['accuracy']);
  expect(done['largest_difference']).toBeLessThan(1e-5);
}, 120_000);
