/** `skein info` and `skein config` on event files and folders. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-own-'));
const at = (name: string): string => join(folder, name);
const printed = captureOutput();

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('info names the file, its ids, features and order', async () => {
  writeFileSync(at('num.csv'), 'source,target,time,w,label\n1,2,5,0.5,0\n2,3,4,1,1\n');
  expect(await run(['info', at('num.csv')])).toBe(0);
  expect(printed.out).toMatch(/^events num \(/);
  expect(printed.out).toMatch(
    /ids +numbers from 1 to 3\nfeatures +1 per event \(w\)\nlabels +one per event\n/,
  );
  expect(printed.out).toMatch(
    /order +1 events are earlier than the preceding one: train with --dataset\.sort=true/,
  );
  printed.out = '';
  expect(await run(['info', at('num.csv'), '--json'])).toBe(0);
  expect(JSON.parse(printed.out.trim().split('\n').at(-1) as string)).toMatchObject({
    ...{ event: 'done', name: 'num', ids: 'shifted', sorted: false, featureNames: ['w'] },
  });
});

it('a folder with an event file, and one with none', async () => {
  mkdirSync(at('calls'));
  expect(await run(['info', at('calls')])).not.toBe(0);
  expect(printed.err).toContain(`got ${at('calls')}. It has no full_config.yaml`);
  writeFileSync(at('calls/calls.txt'), 'ann bob 5\nbob eve 6\n');
  expect(await run(['info', at('calls')])).toBe(0);
  expect(printed.out).toMatch(
    /^events calls \(.*\nnodes +3\n[\s\S]*ids +text, numbered by first appearance\n/,
  );
  printed.out = '';
  expect(await run(['config', at('calls')])).toBe(0);
  expect(printed.out).toContain(`path: ${at('calls')}  # relative to the working directory`);
});

it('a run takes columns by their names', async () => {
  const rows = Array.from({ length: 60 }, (_, i) => `${i},p${i % 5},q${i % 7},text`);
  writeFileSync(at('odd.csv'), `when,one,other,note\n${rows.join('\n')}\n`);
  printed.out = '';
  expect(await run(['config', at('odd.csv')])).toBe(2);
  expect(printed.err).toMatch(/odd\.csv:1: expected a column for src .*--dataset\.columns\.src=/);
  expect(printed.out).toBe('');
  const named = ['src=one', 'dst=other', 'time=when', 'features=[]'].map((one) => `--dataset.columns.${one}`);
  printed.out = '';
  expect(await run(['config', at('odd.csv'), ...named, '--train.epoch=1'])).toBe(0);
  expect(printed.out).toMatch(/^ {2}epoch: 1$/m);
  expect(printed.out).toMatch(
    /^ {2}columns:\n {4}src: one\n {4}dst: other\n {4}time: when\n {4}features: \[\]$/m,
  );
  expect(printed.out).toMatch(/^ {2}patience: 5 {20}# evaluations without a better ap$/m);
  writeFileSync(at('named.yaml'), printed.out);
  printed.out = '';
  expect(await run(['config', at('odd.csv'), '--dataset.columns.src=sender'])).toBe(2);
  expect(printed.err).toMatch(/expected a column "sender" for columns\.src/);
  expect(await run(['config', at('odd.csv'), '--dataset.bogus=1'])).toBe(2);
  expect(printed.err).toMatch(/expected a known key, got dataset\.bogus/);
  expect(printed.out).toBe('');
  expect(await run(['info', at('odd.csv'), ...named])).toBe(0);
  expect(printed.out).toMatch(/events +60 from 0 to 59\n[\s\S]*ignored +note\n/);
  const small = ['--train.epoch=1', '--train.batch_size=20', `--storage.model_dir=${at('run')}`];
  writeFileSync(
    at('odd.yaml'),
    readFileSync(at('named.yaml'), 'utf8').replace(/ {2}columns:\n( {4}.*\n)+/, ''),
  );
  expect(await run(['train', at('odd.yaml'), ...small])).not.toBe(0);
  expect(printed.err).toContain('odd.csv:1: expected a column for src');
  expect(printed.err).toContain('--dataset.columns.src=');
  const names = ['src=one', 'dst=other', 'time=0'].map((one) => `--dataset.columns.${one}`);
  printed.err = '';
  expect(await run(['train', at('odd.yaml'), ...small, ...names])).not.toBe(0);
  expect(printed.err).toContain('odd.csv:2: expected a finite number for column "note"');
  printed.err = '';
  const code = await run(['train', at('named.yaml'), ...small]);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
});

it('config rejects a file of edges without times', async () => {
  writeFileSync(at('facts.tsv'), 'ann\tknows\tbob\nbob\tknows\teve\n');
  expect(await run(['config', at('facts.tsv')])).toBe(2);
  const untimed = /facts\.tsv: expected a number or .* for the time .* preprocess --edges/;
  expect(printed.err).toMatch(untimed);
  printed.clear();
  expect(await run(['info', at('facts.tsv')])).toBe(2);
  expect(printed.err).toMatch(untimed);
  writeFileSync(at('pairs.csv'), 'head,tail\nann,bob\nbob,eve\n');
  writeFileSync(at('facts.csv'), 'head,relation,tail\nann,knows,bob\nbob,knows,eve\n');
  for (const [name, what] of [
    ['pairs.csv', 'at least the columns source, destination and time'],
    ['facts.csv', 'a column for time'],
  ]) {
    printed.clear();
    expect(await run(['info', at(name)])).toBe(2);
    expect(printed.err).toMatch(
      new RegExp(`${name}:1: expected ${what} .*Edges without times .* preprocess --edges .*${name} `),
    );
  }
});
