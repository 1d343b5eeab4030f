/** Commands that fail or are stopped leave no files under temporary names. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { exportTable } from '../data/index.js';
import { CsvFile } from './predict/csv-file.js';
import { removingUnfinished, untilStopped } from './stop-signals.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-stop-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

it('removes what was begun when the work fails, and keeps what is complete', async () => {
  const work = removingUnfinished(async () => {
    new CsvFile(folder, 'labels.csv', ['id']).close();
    new CsvFile(folder, 'scores.csv', ['id']);
    throw new Error('disk full');
  });
  await expect(work).rejects.toThrow('disk full');
  expect(readdirSync(folder)).toEqual(['labels.csv']);
  rmSync(join(folder, 'labels.csv'));
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'removes it at %s, then ends by that signal',
  async (signal) => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    let stopped: readonly string[] = ['not yet'];
    await removingUnfinished(async () => {
      await exportTable({
        rows: {
          rows: 1,
          width: 1,
          read: async () => {
            expect(readdirSync(folder)).toHaveLength(1);
            process.emit(signal, signal);
            stopped = readdirSync(folder);
            return Float32Array.of(1);
          },
        },
        names: { size: 1, idOf: () => 0, nameOf: () => 'a' },
        format: 'csv',
        path: join(folder, `${signal}.csv`),
      });
    }).catch(() => {});
    expect(stopped).toEqual([]);
    expect(kill).toHaveBeenCalledWith(process.pid, signal);
    expect(process.listenerCount(signal)).toBe(0);
    expect(existsSync(join(folder, `${signal}.csv`))).toBe(false);
  },
);

it('tells work to stop at the first signal, and ends the process at the second', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  await untilStopped(async (stopped) => {
    process.emit('SIGINT', 'SIGINT');
    await stopped;
    expect(kill).not.toHaveBeenCalled();
    process.emit('SIGINT', 'SIGINT');
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT');
  });
  await untilStopped(async (stopped, stop) => {
    stop();
    await stopped;
  });
  expect(process.listenerCount('SIGINT')).toBe(0);
});
