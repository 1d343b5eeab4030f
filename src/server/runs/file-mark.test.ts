/** Marks of files: what is the same file after it has grown, and what is another one. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type FileMark, isSameFile, markOf } from './file-mark.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-mark-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'metrics.jsonl');
const seen = (before: FileMark | null = null): FileMark => markOf(path, before) as FileMark;

it('knows a file that grows, also by the rest of its first line', () => {
  expect(markOf(path)).toBeNull();
  writeFileSync(path, '');
  const empty = seen();
  appendFileSync(path, 'fir');
  const half = seen(empty);
  appendFileSync(path, 'st\nsecond\n');
  const whole = seen(half);
  expect([empty.head, half.head, whole.head]).toEqual(['', 'fir', 'first']);
  expect(isSameFile(empty, half) && isSameFile(half, whole) && isSameFile(empty, whole)).toBe(true);
  expect(seen(whole)).toBe(whole);
});

it('knows another file by its number, its birth, or its first line where births are not known', () => {
  const mark: FileMark = { size: 6, stamp: '', place: '1 2', born: 5, head: 'first' };
  expect(isSameFile(mark, { ...mark, size: 9, stamp: 'later' })).toBe(true);
  expect(isSameFile(mark, { ...mark, place: '1 3' })).toBe(false);
  expect(isSameFile(mark, { ...mark, born: 6 })).toBe(false);
  expect(isSameFile({ ...mark, born: null }, mark)).toBe(true);
  expect(isSameFile({ ...mark, born: null }, { ...mark, born: null, head: 'other' })).toBe(false);
});
