/**
 * The gate before a commit: format, lint, layers, words, links, public names, side effects, kernel parameters, size budget, types,
 * dead code, package. Runs all of them, then reports which failed.
 */
import { join } from 'node:path';
import { root, run, since, tail } from './steps.mjs';

const bin = (name) => join(root, 'node_modules', '.bin', name);
const script = (name) => [process.execPath, [join(root, 'scripts', name)]];

const checks = [
  ['format and lint', bin('biome'), ['ci', '--colors=off', '--error-on-warnings', '.'], 'npm run format'],
  ['layers', ...script('check-layers.mjs')],
  ['words', ...script('check-words.mjs')],
  ['links', ...script('check-links.mjs')],
  ['public names', ...script('check-api.mjs'), 'npm run api'],
  ['side effects', ...script('check-effects.mjs')],
  ['kernel parameters', ...script('check-kernels.mjs')],
  ['size budget', ...script('check-budget.mjs')],
  ['types', bin('tsc'), ['--noEmit', '--pretty', 'false']],
  ['types of the page', bin('tsc'), ['-p', 'web/tsconfig.json', '--noEmit', '--pretty', 'false']],
  ['dead code', bin('knip'), ['--no-progress']],
  ['package', ...script('check-package.mjs')],
];

const failed = [];
for (const [name, command, args, remedy] of checks) {
  const start = performance.now();
  const { code, output } = run(command, args);
  console.log(`check: ${name}: ${code === 0 ? 'ok' : 'FAILED'} (${since(start)})`);
  if (code !== 0) failed.push(name);
  if (output.trim() !== '' && (code !== 0 || name === 'size budget')) console.log(tail(output, 200));
  if (code !== 0 && remedy) console.log(`    Try: ${remedy}`);
}
if (failed.length > 0) {
  console.error(`check: failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
