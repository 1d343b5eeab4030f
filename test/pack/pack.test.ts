/**
 * The package as a user gets it: packed, installed into an empty project, imported by every subpath, and the README's first
 * example run; once with a compiler on the PATH and once without.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { install, manifest, modules, type Packed, pack, type Result, root, run } from './packed.js';
import { readmeExample } from './pages.js';

let packed: Packed;

/** A PATH with Node, npm and a shell, and neither make nor a compiler. */
function pathWithoutCompiler(): string {
  const bin = join(packed.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['node', 'npm', 'sh', 'env', 'uname']) {
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
  }
  return bin;
}

function runExample(project: string, path?: string): Result {
  writeFileSync(join(project, 'example.ts'), readmeExample());
  return run(project, process.execPath, [join(root, 'node_modules/tsx/dist/cli.mjs'), 'example.ts'], path);
}

beforeAll(() => {
  packed = pack();
});

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

describe('with a compiler', () => {
  let project: string;
  beforeAll(() => {
    project = install(packed, 'native');
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
    project = install(packed, 'reference', { path });
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
