/** Names of runs: made of the letters and digits of their folders, in any script. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { RunCatalog } from './run-catalog.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-catalog-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('keeps letters of every script, and names a run without any "run"', () => {
  const folders = ['первый', '日本語 2', 'हिन्दी', 'cafe\u0301', '!!!', '???', '🂡', `${'a'.repeat(59)}𝒳𝒴`];
  for (const name of folders) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'full_config.yaml'), 'model: {}\n');
  }
  const catalog = new RunCatalog([folder]);
  const names = catalog.list().map(({ name }) => name);
  expect([...names].sort()).toEqual(
    ['первый', '日本語-2', 'हिन्दी', 'caf\u00e9', 'run', 'run-2', 'run-3', `${'a'.repeat(59)}𝒳`].sort(),
  );
  for (const name of names) expect(catalog.find(name)?.name).toBe(name);
  for (const name of names) expect(decodeURIComponent(encodeURIComponent(name))).toBe(name);
});
