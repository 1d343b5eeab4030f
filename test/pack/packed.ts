/** The package as `npm pack` writes it, and empty projects that have it installed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** Everything that can be imported, except package.json. */
export const modules = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => path.replace('.', 'skein'));

export interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in `cwd` without this test's environment settings. */
export function run(
  cwd: string,
  command: string,
  args: readonly string[],
  path = process.env.PATH,
  more: Readonly<Record<string, string>> = {},
): Result {
  const { SKEIN_NATIVE: _native, NODE_OPTIONS: _options, ...env } = process.env;
  const options = {
    cwd,
    env: { ...env, PATH: path, ...more },
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  } as const;
  const done = spawnSync(command, args, options);
  return { code: done.status, out: done.stdout, err: done.stderr };
}

export interface Packed {
  /** A temporary folder; the caller removes it. */
  readonly folder: string;
  readonly tarball: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

export function pack(): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'skein-pack-'));
  const done = run(root, 'npm', ['pack', '--json', '--pack-destination', folder]);
  if (done.code !== 0) throw new Error(`npm pack failed:\n${done.err}`);
  const [{ filename, size, unpackedSize, files }] = JSON.parse(done.out.slice(done.out.indexOf('[')));
  return { folder, tarball: join(folder, filename), size, unpackedSize, files };
}

/** Packs a release: with the platform packages as optional dependencies, without files that only a clone needs. */
export function packRelease(): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'skein-pack-'));
  const done = run(root, process.execPath, ['scripts/pack-all.mjs', '--platform=main', `--out=${folder}`]);
  if (done.code !== 0) throw new Error(`pack-all failed:\n${done.err}`);
  return {
    folder,
    tarball: join(folder, `skein-${manifest.version}.tgz`),
    size: 0,
    unpackedSize: 0,
    files: [],
  };
}

export interface InstallOptions {
  /** Additional arguments of `npm install`, such as packages. */
  readonly args?: readonly string[];
  /** The PATH to install with. */
  readonly path?: string;
}

/** Creates an empty project with the packed package installed. */
export function install(packed: Packed, name: string, { args = [], path }: InstallOptions = {}): string {
  const project = join(packed.folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const options = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--foreground-scripts'];
  const done = run(project, 'npm', [...options, packed.tarball, ...args], path);
  if (done.code !== 0) throw new Error(`npm install failed:\n${done.err}`);
  writeFileSync(join(project, 'install.log'), done.out + done.err);
  return project;
}
