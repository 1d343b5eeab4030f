/** The check of words reports phrases by file and line with their replacement, and accepts plain text. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/check-words.mjs', import.meta.url));
const roots: string[] = [];

/** Runs the script on a new repository with these files. */
function run(files: Readonly<Record<string, string>>, ...args: string[]) {
  const root = mkdtempSync(join(tmpdir(), 'skein-words-'));
  roots.push(root);
  spawnSync('git', ['init', '-q', root]);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return spawnSync(process.execPath, [script, `--root=${root}`, ...args], { encoding: 'utf8' });
}

/** The lines reported for the text of one source file. */
function check(text: string, ...args: string[]): string[] {
  const { status, stderr } = run({ 'src/a.ts': text }, ...args);
  const problems = stderr.split('\n').filter((line) => line !== '');
  expect(status).toBe(problems.length > 0 ? 1 : 0);
  return problems;
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

test.each([
  ['a phrase', '\n// A run goes on.\n', 'src/a.ts:2: "goes on": write "resume, continue" instead'],
  ['a phrase over a line break', '/**\n * A run goes\n * on.\n */', 'src/a.ts:2: "goes * on": write'],
  ['a phrase over joined strings', "f('it is under ' +\n  'way');", 'src/a.ts:1: "under '],
  ['an opening of a doc comment', '/** Of a worker. */', 'src/a.ts:1: "Of": write'],
  ['an opening on the second line', '/**\n * The same for rows.\n */', 'src/a.ts:2: "The same": write'],
  ['part of an identifier', 'trainAndJudge();', 'src/a.ts:1: "Judge": write "evaluate…" instead'],
  ['a negated noun', '// A list is no object.', 'src/a.ts:1: "is no object": write'],
])('%s is found', (_, text, message) => {
  const problems = check(text);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(message);
});

test('plain text passes', () => {
  const text = `/** Returns the same rows. There is no default; it is no longer than 3. */
    // A run resumes. Besides, the caller goes on to the next page.
    const word = 'what';\n`;
  expect(check(text)).toEqual([]);
});

test('file names are checked, and Markdown at the root; other folders are not', () => {
  const { stderr } = run({ 'src/adj-hand-over.ts': '', 'NOTES.md': 'anew', 'out/a.ts': '// anew' });
  expect(stderr).toContain('src/adj-hand-over.ts: "hand-over": write');
  expect(stderr).toContain('NOTES.md:1: "anew"');
  expect(stderr).not.toContain('out/a.ts');
});

test('--advice adds words that are right in some sentences', () => {
  expect(check('// A piece of text.')).toEqual([]);
  expect(check('// A piece of text.', '--advice')).toHaveLength(1);
});

test('paths limit the scan, and --summary counts', () => {
  const files = { 'src/dist/a.ts': '// anew\n// anew', 'src/gpu/b.ts': '// anew' };
  expect(run(files, 'src/gpu').stderr.trim().split('\n')).toHaveLength(1);
  expect(run(files, '--summary').stdout).toMatch(/^ +2 src\/dist\n +1 src\/gpu\nby phrase:\n +3 anew\n/);
});
