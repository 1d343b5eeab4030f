/**
 * Limits file sizes, so that a file can be read in one sitting. Limits are lines per file by kind: above `warn` a
 * warning is printed, above `fail` the check fails unless scripts/budget.json has an exception `{ file, lines, reason
 * }`. Biome checks the length of TypeScript functions; here only C++ functions are measured, with a warning.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './steps.mjs';

const kinds = [
  { name: 'test', match: /\.(test|cases|bench)\.ts$/, warn: 400, fail: 500 },
  { name: 'index', match: /(^|\/)index\.ts$/, warn: 60, fail: 60 },
  { name: 'C++ kernel', match: /^native\/kernels\/.*\.(cpp|h)$/, warn: 300, fail: 300 },
  {
    name: 'source',
    match: /\.(ts|mts|js|mjs|cpp|h|py|wgsl|css|html)$|^native\/.*\.def$/,
    warn: 400,
    fail: 600,
  },
];
const areas = ['src', 'native', 'test', 'bench', 'examples', 'scripts', 'web'];

/** Files that git tracks or would track, as paths from the root. */
function listFiles() {
  const { code, output } = run('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  if (code !== 0) throw new Error(`check-budget: git ls-files failed: ${output}`);
  return output.split('\n').filter((file) => areas.includes(file.split('/')[0]));
}

/**
 * Returns C++ functions longer than `limit` lines: from a definition at the line's start to its closing brace there.
 */
function longFunctions(file, lines, limit) {
  const found = [];
  let start = -1;
  for (const [index, line] of lines.entries()) {
    if (start < 0 && /^[A-Za-z_].*\(.*\{$/.test(line) && !/^(namespace|struct|class|extern)\b/.test(line))
      start = index;
    if (start < 0 || line !== '}') continue;
    if (index - start + 1 > limit)
      found.push(`${file}:${start + 1}: function of ${index - start + 1} lines (aim: ${limit})`);
    start = -1;
  }
  return found;
}

const { exceptions } = JSON.parse(readFileSync(join(root, 'scripts/budget.json'), 'utf8'));
const problems = [];
const warnings = [];
const totals = Object.fromEntries(areas.map((area) => [area, 0]));
const used = new Set();

for (const file of listFiles()) {
  const kind = kinds.find(({ match }) => match.test(file));
  if (!kind) continue;
  let text;
  try {
    text = readFileSync(join(root, file), 'utf8');
  } catch {
    continue; // Deleted, but not yet in git's index.
  }
  const lines = text.split('\n');
  const count = lines.length - 1;
  totals[file.split('/')[0]] += count;
  if (/\.(cpp|h)$/.test(file)) warnings.push(...longFunctions(file, lines, 60));
  const exception = exceptions.find((entry) => entry.file === file);
  if (exception) used.add(exception);
  const limit = exception?.lines ?? kind.fail;
  if (count > limit)
    problems.push(`${file}: ${count} lines, at most ${limit} for a ${kind.name} file; split it by topic`);
  else if (count > kind.warn && !exception)
    warnings.push(`${file}: ${count} lines (aim: at most ${kind.warn})`);
}
for (const exception of exceptions) {
  if (!used.has(exception))
    problems.push(`scripts/budget.json: ${exception.file} does not exist; remove its exception`);
  if (!exception.reason)
    problems.push(`scripts/budget.json: the exception for ${exception.file} needs a reason`);
}

for (const warning of warnings) console.log(`warning: ${warning}`);
for (const problem of problems) console.error(problem);
const total = Object.values(totals).reduce((sum, lines) => sum + lines, 0);
const parts = Object.entries(totals).filter(([, lines]) => lines > 0);
console.log(`${total} lines: ${parts.map(([area, lines]) => `${area} ${lines}`).join(', ')}`);
if (problems.length > 0) process.exitCode = 1;
