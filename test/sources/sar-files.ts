/** Partition files for the tests of SAR's documents, written before the tests of a file and removed after them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { writeFiles } from './sar-data.js';

/** Returns the folder of the files for one worker and for each of `counts`; workers find it in the environment. */
export function useSarFiles(counts: readonly number[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-sar-'));
  beforeAll(() => {
    process.env['SKEIN_TEST_SAR'] = folder;
    for (const workers of [1, ...counts]) writeFiles(folder, workers);
  });
  afterAll(() => {
    delete process.env['SKEIN_TEST_SAR'];
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
