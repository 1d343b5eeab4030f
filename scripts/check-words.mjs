/**
 * Checks the vocabulary: reports words of scripts/words.mjs in source, tests, documentation and file names, as
 * `file:line: "phrase": write "…" instead`.
 *
 *     node scripts/check-words.mjs [--summary] [--advice] [folder or file …]
 *
 * `--summary` prints counts per folder and per phrase instead of every line. `--advice` adds words that are wrong in
 * most sentences but not in all. `--root=<folder>` scans another tree (used by the test of this script).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, run } from './steps.mjs';
import { identifiers, openings, phrases } from './words.mjs';

const areas = ['src', 'test', 'native', 'bench', 'examples', 'scripts', 'docs'];
const scanned = /\.(ts|mts|js|mjs|cpp|cc|h|def|py|wgsl|css|html|md|ya?ml|json)$/;
/** The list itself, and its test. */
const unscanned = new Set(['scripts/words.mjs', 'test/scripts/check-words.test.ts']);

/** A space of a phrase: blanks, or a line break with what continues a comment or a string on the next line. */
const gap = String.raw`(?:[^\S\n]+|[^\S\n]*(?:['"\x60][^\S\n]*\+?[^\S\n]*)?\n[^\S\n]*(?:\*(?!\/)|\/\/+|#+|>|['"\x60])?[^\S\n]*)`;
const spaced = (find, flags) => new RegExp(find.source.replaceAll(' ', gap), flags);

const rules = [
  ...phrases.map((entry) => ({ ...entry, pattern: spaced(entry.find, 'gi') })),
  ...identifiers.map((entry) => ({ ...entry, pattern: new RegExp(entry.find.source, 'g') })),
  ...openings.map((entry) => ({
    ...entry,
    pattern: spaced(new RegExp(String.raw`(?<=\/\*\*(?:\s*\n\s*\*)?\s*)(?:${entry.find.source})`), 'g'),
  })),
];

/** Files that git tracks or would track in the scanned folders, and Markdown at the root. */
function listFiles(base, only) {
  const { code, output } = run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: base,
  });
  if (code !== 0) throw new Error(`check-words: git ls-files failed: ${output}`);
  const isWanted = (file) =>
    only.length === 0 || only.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
  return output
    .split('\n')
    .filter((file) => areas.includes(file.split('/')[0]) || /^[^/]+\.md$/.test(file))
    .filter((file) => !unscanned.has(file) && isWanted(file));
}

/** Whether an exception of `rule` covers this line; marks the exception as used. */
function isExcepted(rule, file, line, used) {
  const exception = (rule.except ?? []).find(
    (entry) =>
      (entry.file === file || (entry.file.endsWith('/') && file.startsWith(entry.file))) &&
      (entry.text === undefined || entry.text.test(line)),
  );
  if (exception) used.add(exception);
  return exception !== undefined;
}

/** Findings in one file: in its name, reported as line 0, and in its text. One per rule and line, none twice. */
function findIn(file, text, active, used) {
  const lines = text.split('\n');
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  const found = [];
  const taken = new Set();
  for (const rule of active) {
    const name = file.match(new RegExp(rule.pattern.source, rule.pattern.flags.replace('g', '')));
    if (name && !isExcepted(rule, file, file, used)) found.push({ file, line: 0, phrase: name[0], rule });
    let line = 0;
    let last = -1;
    for (const match of text.matchAll(rule.pattern)) {
      while (starts[line + 1] <= match.index) line++;
      if (line === last || taken.has(match.index) || isExcepted(rule, file, lines[line], used)) continue;
      last = line;
      taken.add(match.index);
      found.push({ file, line: line + 1, phrase: match[0].replace(/\s+/g, ' '), rule });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

/** Lines `count name`, largest first. */
function countBy(found, key) {
  const counts = new Map();
  for (const one of found) counts.set(key(one), (counts.get(key(one)) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${String(count).padStart(6)} ${name}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { summary: { type: 'boolean' }, advice: { type: 'boolean' }, root: { type: 'string' } },
});
const base = values.root ?? root;
const active = rules.filter((rule) => values.advice || !rule.advice);
const used = new Set();
const found = [];
for (const file of listFiles(base, positionals)) {
  let text = '';
  try {
    if (scanned.test(file)) text = readFileSync(join(base, file), 'utf8');
  } catch {
    continue; // Deleted, but not yet in git's index.
  }
  found.push(...findIn(file, text, active, used));
}

if (values.summary) {
  const folder = ({ file }) => (file.includes('/') ? file.split('/').slice(0, 2).join('/') : 'root');
  for (const line of countBy(found, folder)) console.log(line);
  console.log('by phrase:');
  for (const line of countBy(found, ({ phrase }) => phrase.toLowerCase())) console.log(line);
} else {
  for (const { file, line, phrase, rule } of found)
    console.error(`${file}${line > 0 ? `:${line}` : ''}: "${phrase}": write "${rule.use}" instead`);
}

const problems = [];
for (const rule of rules) {
  for (const entry of rule.except ?? []) {
    if (!entry.reason) problems.push(`scripts/words.mjs: the exception for ${entry.file} needs a reason`);
    // Exceptions are of this tree, and each can only be found to be unused when all of it was scanned.
    if (positionals.length === 0 && !values.root && !used.has(entry) && active.includes(rule))
      problems.push(
        `scripts/words.mjs: the exception of ${rule.find} for ${entry.file} is not needed; remove it`,
      );
  }
}
for (const problem of problems) console.error(problem);
console.log(`check-words: ${found.length} found`);
if (found.length + problems.length > 0) process.exitCode = 1;
