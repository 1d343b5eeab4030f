/**
 * Checks that the tests find bugs: applies each mutation of mutations.mjs to a copy of the checkout, rebuilds only the
 * level of the addon that this machine runs, and runs the tests that must fail. A mutation that no test detects is a
 * failure, and so is one that does not compile. `npm run test:mutate [-- --only=name]`; `--list` lists them.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutations } from './mutations.mjs';
import { main, root, run, StepError, since, tail } from './steps.mjs';
import { countReport, firstFailure } from './test-report.mjs';

const copy = join(root, '.cache', 'mutate');

/** Copies the sources; object files of the compiler are kept from the last run, so that little is compiled. */
function makeCopy() {
  mkdirSync(copy, { recursive: true });
  const names = [
    'src',
    'test',
    'native',
    'scripts',
    'examples',
    'bench',
    'docs',
    'package.json',
    'README.md',
  ];
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'vitest.config.ts'];
  for (const name of [...names, ...settings].filter((file) => existsSync(join(root, file)))) {
    rmSync(join(copy, name), { recursive: true, force: true });
    cpSync(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  }
  cpSync(join(root, 'build'), join(copy, 'build'), { recursive: true, preserveTimestamps: true });
  rmSync(join(copy, 'node_modules'), { force: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

function compile() {
  const program = `import('./scripts/build-addon.mjs').then(({ buildAddon }) => {
    const { status, reason } = buildAddon();
    if (status !== 'built') { console.log(reason); process.exitCode = 1; }
  })`;
  const { code, output } = run(process.execPath, ['--eval', program], { cwd: copy });
  if (code !== 0) throw new StepError(`the addon does not build:\n${tail(output)}`);
}

/**
 * Runs tests in the copy and returns how many passed and failed, and the first failure. A run that crashes has failed.
 */
function runTests(files) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const args = ['run', ...files, '--root', copy, '--reporter=json', `--outputFile=${report}`];
  const { code, output } = run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: copy,
  });
  const { passed, failed } = countReport(report, code);
  return { passed, failed, output, first: failed > 0 ? firstFailure(report) : '' };
}

/** Returns the outcome of one mutation, as a line. */
function tryMutation({ name, about, file, find, put, tests }) {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(find).length !== 2)
    throw new StepError(`${name}: expected \`${find}\` once in ${file}. Adapt scripts/mutations.mjs.`);
  const isNative = file.startsWith('native/');
  writeFileSync(
    path,
    text.replace(find, () => put),
  );
  try {
    if (isNative) compile();
    return { name, about, ...runTests(tests) };
  } finally {
    writeFileSync(path, text);
    if (isNative) compile();
  }
}

await main('mutate', () => {
  const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length);
  const chosen = mutations.filter(({ name }) => only === undefined || name === only);
  if (chosen.length === 0)
    throw new StepError(
      `expected one of ${mutations.map(({ name }) => name).join(', ')} for --only, got ${only}.`,
      2,
    );
  if (process.argv.includes('--list')) {
    for (const { name, about } of chosen) console.log(`${name.padEnd(26)} ${about}`);
    return;
  }
  makeCopy();
  compile();
  const all = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const start = performance.now();
  const { passed, failed, first, output } = runTests(all);
  if (failed > 0)
    throw new StepError(`${failed} tests fail without any mutation, first: ${first}\n${tail(output)}`);
  console.log(`without a mutation: ${passed} passed (${since(start)})`);
  const missed = [];
  for (const mutation of chosen) {
    const begun = performance.now();
    const result = tryMutation(mutation);
    const outcome =
      result.failed > 0 ? `found: ${result.failed} failed, first: ${result.first}` : 'NOT FOUND';
    console.log(`${mutation.name.padEnd(26)} ${outcome} (${since(begun)})`);
    if (result.failed === 0) missed.push(mutation.name);
  }
  console.log(`${chosen.length - missed.length} of ${chosen.length} mutations found`);
  if (missed.length > 0) throw new StepError(`no test detects ${missed.join(', ')}.`);
});
