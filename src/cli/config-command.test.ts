/** `skein config`: templates with the keys that are given, files checked, and errors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-config-command-'));
afterAll(() => rmSync(folder, { recursive: true }));
const plain = fileURLToPath(new URL('../../test/fixtures/config/embedding-only.yaml', import.meta.url));

const printed = captureOutput();

it('names the line of text that is not YAML, and ends the sentence', async () => {
  const path = join(folder, 'broken.yaml');
  writeFileSync(path, 'model:\n  a: b: c\n');
  expect(await run(['config', path])).toBe(2);
  expect(printed.err).toMatch(/broken\.yaml, got an error at line 2: [^:]*[a-z]\.\n$/);
});

describe('skein config', () => {
  it('takes lists as its help shows them', async () => {
    expect(await run(['config', '--help'])).toBe(0);
    const [, example] = /"(--evaluation[^"]*)"/.exec(printed.out) ?? [];
    printed.clear();
    expect(await run(['config', 'fb15k-237', example as string])).toBe(0);
    expect(parse(printed.out)).toMatchObject({ evaluation: { metrics: ['mrr', 'hits@10'] } });
    expect(await run(['config', 'fb15k-237', '--evaluation.metrics=mrr,hits@10'])).toBe(2);
    expect(printed.err).toMatch(/a list of metrics .*Write a list in brackets: \[mrr, hits@10\]\.\n$/);
  });

  it('prints a template, or a checked file with its warnings', async () => {
    expect(await run(['config', 'fb15k-237'])).toBe(0);
    expect(printed.out).toMatch(/dataset_dir: fb15k-237/);
    printed.out = '';
    expect(await run(['config', plain, '--training.num_epochs=3'])).toBe(0);
    expect(printed.out).toMatch(/num_epochs: 3/);
    expect(printed.err).toMatch(/warning: storage\.save_model/);
  });

  it('prints the keys that are given, checked as in training', async () => {
    const keys = [
      '--training.num_epochs=77',
      '--storage.model_dir="runs/a #1"',
      '--model.decoder.type=COMPLEX',
    ];
    expect(await run(['config', 'fb15k-237', ...keys])).toBe(0);
    expect(printed.out).toMatch(/^ {2}num_epochs: 77$/m);
    expect(parse(printed.out)).toMatchObject({
      training: { num_epochs: 77, batch_size: 1000 },
      storage: { model_dir: 'runs/a #1' },
      model: { decoder: { type: 'COMPLEX' } },
    });
    expect(printed.out).toMatch(/^# Skein configuration for fb15k-237/);
    printed.out = '';
    expect(await run(['config', 'fb15k-237', '--training.num_epoch=5'])).toBe(2);
    expect(printed.err).toMatch(/got training\.num_epoch\. Did you mean training\.num_epochs\?/);
    expect(await run(['config', 'fb15k-237', '--training.num_epochs=many'])).toBe(2);
    expect(printed.err).toMatch(/for training\.num_epochs, got "many"/);
    expect(printed.out).toBe('');
  });

  it('prints the columns of an event file that are given, and reads the file with them', async () => {
    const path = join(folder, 'messages.csv');
    writeFileSync(path, 'from,to,when\nana,bo,1\nbo,cy,2\n');
    expect(await run(['config', path, '--dataset.columns.time=when'])).toBe(0);
    expect(parse(printed.out)).toMatchObject({ dataset: { path, columns: { time: 'when' } } });
    expect(await run(['config', path, '--dataset.columns.time=wen'])).toBe(2);
    expect(printed.err).toMatch(/wen/);
  });

  it('prints the JSON Schema, and says what it needs without it', async () => {
    expect(await run(['config', '--schema'])).toBe(0);
    expect(JSON.parse(printed.out)).toMatchObject({ title: 'Skein configuration' });
    expect(await run(['config'])).toBe(2);
    expect(printed.err).toMatch(/expected a dataset or a file, got neither.*--schema/);
    expect(await run(['config', '--schema', 'somewhere'])).toBe(2);
    expect(printed.err).toMatch(/with --schema, got somewhere/);
  });

  it('rejects an unknown dataset and a task that the data do not allow', async () => {
    expect(await run(['config', 'fb15k-23'])).toBe(2);
    expect(await run(['config', 'fb15k-237', '--task', 'nc'])).toBe(2);
    expect(printed.err).toMatch(/Did you mean fb15k-237[\s\S]*has no labels/);
  });

  it('says how another graph is prepared, whether or not a known name is near', async () => {
    for (const [name, near] of [
      ['mls', /got "mls"\. Did you mean umls\?/],
      ['quarterly-shipments', /Known .*karate-club, cora/],
    ] as const) {
      printed.clear();
      expect(await run(['config', name])).toBe(2);
      expect(printed.err).toMatch(near);
      expect(printed.err).toContain(`preprocess --edges FILE --output-directory ${name}".`);
      printed.clear();
      expect(await run(['preprocess', '--dataset', name])).toBe(2);
      expect(printed.err).toMatch(/preprocess: expected a known dataset for --dataset, got "/);
      expect(printed.err).toMatch(near);
      expect(printed.err).toMatch(/give the files: --edges FILE --output-directory DIRECTORY\.\n$/);
    }
  });
});
