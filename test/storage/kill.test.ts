/** Kill -9 at any moment: the files of the last manifest are intact, and work continues from there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { program, root } from '../programs.js';
import { scratchFolder, wholeColumn } from './tables.js';

const folder = scratchFolder();

/** Runs the writer until it has saved a round, then kills it a random while later. */
async function runAndKill(at: string, delay: number): Promise<void> {
  const child = spawn(process.execPath, [program('test/storage/killed-writer.ts'), at], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exit]);
  await new Promise((resolve) => setTimeout(resolve, delay));
  child.kill('SIGKILL');
  const [code, signal] = await exit;
  expect([code, signal]).toEqual([null, 'SIGKILL']);
}

test('the last saved manifest is whole after every kill', async () => {
  const at = await folder();
  await mkdir(at, { recursive: true });
  let last = 0;
  for (const delay of [0, 13, 37, 71]) {
    await runAndKill(at, delay);
    expect(existsSync(join(at, 'manifest.json'))).toBe(true);
    const { round, manifest } = JSON.parse(readFileSync(join(at, 'manifest.json'), 'utf8')) as {
      round: number;
      manifest: TableManifest;
    };
    expect(round).toBeGreaterThan(last);
    last = round;
    const files = await TableFiles.open(join(at, 'table'), manifest);
    await files.verify();
    expect((await wholeColumn(files)).every((x) => x === round)).toBe(true);
  }
}, 240_000);
