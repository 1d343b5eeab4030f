/** Following a file: lines as they are written, whole ones only, and files that are replaced. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type FollowedLines, followLines } from './follow-lines.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-follow-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Takes what the file gives until `count` lines have come. */
async function take(lines: AsyncGenerator<FollowedLines>, count: number): Promise<string[]> {
  const found: string[] = [];
  while (found.length < count) {
    const next = await lines.next();
    if (next.done) break;
    found.push(...(next.value.kind === 'restart' ? ['(restart)'] : next.value.lines));
  }
  return found;
}

it('gives the lines that exist, then later ones, each once and whole', async () => {
  const path = join(folder, 'growing.jsonl');
  const ending = new AbortController();
  const lines = followLines(path, { signal: ending.signal, every: 5 });
  writeFileSync(path, 'one\ntwo\nthr');
  expect(await take(lines, 2)).toEqual(['one', 'two']);
  appendFileSync(path, 'ee\nfour – ü\n');
  expect(await take(lines, 2)).toEqual(['three', 'four – ü']);
  writeFileSync(join(folder, 'next'), 'new one\n');
  renameSync(join(folder, 'next'), path);
  expect(await take(lines, 2)).toEqual(['(restart)', 'new one']);
  ending.abort();
  expect((await lines.next()).done).toBe(true);
});

it('waits for a file that does not exist yet', async () => {
  const path = join(folder, 'later.jsonl');
  const ending = new AbortController();
  const lines = followLines(path, { signal: ending.signal, every: 5 });
  setTimeout(() => writeFileSync(path, 'here\n'), 20);
  expect(await take(lines, 1)).toEqual(['here']);
  ending.abort();
});

it('restarts with a file that was removed and written again under the same number', async () => {
  const path = join(folder, 'again.jsonl');
  const ending = new AbortController();
  writeFileSync(path, 'one\ntwo\n');
  const lines = followLines(path, { signal: ending.signal, every: 5 });
  expect(await take(lines, 2)).toEqual(['one', 'two']);
  rmSync(path);
  writeFileSync(path, 'first\nsecond\nthird\n');
  expect(await take(lines, 4)).toEqual(['(restart)', 'first', 'second', 'third']);
  ending.abort();
});
