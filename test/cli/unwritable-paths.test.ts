/**
 * Paths that cannot be written: one sentence with the path, code 2 for a wrong path and 1 for a full disk. Full
 * and read-only disks are real ones (tmpfs) where mounting is allowed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { prepareFacts, type Result, shell, skein, workFolder } from './processes.js';

const work = workFolder();
const disk = join(work, 'disk');
const mount = (options: string): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk], { stdio: 'ignore' }).status === 0;
const unmount = (): unknown => spawnSync('umount', [disk], { stdio: 'ignore' });
mkdirSync(disk);
const canMount = mount('size=1m');
unmount();

beforeAll(() => {
  prepareFacts(work);
  writeFileSync(join(work, 'file'), 'text\n');
  // 997 nodes of 400 numbers: 1.6 MB.
  const rows = Array.from({ length: 997 }, (_, i) => `n${i},${Array(400).fill(i).join(',')}`);
  writeFileSync(join(work, 'features.csv'), `${rows.join('\n')}\n`);
  expect(shell(`${skein} train facts.yaml --storage.model_dir=run --training.num_epochs=1`, work).code).toBe(
    0,
  );
}, 240_000);

/** The only line that names the program. */
function sentence({ err }: Result): string {
  const said = err.split('\n').filter((line) => line.startsWith('skein:'));
  expect(said).toHaveLength(1);
  expect(err).not.toMatch(/^\s+at |Error:/m);
  return said[0];
}

const prepare = `${skein} preprocess --edges facts.tsv --dataset-split 0.9 0.05 0.05`;
const train = `${skein} train facts.yaml --training.num_epochs=4 --training.checkpoint.interval=1`;

describe('a file where a directory is needed', () => {
  it.each([
    [
      `${train} --storage.model_dir=file`,
      /expected a directory for storage\.model_dir, got the file \S*\/file\. /,
    ],
    [`${train} --storage.model_dir=file/run`, /\/file\/run, got ENOTDIR\. A component of the path is a file/],
    [`${prepare} --output-directory file`, /expected a directory to write to, got the file file\. /],
    [`${prepare} --output-directory file/x`, /file\/x, got ENOTDIR\. A component of the path is a file/],
    [`${skein} export run --output-dir file`, / file, got ENOTDIR\. /],
    [`${skein} export run --output-dir file/x`, /file\/x, got ENOTDIR\. /],
    [`${skein} eval file/x`, /file\/x, got ENOTDIR\. /],
  ])(
    '%#: code 2',
    (command, message) => {
      const done = shell(command, work);
      expect(sentence(done)).toMatch(message);
      expect(done.code).toBe(2);
    },
    240_000,
  );
});

describe.skipIf(!canMount)('disks', () => {
  afterEach(unmount);

  it.each([
    [`${prepare} --output-directory disk/facts`],
    [`${train} --storage.model_dir=disk/run`],
    [`${skein} export run --output-dir disk/x`],
  ])(
    'read-only: %#',
    (command) => {
      mount('size=1m,ro');
      const done = shell(command, work);
      expect(sentence(done)).toMatch(
        /expected to write \S*disk\/\S+, got EROFS\. The file system is read-only/,
      );
      expect(done.code).toBe(2);
    },
    240_000,
  );

  // Room for neither the features as they are read nor their table, and for the former alone.
  it.each(['1m', '2500k'])(
    'full while features are prepared, %s: code 1, and nothing is left behind',
    (size) => {
      mount(`size=${size}`);
      const done = shell(`${prepare} --output-directory disk/facts --node-features features.csv`, work);
      expect(sentence(done)).toMatch(
        /expected to write \S*\/disk\/\.?facts\S*, got ENOSPC\. The disk is full/,
      );
      expect(done.code).toBe(1);
      expect(readdirSync(disk)).toEqual([]);
    },
    240_000,
  );

  it('full while training: code 1, and the run resumes from its last checkpoint', () => {
    // The table of 1,000 rows of 50 and its optimiser state take 400 kB per checkpoint.
    mount('size=1400k');
    const done = shell(`${train} --storage.model_dir=disk/run`, work);
    expect(sentence(done)).toMatch(
      /expected to write \S*\/disk\/run\/\S+, got ENOSPC\. The disk is full.* Resume from the last checkpoint with: node \S+\/dist\/cli\/main\.js train \S+ --training\.resume_training=true$/,
    );
    expect(done.code).toBe(1);
    expect(existsSync(join(disk, 'run/last'))).toBe(true);
    expect(spawnSync('mount', ['-o', 'remount,size=64m', disk]).status).toBe(0);
    const resumed = shell(`${skein} train disk/run --training.resume_training=true`, work);
    expect(resumed.code, resumed.err).toBe(0);
    expect(resumed.err).toMatch(/Resuming after epoch [123]\./);
    expect(existsSync(join(disk, 'run/done.json'))).toBe(true);
  }, 240_000);
});
