/** 200 kills of a stream of statistics and 60 of a temporal graph network, under load: nothing lost, nothing twice, same bytes. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { trainedRun } from '../predict/stream-fixtures.js';
import { type EndOfStream, runWithKills } from '../predict/stream-kills.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-kills-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['statistics', 200],
  ['tgn', 60],
] as const)('%s, %i kills', async (kind, kills) => {
  const run = await trainedRun(folder, kind);
  const events = 500 * kills;
  const ends: EndOfStream[] = [];
  for (const count of [0, kills]) {
    const own = join(folder, `${kind} ${count}`);
    mkdirSync(own);
    ends.push(await runWithKills(run, own, events, count, 15));
  }
  expect(ends[0].version).toBe(events);
  expect(ends[1].kills).toBe(kills);
  expect({ ...ends[1], kills: 0 }).toEqual(ends[0]);
});
