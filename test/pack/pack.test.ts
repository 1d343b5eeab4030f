/**
 * The package as a user gets it: packed, installed into an empty project, imported by every subpath, type-checked by a
 * strict consumer, and the README's first example run; once with a compiler on the PATH and once without.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'skein-pack-'));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const subpaths = Object.keys(manifest.exports).map((path) => path.replace('.', 'skein'));
const modules = subpaths.filter((path) => !path.endsWith('.json'));

let packed: { filename: string; files: { path: string }[] };

interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in `cwd`, keeping this test's own settings away from it. */
function run(cwd: string, command: string, args: readonly string[], path = process.env.PATH): Result {
  const { SKEIN_NATIVE: _native, NODE_OPTIONS: _options, ...env } = process.env;
  const done = spawnSync(command, args, { cwd, env: { ...env, PATH: path }, encoding: 'utf8' });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

/** An empty project with the packed package in it. */
function install(name: string, path?: string): string {
  const project = join(work, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--foreground-scripts'];
  const done = run(project, 'npm', [...args, join(work, packed.filename)], path);
  expect(done.code, done.err).toBe(0);
  writeFileSync(join(project, 'install.log'), done.out + done.err);
  return project;
}

/** A PATH with Node, npm and a shell, and neither make nor a compiler. */
function pathWithoutCompiler(): string {
  const bin = join(work, 'bin');
  mkdirSync(bin);
  for (const name of ['node', 'npm', 'sh', 'env', 'uname']) {
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
  }
  return bin;
}

/** The first TypeScript block of the README. */
function readmeExample(): string {
  const example = readFileSync(join(root, 'README.md'), 'utf8').match(/```ts\n([\s\S]*?)```/)?.[1];
  expect(example, 'README.md has a ```ts block').toBeDefined();
  return example as string;
}

function runExample(project: string, path?: string): Result {
  writeFileSync(join(project, 'example.ts'), readmeExample());
  return run(project, process.execPath, [join(root, 'node_modules/tsx/dist/cli.mjs'), 'example.ts'], path);
}

beforeAll(() => {
  const args = ['pack', '--json', '--pack-destination', work];
  const done = run(root, 'npm', args);
  expect(done.code, done.err).toBe(0);
  packed = JSON.parse(done.out.slice(done.out.indexOf('[')))[0];
});

afterAll(() => rmSync(work, { recursive: true, force: true }));

test('the package holds what it needs and nothing else', () => {
  const paths = packed.files.map((file) => file.path);
  for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'native/Makefile', 'scripts/build-addon.mjs']) {
    expect(paths).toContain(path);
  }
  const allowed =
    /^(dist|native)\/|^scripts\/build-addon\.mjs$|^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
  expect(paths.filter((path) => !allowed.test(path))).toEqual([]);
  expect(paths.filter((path) => /\.(test\.|tsbuildinfo|node$|o$)/.test(path))).toEqual([]);
});

describe('with a compiler', () => {
  let project: string;
  beforeAll(() => {
    project = install('native');
  });

  test('the addon is built and used', () => {
    expect(existsSync(join(project, 'node_modules/skein/build/skein-portable.node'))).toBe(true);
    const code = "import { nativeStatus } from 'skein/native'; console.log(nativeStatus().backend);";
    expect(run(project, process.execPath, ['--input-type=module', '-e', code])).toMatchObject({
      out: 'native\n',
      err: '',
    });
  });

  test.each(modules)('%s can be imported', (module) => {
    const code = `import * as m from '${module}'; if (Object.keys(m).length === 0) throw new Error('exports nothing');`;
    expect(run(project, process.execPath, ['--input-type=module', '-e', code])).toMatchObject({
      code: 0,
      err: '',
    });
  });

  test('types resolve for a strict consumer without DOM and Node types', () => {
    const lines = modules.map(
      (module, i) => `import * as m${i} from '${module}';\nexport const k${i}: object = m${i};\n`,
    );
    writeFileSync(join(project, 'consumer.ts'), lines.join(''));
    const options = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
    };
    const tsconfig = { compilerOptions: { ...options, types: [], noEmit: true }, files: ['consumer.ts'] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(tsconfig));
    const tsc = run(project, process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '--pretty',
      'false',
    ]);
    expect(tsc.out).toBe('');
    expect(tsc.code).toBe(0);
  });

  test('a bundler for browsers takes it in, with what only runs for its effects', () => {
    const parts = ['util', 'native', 'tensor', 'nn', 'graph', 'sample', 'gnn', 'temporal', 'interop', 'gpu'];
    const lines = parts.map((part) => `export * as ${part} from 'skein/${part}';\n`);
    writeFileSync(join(project, 'parts.js'), lines.join(''));
    writeFileSync(
      join(project, 'page.js'),
      "import * as parts from './parts.js';\nglobalThis.count = Object.keys(parts).length;\n" +
        'globalThis.sum = parts.tensor.tensor([1, 2]).add(1).sum().item();\n',
    );
    const options = [
      '--bundle',
      '--format=iife',
      '--platform=browser',
      '--target=es2022',
      '--outfile=out.js',
    ];
    const args = ['page.js', '--log-level=error', '--log-override:empty-import-meta=silent', ...options];
    expect(run(project, join(root, 'node_modules/.bin/esbuild'), args)).toMatchObject({ code: 0, err: '' });
    // A context of the language alone: no process, no require.
    const page = createContext({});
    runInContext(readFileSync(join(project, 'out.js'), 'utf8'), page);
    expect(page).toMatchObject({ count: parts.length, sum: 5 });
  });

  test('the README example runs', () => {
    expect(runExample(project)).toMatchObject({ code: 0, err: '' });
  });

  test('the command runs', () => {
    const { code, out } = run(project, join(project, 'node_modules/.bin/skein'), ['--version']);
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: manifest.version });
  });
});

describe('without a compiler', () => {
  let project: string;
  let path: string;
  beforeAll(() => {
    path = pathWithoutCompiler();
    project = install('reference', path);
  });

  test('installation succeeds with a note that says what to do', () => {
    const log = readFileSync(join(project, 'install.log'), 'utf8');
    expect(log).toMatch(/native kernels not built: make and a C\+\+ compiler .*not found/);
    expect(log).toContain('npm rebuild skein');
  });

  test('the README example runs on the reference kernels with one warning', () => {
    const { code, err } = runExample(project, path);
    expect(code, err).toBe(0);
    expect(err.match(/SkeinWarning:/g) ?? []).toHaveLength(1);
  });
});
