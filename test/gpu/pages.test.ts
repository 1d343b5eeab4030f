/** The blocks of README.md and docs/ that need a WebGPU adapter (test/docs/page.ts). */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { describeSegment, pages, runSegment, segmentsOf, setupOf, writeFile } from '../docs/run-page.js';
import { root } from '../programs.js';

const work = mkdtempSync(join(tmpdir(), 'skein-pages-'));
// Optional peers that pages import.
symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'), 'junction');
afterAll(() => {
  process.chdir(root);
  rmSync(work, { recursive: true, force: true });
});

for (const page of pages) {
  const segments = segmentsOf(page).filter(([{ run }]) => run === 'gpu');
  if (segments.length === 0) continue;
  describe(page, () => {
    const { files = {}, prelude = '' } = setupOf(page);
    for (const segment of segments)
      test(`line ${segment[0].line}: ${describeSegment(segment)}`, async () => {
        for (const [name, text] of Object.entries(files)) writeFile(work, name, text);
        process.chdir(work);
        await runSegment(segment, page, work, prelude);
      });
  });
}
