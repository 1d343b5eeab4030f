/** Records of a run that is read while it is written: whole lines only, each once, and files that are cut or replaced. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { readCurves } from '../../train/run/run-curves.js';
import { parseRecord } from './parse-record.js';
import { RunCourse, RunCourses } from './run-course.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-course-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'metrics.jsonl');

const time = '2026-01-01T00:00:00.000Z';
const epoch = (number: number, loss: number): string =>
  `${JSON.stringify({ time, event: 'epoch', epoch: number, loss })}\n`;
const evaluation = (number: number, mrr: number): string =>
  `${JSON.stringify({ time, event: 'eval', set: 'validation', epoch: number, mrr })}\n`;

it('reads new lines once, and a half line when it is whole', () => {
  const course = new RunCourse(path);
  course.refresh();
  expect(course.curves.epochs).toEqual([]);
  writeFileSync(path, epoch(1, 0.5) + evaluation(1, 0.25) + epoch(2, 0.4).slice(0, 20));
  course.refresh();
  expect(course.curves.epochs.map(({ loss }) => loss)).toEqual([0.5]);
  expect(course.started).toBe(time);
  appendFileSync(path, epoch(2, 0.4).slice(20));
  course.refresh();
  course.refresh();
  expect(course.curves).toEqual(readCurves(folder));
  expect(course.curves.epochs.map(({ loss }) => loss)).toEqual([0.5, 0.4]);
  expect(course.records).toHaveLength(1);
});

it('drops a half line that a killed process left, as the resumed one does', () => {
  const course = new RunCourse(path);
  writeFileSync(path, epoch(1, 0.5) + epoch(2, 0.4) + epoch(3, 0.3).slice(0, 30));
  course.refresh();
  // A resumed process cuts the half line, and trains from its checkpoint after epoch 1.
  truncateSync(path, epoch(1, 0.5).length + epoch(2, 0.4).length);
  appendFileSync(path, epoch(2, 0.45) + evaluation(2, 0.1));
  course.refresh();
  expect(course.curves).toEqual(readCurves(folder));
  expect(course.curves.epochs.map(({ loss }) => loss)).toEqual([0.5, 0.45]);
});

it('begins again with a file that was replaced', () => {
  const courses = new RunCourses();
  writeFileSync(path, epoch(1, 0.5) + epoch(2, 0.4));
  expect(courses.of(path).curves.epochs).toHaveLength(2);
  writeFileSync(`${path}.new`, epoch(1, 0.9) + epoch(2, 0.8) + epoch(3, 0.7));
  renameSync(`${path}.new`, path);
  expect(courses.of(path).curves.epochs.map(({ loss }) => loss)).toEqual([0.9, 0.8, 0.7]);
});

it('reads lines that are longer than what is read at once', () => {
  const long = `${JSON.stringify({ event: 'note', text: 'x'.repeat(3_000_000) })}\n`;
  writeFileSync(path, epoch(1, 0.5) + long + epoch(2, 0.4));
  const course = new RunCourse(path);
  course.refresh();
  expect(course.curves.epochs).toHaveLength(2);
});

it('begins again with a file that was removed and written again under the same number', () => {
  const courses = new RunCourses();
  writeFileSync(path, epoch(1, 0.5) + epoch(2, 0.4));
  expect(courses.of(path).curves.epochs).toHaveLength(2);
  rmSync(path);
  writeFileSync(path, epoch(1, 0.9) + epoch(2, 0.8) + epoch(3, 0.7));
  expect(courses.of(path).curves.epochs.map(({ loss }) => loss)).toEqual([0.9, 0.8, 0.7]);
});

it('leaves out a line of more than 4 MiB, and what is in it, and reads on behind it', () => {
  const inner = epoch(7, 0.1).trim();
  const begin = `{"event":"note","text":"${'x'.repeat(5 * 2 ** 20)}`;
  writeFileSync(path, epoch(1, 0.5) + begin);
  const course = new RunCourse(path);
  course.refresh();
  // The position is that of a whole line, from which records are followed.
  expect(course.position).toBe(epoch(1, 0.5).length);
  const read = vi.spyOn(Buffer, 'allocUnsafe');
  course.refresh();
  // What has been looked at is not read again.
  for (const [size] of read.mock.calls) expect(size).toBeLessThanOrEqual(2 ** 20);
  read.mockRestore();
  appendFileSync(path, `${'x'.repeat(9 * 2 ** 20)}${inner}\n${epoch(2, 0.4)}`);
  course.refresh();
  expect(course.curves.epochs.map(({ epoch: number, loss }) => [number, loss])).toEqual([
    [1, 0.5],
    [2, 0.4],
  ]);
  appendFileSync(path, epoch(3, 0.3));
  course.refresh();
  expect(course.curves.epochs).toHaveLength(3);
  writeFileSync(path, epoch(1, 0.9));
  course.refresh();
  expect(course.curves.epochs.map(({ loss }) => loss)).toEqual([0.9]);
});

it('leaves out JSON that is not a record', () => {
  const wrong = [
    ...['7', 'null', '"text"', '[]', '[{"event":"epoch","epoch":9}]', 'true'],
    ...['{"event":"epoch","epoch":-1}', '{"event":"epoch","epoch":1e20}', '{"event":"epoch","epoch":1e400}'],
    ...['{"event":"epoch","epoch":"9"}', '{"event":"epoch","epoch":9,"seconds":-5}'],
    ...['{"time":"no date","event":"epoch","epoch":9}', '{"time":12,"event":"epoch","epoch":9}'],
    '{"event":"eval","set":"validation","epoch":{},"mrr":1}',
  ];
  writeFileSync(path, `${wrong.join('\n')}\n${epoch(1, 0.5)}`);
  const course = new RunCourse(path);
  course.refresh();
  expect(course.curves.epochs.map((one) => one.epoch)).toEqual([1]);
  expect([course.started, course.records]).toEqual([time, []]);
  for (const line of wrong) expect(parseRecord(line)).toBeNull();
  expect(parseRecord('{"event":"epoch","epoch":1,"loss":null,"seconds":0}')).not.toBeNull();
});
