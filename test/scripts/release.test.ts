/** The release: manifests that name the repository, publishing in order and under the right tag, the levels tested. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { root } from '../programs.js';

type Json = Readonly<Record<string, unknown>>;
const { mainManifest, platformManifest } = (await import(join(root, 'scripts/pack/manifests.mjs'))) as {
  mainManifest(manifest: Json, address?: string): Json;
  platformManifest(platform: Json, manifest: Json, address?: string): Json;
};
const { platforms } = (await import(join(root, 'scripts/pack/platforms.mjs'))) as {
  readonly platforms: readonly Json[];
};
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Json;
const folder = mkdtempSync(join(tmpdir(), 'skein-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('manifests', () => {
  const repository = { type: 'git', url: 'git+https://github.com/owner/name.git' };

  test('name the repository when it is known', () => {
    for (const address of ['https://github.com/owner/name', 'https://github.com/owner/name.git']) {
      expect(mainManifest(manifest, address)).toMatchObject({ name: 'skein', repository });
      for (const platform of platforms)
        expect(platformManifest(platform, manifest, address)).toMatchObject({ repository });
    }
    expect(mainManifest(manifest)).not.toHaveProperty('repository');
  });

  test('reject invalid addresses', () => {
    for (const address of ['', '/', 'owner/name', 'https:///'])
      expect(() => mainManifest(manifest, address)).toThrow(
        /https:\/\/github.com\/owner\/name for --repository/,
      );
  });

  test('get the address of the workflow for every package', () => {
    const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');
    const workflow = parse(text) as { readonly env: Readonly<Record<string, string>> };
    expect(workflow.env['REPOSITORY']).toMatch(
      /^\$\{\{ github\.server_url \}\}\/\$\{\{ github\.repository \}\}$/,
    );
    const packing = text.split('\n').filter((line) => line.includes('pack:all'));
    expect(packing).toHaveLength(4);
    for (const line of packing) expect(line).toContain('--repository="$REPOSITORY"');
  });
});

/**
 * A place with a copy of a script of .ci, and programs that only note how they are called, on a PATH before all others.
 */
function place(name: string, script: string, programs: Readonly<Record<string, string>>) {
  const home = join(folder, name);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
    chmodSync(join(home, path), 0o755);
  };
  cpSync(join(root, '.ci', script), join(home, '.ci', script));
  write('calls', '');
  for (const [program, text] of Object.entries(programs)) write(`bin/${program}`, `#!/bin/sh\n${text}\n`);
  return {
    home,
    write,
    run(...args: string[]) {
      const env = { ...process.env, PATH: `${join(home, 'bin')}:${process.env['PATH']}`, HOME_OF_TEST: home };
      const { status, stdout, stderr } = spawnSync(join(home, '.ci', script), args, {
        env,
        encoding: 'utf8',
      });
      const calls = readFileSync(join(home, 'calls'), 'utf8').trim().split('\n');
      return { status, stdout, stderr, calls };
    },
  };
}

describe.skipIf(process.platform === 'win32')('publishing', () => {
  // Nothing is published yet but @skein/b.
  const npm =
    'if [ "$1" = view ]; then case "$2" in @skein/b@*) exit 0;; *) exit 1;; esac; fi; echo "$*" >> "$HOME_OF_TEST/calls"';

  function release(name: string, version: string, repository = 'git+https://github.com/owner/name.git') {
    const made = place(name, 'publish', { npm });
    for (const [file, title] of [
      ['skein-a', '@skein/a'],
      ['skein-b', '@skein/b'],
      ['skein-z', '@skein/z'],
      ['skein', 'skein'],
    ] as const) {
      const json = {
        name: title,
        version,
        ...(repository === '' ? {} : { repository: { url: repository } }),
      };
      made.write('package/package.json', JSON.stringify(json));
      mkdirSync(join(made.home, 'packages'), { recursive: true });
      const args = ['-czf', join('packages', `${file}-${version}.tgz`), 'package'];
      expect(spawnSync('tar', args, { cwd: made.home }).status).toBe(0);
    }
    return made.run(version);
  }

  test('leaves out what is there, and takes the main package last', () => {
    const { status, stdout, calls } = release('final', '1.0.0');
    expect(status).toBe(0);
    expect(stdout).toBe('@skein/b@1.0.0 is published already\n');
    expect(calls).toEqual(
      ['skein-a', 'skein-z', 'skein'].map(
        (file) => `publish ./packages/${file}-1.0.0.tgz --provenance --access public`,
      ),
    );
  });

  test('gives prereleases the tag next', () => {
    const { status, calls } = release('candidate', '1.0.0-rc.1');
    expect(status).toBe(0);
    expect(calls).toHaveLength(3);
    for (const call of calls) expect(call).toMatch(/1\.0\.0-rc\.1\.tgz .*--tag next$/);
  });

  test('publishes nothing when a package names no repository, or the main package is missing', () => {
    const { status, stderr, calls } = release('nameless', '1.0.0', '');
    expect({ status, calls }).toEqual({ status: 1, calls: [''] });
    expect(stderr).toMatch(/expected version 1\.0\.0 and a repository in packages\/skein-.*--repository=URL/);
    const empty = place('empty', 'publish', { npm });
    empty.write('packages/other.tgz', '');
    expect(empty.run('1.0.0').stderr).toMatch(/expected packages\/skein-1\.0\.0\.tgz, got: other\.tgz/);
  });
});

describe.skipIf(process.platform === 'win32')('testing a platform package', () => {
  test.each([
    ['avx2', ['portable', 'avx2'], /avx512 is not tested: the best level of this processor is avx2/],
    ['avx512', ['portable', 'avx2', 'avx512'], /^$/],
  ])('on a processor of level %s runs %j', (best, levels, said) => {
    const { run } = place(`level-${best}`, 'test-package', {
      npm: 'exit 0',
      node: `echo ${best}`,
      npx: 'echo "$SKEIN_NATIVE" >> "$HOME_OF_TEST/calls"',
    });
    const { status, stdout, calls } = run('portable avx2 avx512');
    expect({ status, calls }).toEqual({ status: 0, calls: levels });
    expect(stdout).toMatch(said);
  });
});
