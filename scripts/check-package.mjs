/**
 * Packs the package and checks it with two tools: publint (fields of package.json, formats, missing files) and attw
 * (whether TypeScript finds the types of every import). Builds dist/ first, so that it contains the files that would be
 * published. Declarations may import only packages that every user has: no optional ones, and no types of Node.js.
 *
 * attw runs with the profile `esm-only`: the package has ES modules only. `require('skein')` works in every supported
 * Node.js, because these load ES modules by `require`; TypeScript's `node16` still reports that as an error.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buildJs } from './build-js.mjs';
import { main, root, run, StepError } from './steps.mjs';

const bin = (name) => join(root, 'node_modules', '.bin', name);

function pack() {
  const folder = join(root, '.cache', 'pack');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Scripts would build again.
  const packed = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]);
  if (packed.code !== 0) throw new StepError(`npm pack failed:\n${packed.output.trimEnd()}`);
  return join(folder, readdirSync(folder)[0]);
}

const withoutComments = (path) => readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');

/** Returns the imports and global types of declarations that some users' compilers cannot find. */
function missingTypes() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const waiting = Object.values(manifest.exports).flatMap(({ types }) => (types ? [join(root, types)] : []));
  const seen = new Set(waiting);
  const missing = [];
  for (const path of waiting) {
    const [global] = /\b(AbortSignal|AbortController|Buffer|NodeJS)\b/.exec(withoutComments(path)) ?? [];
    if (global !== undefined) missing.push(`${relative(root, path)} uses ${global}`);
    for (const [, , name] of withoutComments(path).matchAll(/(\bfrom |\bimport\()'([^']+)'/g)) {
      const file = join(dirname(path), name.replace(/\.js$/, '.d.ts'));
      const owner = name.split('/', name.startsWith('@') ? 2 : 1).join('/');
      if (!name.startsWith('.')) {
        if (!(owner in manifest.dependencies)) missing.push(`${relative(root, path)} imports ${name}`);
      } else if (!seen.has(file)) {
        seen.add(file);
        waiting.push(file);
      }
    }
  }
  return missing;
}

await main('check-package', () => {
  buildJs();
  const missing = missingTypes();
  if (missing.length > 0)
    throw new StepError(`expected declarations without optional packages, got:\n${missing.join('\n')}`);
  const tarball = pack();
  const tools = [
    ['publint', ['run', tarball, '--strict']],
    ['attw', [tarball, '--profile', 'esm-only', '--no-color', '--no-emoji']],
  ];
  const failed = tools
    .map(([name, args]) => ({ name, ...run(bin(name), args) }))
    .filter(({ code }) => code !== 0);
  if (failed.length > 0)
    throw new StepError(failed.map(({ name, output }) => `${name}:\n${output}`).join('\n'));
});
