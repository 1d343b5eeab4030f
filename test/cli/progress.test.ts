/** Progress of training and preparing: on a terminal one line that is redrawn, elsewhere plain lines. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasScript, onTerminal, prepareFacts, shell, skein, workFolder } from './processes.js';

const work = workFolder();
beforeAll(() => prepareFacts(work, 20_000), 60_000);

const train = (run: string): string =>
  `${skein} train facts.yaml --storage.model_dir=${run} --training.num_epochs=3`;
const esc = String.fromCharCode(27);
const eraseLine = `\r${esc}[K`;

/** Returns the final content of each line of a terminal, without colours. */
function screen(text: string): string[] {
  const plain = text.replaceAll('\r\n', '\n').replaceAll(new RegExp(`${esc}\\[[\\d;]*m`, 'g'), '');
  return plain.split('\n').map((line) => line.split(eraseLine).at(-1) ?? '');
}

const epochs = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('epoch'));

describe.skipIf(!hasScript)('on a terminal', () => {
  it('redraws one line and prints each epoch once', () => {
    const { code, out } = onTerminal(train('terminal'), work, 100);
    expect(code, out).toBe(0);
    const lines = screen(out);
    expect(epochs(lines).map((line) => line.slice(0, 8))).toEqual(['epoch 1 ', 'epoch 2 ', 'epoch 3 ']);
    expect(new Set(lines.filter((line) => line !== '')).size).toBe(
      lines.filter((line) => line !== '').length,
    );
    expect(out).toContain('█');
    expect(out).toContain(`${esc}[36m`);
    expect(out).toContain('epoch 1/3');
    expect(lines.at(-2)).toMatch(/^Done in .* s\. Saved in /);
  }, 240_000);

  it('fits a narrow one, without colours when they are disabled', () => {
    const { code, out } = onTerminal(train('narrow'), work, 32, { NO_COLOR: '1', LANG: 'C', LC_ALL: 'C' });
    expect(code, out).toBe(0);
    expect(out).not.toContain(`${esc}[3`);
    const drawn = out
      .replaceAll('\r\n', '\n')
      .split('\n')
      .flatMap((line) => line.split(eraseLine).slice(1));
    expect(drawn.some((line) => line.startsWith('epoch 1/3'))).toBe(true);
    for (const line of drawn) if (line.startsWith('epoch 1/3')) expect(line.length).toBeLessThan(32);
  }, 240_000);

  it('prints plain lines on a dumb one', () => {
    const { code, out } = onTerminal(train('dumb'), work, 80, { TERM: 'dumb' });
    expect(code, out).toBe(0);
    expect(out).not.toContain(esc);
    expect(epochs(screen(out)).filter((line) => line.startsWith('epoch 1 '))).toHaveLength(1);
  }, 240_000);
});

it('prints plain lines into a pipe, the first and the last epoch once', () => {
  const { code, out, err } = shell(train('pipe'), work);
  expect(code, err).toBe(0);
  expect(`${out}${err}`).not.toMatch(new RegExp(`[${esc}\r]`));
  // Epochs of less than a second share a line; the log has all of them.
  const printed = epochs(out.split('\n')).map((line) => line.slice(0, 8));
  expect([printed[0], printed.at(-1)]).toEqual(['epoch 1 ', 'epoch 3 ']);
  expect(new Set(printed).size).toBe(printed.length);
  expect(err).not.toContain('(100 %)');
  const log = readFileSync(join(work, 'pipe/log.txt'), 'utf8');
  expect(log.match(/epoch [123] /g)).toEqual(['epoch 1 ', 'epoch 2 ', 'epoch 3 ']);
}, 240_000);

it('keeps stdout for JSON with --json', () => {
  const { code, out, err } = shell(`${train('json')} --json`, work);
  expect(code, err).toBe(0);
  const events = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).event);
  expect(events.filter((event) => event === 'epoch')).toHaveLength(3);
  expect(epochs(err.split('\n')).at(-1)).toMatch(/^epoch 3 /);
  expect(err).toMatch(/Done in .* s\. Saved in /);
}, 240_000);

it('eval, export and preprocess say what they do and how long they took', () => {
  const { code, out, err } = shell(
    `${skein} eval pipe && ${skein} export pipe --output-dir vectors && ${skein} preprocess --edges facts.tsv --output-directory again --dataset-split 0.9 0.05 0.05`,
    work,
  );
  expect(code, err).toBe(0);
  expect(err).toContain('evaluating on the test set …\n');
  expect(err.match(/^Done in .* s\.$/gm)).toHaveLength(2);
  expect(err).toContain('reading edges …\n');
  expect(out).toMatch(/prepared again in [\d.]+ s/);
}, 240_000);
