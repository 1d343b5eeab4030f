/**
 * Building the addon with a fake compiler that logs its calls: what is recompiled and when, and that two concurrent
 * builds do not interfere.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { root } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-build-'));
const compiler = join(folder, 'cc');
const log = join(folder, 'log');
let tree: string;
let trees = 0;

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
}

// Notes what it is asked for, takes a moment, and writes the file after -o. A link fails where there is a file `fail`.
const compilerText = `#!/bin/sh
for word in "$@"; do if [ "$before" = -o ]; then out="$word"; fi; before="$word"; done
echo "$out" >> '${log}'
if [ -e '${folder}/fail' ]; then echo half > "$out"; exit 1; fi
sleep 0.1
echo made > "$out"
`;

/** A tree with the real Makefile and scripts and two empty kernels. */
beforeEach(() => {
  tree = join(folder, `tree ${trees++}`);
  mkdirSync(tree);
  rmSync(join(folder, 'fail'), { force: true });
  for (const name of ['', '2']) write(`${compiler}${name}`, compilerText, 0o755);
  write(join(folder, 'bin/ccache'), '#!/bin/sh\nexec "$@"\n', 0o755);
  for (const file of ['native/Makefile', 'scripts/build-addon.mjs', 'scripts/build-lock.mjs'])
    cpSync(join(root, file), join(tree, file));
  for (const file of ['kernels/x/a', 'kernels/y/b', 'binding/c', 'cpu/cpu', 'mpi/m'])
    write(join(tree, 'native', `${file}.cpp`), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs make: its exit code and what was written, with the numbers of temporary names as N. */
function make(...words: string[]): { code: number | null; made: string[] } {
  writeFileSync(log, '');
  const cxx = words.some((word) => word.startsWith('CXX=')) ? [] : [`CXX=${compiler}`];
  const { status } = spawnSync('make', ['-C', 'native', ...cxx, ...words], {
    cwd: tree,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
  });
  return { code: status, made: notes() };
}

function notes(): string[] {
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return lines.map((line) => line.replace(/^\.\.\/build\//, '').replace(/\.\d+\.tmp$/, '.N.tmp')).sort();
}

const portable = 'LEVELS=portable';
const object = (name: string): string => `obj/portable/${name}.o`;
const linked = 'skein-portable.node.N.tmp';
const all = [object('binding/c'), object('kernels/x/a'), object('kernels/y/b'), linked];

const { missingTools } = (await import(join(root, 'scripts/build-addon.mjs'))) as {
  missingTools(): readonly string[];
};
const noMake = missingTools().includes('make') ? ' (skipped: make is not installed)' : '';

describe.skipIf(noMake !== '')(`make${noMake}`, () => {
  it('makes everything once, links under a name of its own, and then nothing', () => {
    expect(make(portable)).toEqual({ code: 0, made: all });
    expect(make(portable)).toEqual({ code: 0, made: [''] });
    expect(readdirSync(join(tree, 'build')).sort()).toEqual(['obj', 'skein-portable.node']);
  });

  it.each([
    ['another compiler', [`CXX=${compiler}2`]],
    ['other headers', ['HEADERS=some where/else']],
    ['other flags', ['EXTRA_CXXFLAGS=-g -DX="1"']],
  ])('makes everything again for %s', (_what, words) => {
    make(portable);
    expect(make(portable, ...words)).toEqual({ code: 0, made: all });
    expect(make(portable, ...words).made).toEqual(['']);
  });

  it('makes nothing again for ccache in front of the compiler', () => {
    make(portable);
    expect(make(portable, `CXX=ccache ${compiler}`)).toEqual({ code: 0, made: [''] });
  });

  it('links again when a source is gone, and compiles one that is new', () => {
    make(portable);
    rmSync(join(tree, 'native/kernels/y/b.cpp'));
    expect(make(portable).made).toEqual([linked]);
    write(join(tree, 'native/kernels/z/d.cpp'), '');
    expect(make(portable).made).toEqual([object('kernels/z/d'), linked]);
    expect(make(portable, 'EXTRA_LDFLAGS=-lx').made).toEqual([linked]);
  });

  it('makes cpu.node and mpi.node again for another command only', () => {
    const mpi = ['mpi', 'MPICC=no-such-mpicc', 'MPI_CFLAGS=-I/mpi'];
    expect(make('cpu').made).toEqual(['cpu.node.N.tmp']);
    expect(make('cpu').made).toEqual(['']);
    expect(make('cpu', 'HEADERS=elsewhere').made).toEqual(['cpu.node.N.tmp']);
    expect(make(...mpi, 'MPI_LIBS=-lmpi').made).toEqual(['mpi.node.N.tmp', 'obj/mpi/m.o']);
    expect(make(...mpi, 'MPI_LIBS=-lmpi').made).toEqual(['']);
    expect(make(...mpi, 'MPI_LIBS=-lother').made).toEqual(['mpi.node.N.tmp']);
  });

  it('leaves nothing of a link that fails', () => {
    make(portable);
    rmSync(join(tree, 'native/kernels/y/b.cpp'));
    write(join(folder, 'fail'), '');
    expect(make(portable).code).not.toBe(0);
    expect(readdirSync(join(tree, 'build')).sort()).toEqual(['obj', 'skein-portable.node']);
    rmSync(join(folder, 'fail'));
    expect(make(portable)).toEqual({ code: 0, made: [linked] });
  });
});

/** Builds with build-addon.mjs in a process of its own; `call` is what it calls. */
function build(call = "buildAddon({ levels: ['portable'] })"): Promise<{ out: string; err: string }> {
  const program = `const { buildAddon, buildAddonWatched } = await import('./scripts/build-addon.mjs');
    console.log(JSON.stringify(await ${call}));`;
  const args = ['--input-type=module', '--eval', program];
  const child = spawn(process.execPath, args, { cwd: tree, env: { ...process.env, CXX: compiler } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => child.on('close', () => resolve({ out, err })));
}

describe.skipIf(noMake !== '')(`build-addon${noMake}`, () => {
  const built = '{"status":"built","reason":""}\n';
  const waiting = /^build-addon: waiting for process \d+, which is building in .*build\n$/;
  const lock = (): string => join(tree, 'build/.building');

  it('builds once when several processes start at the same time', async () => {
    writeFileSync(log, '');
    const watched = "buildAddonWatched({ levels: ['portable'], onFile() {} })";
    const results = await Promise.all([build(), build(watched), build()]);
    expect(results.map(({ out }) => out)).toEqual([built, built, built]);
    expect(results.filter(({ err }) => waiting.test(err))).toHaveLength(2);
    expect(notes()).toEqual(all);
    expect(existsSync(lock())).toBe(false);
  });

  it('takes over the lock of a process that has ended', async () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    write(lock(), `${pid}\n`);
    expect(await build()).toEqual({ out: built, err: '' });
    expect(existsSync(lock())).toBe(false);
  });

  it('waits for one that runs, and gives the lock back after a failure', async () => {
    write(lock(), `${process.pid}\n`);
    setTimeout(() => rmSync(lock()), 700);
    write(join(folder, 'fail'), '');
    const { out, err } = await build();
    expect(err).toMatch(waiting);
    expect(JSON.parse(out)).toMatchObject({ status: 'failed' });
    expect(existsSync(lock())).toBe(false);
  });
});
