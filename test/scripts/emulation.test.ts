/** Programs that write a report and then do not end, as Node.js under Wine does at times. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from '../programs.js';

const { runReporting } = (await import(join(root, 'scripts/emulation.mjs'))) as {
  runReporting(
    command: string,
    args: readonly string[],
    options: { report: string; grace: number },
  ): Promise<number>;
};

const folder = mkdtempSync(join(tmpdir(), 'skein-emulation-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program that writes a report of success or failure and then does `last`. */
function report(name: string, success: boolean, last: string, grace: number): Promise<number> {
  const path = join(folder, `${name}.json`);
  const write = `require('node:fs').writeFileSync(${JSON.stringify(path)}, '{"success":${success}}');`;
  return runReporting(process.execPath, ['-e', write + last], { report: path, grace });
}
const hang = 'setInterval(() => {}, 1000);';

test('a program that hangs after its report is ended, and its report says how it went', async () => {
  expect(await report('passed', true, hang, 300)).toBe(0);
  expect(await report('failed', false, hang, 300)).toBe(1);
});

test('a program that ends has its own exit code', async () => {
  expect(await report('own', true, 'process.exitCode = 3;', 60_000)).toBe(3);
  const absent = { report: join(folder, 'none.json'), grace: 300 };
  expect(await runReporting('skein-no-such-program', [], absent)).toBe(127);
});

test('a program without a report may take its time', async () => {
  const args = ['-e', 'setTimeout(() => process.exit(4), 1200);'];
  expect(await runReporting(process.execPath, args, { report: join(folder, 'none.json'), grace: 100 })).toBe(
    4,
  );
});
