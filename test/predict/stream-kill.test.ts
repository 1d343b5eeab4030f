/** A stream that is killed with SIGKILL under load has every acknowledged event once, and the bytes of one that was not. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { trainedRun } from './stream-fixtures.js';
import { type EndOfStream, runWithKills } from './stream-kills.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-kills-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('three kills', async () => {
  const run = await trainedRun(folder, 'statistics');
  const ends: EndOfStream[] = [];
  for (const kills of [0, 3]) {
    const own = join(folder, `${kills} kills`);
    mkdirSync(own);
    ends.push(await runWithKills(run, own, 2400, kills, 25));
  }
  expect(ends[0].version).toBe(2400);
  expect(ends[1].kills).toBe(3);
  expect({ ...ends[1], kills: 0 }).toEqual(ends[0]);
}, 120_000);
