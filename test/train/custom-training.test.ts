/** The example of training put together by hand runs and ends with its metrics. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('examples/custom-training runs', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const args = [join(root, 'scripts/example.mjs'), 'custom-training', '--json', '--epochs', '3'];
  const env = { ...process.env, SKEIN_DATA: '/nowhere' };
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root, env });
  expect(status, stderr).toBe(0);
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
    event: string;
    mrr: number;
    epochs: number;
  };
  expect(done).toMatchObject({ event: 'done', dataset: 'generated', epochs: 3 });
  expect(done.mrr).toBeGreaterThan(0);
}, 240_000);
