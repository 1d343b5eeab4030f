import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { invocation } from '../util/invocation.js';
import { type BuildScript, buildCommand } from './build.js';
import { checkAddon } from './run/run.js';

let out = '';
beforeEach(() => {
  out = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      out += text;
      return true;
    });
});
afterEach(() => vi.restoreAllMocks());

/** A script that compiles nothing and remembers what it was asked for. */
function script(changes: Partial<BuildScript> = {}): BuildScript & { readonly asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    allLevels: ['portable', 'avx2'],
    countSources: () => 2,
    hasMpi: () => true,
    missingTools: () => [],
    buildAddonWatched: async ({ onFile, ...options }) => {
      asked.push(options);
      for (const file of options.target === 'mpi' ? ['mpi/addon.cpp'] : ['kernels/a.cpp', 'kernels/b.cpp'])
        onFile(file);
      return { status: 'built', reason: '' };
    },
    ...changes,
  };
}

const plain = { mpi: false, allLevels: false, json: false };

it('compiles for this processor, then the MPI addon, and counts the files', async () => {
  const builder = script();
  await buildCommand(plain, builder);
  expect(builder.asked).toEqual([{ target: 'all' }, { target: 'mpi', levels: [] }]);
  expect(out).toContain('  1 of 2  kernels/a.cpp\n  2 of 2  kernels/b.cpp\n');
  expect(out).toMatch(/the kernels: compiled 2 files\n[\s\S]*the MPI addon: compiled 1 file\nDone in /);
});

it('compiles what it is asked for', async () => {
  const mpi = script();
  await buildCommand({ ...plain, mpi: true }, mpi);
  expect(mpi.asked).toEqual([{ target: 'mpi', levels: [] }]);
  const levels = script({ hasMpi: () => false });
  await buildCommand({ ...plain, allLevels: true }, levels);
  expect(levels.asked).toEqual([{ target: 'all', levels: ['portable', 'avx2'] }]);
});

it('names what is missing, with the command that installs it', async () => {
  const without = script({ missingTools: () => ['make', 'a C++ compiler (g++, c++)'] });
  await expect(buildCommand(plain, without)).rejects.toThrow(
    /got a machine without make and a C\+\+ compiler \(g\+\+, c\+\+\)\. Install them with: .*make/,
  );
  await expect(buildCommand({ ...plain, mpi: true }, script({ hasMpi: () => false }))).rejects.toThrow(
    /expected an MPI library.*Install one with: .*openmpi/,
  );
  expect(without.asked).toEqual([]);
});

it('passes on what the compiler said', async () => {
  const failing = script({
    buildAddonWatched: async () => ({ status: 'failed', reason: 'make ended with 2\nerror: x' }),
  });
  await expect(buildCommand(plain, failing)).rejects.toThrow(
    'the kernels could not be compiled: make ended with 2\nerror: x',
  );
});

it('skein run says before it starts anything that the MPI addon is not built', () => {
  expect(() => checkAddon(['train', 'c.yaml'], false)).toThrow(
    /expected the MPI addon.*npx skein build --mpi/,
  );
  expect(() => checkAddon(['train', 'c.yaml'], true)).not.toThrow();
  expect(() => checkAddon(['info'], false)).not.toThrow();
});

it.each([
  ['/usr/bin/skein', 'skein'],
  ['/usr/bin/marius_train', 'skein'],
  ['/x/app/server.js', 'npx skein'],
  ['', 'npx skein'],
  [`${process.cwd()}/dist/cli/bin/marius-train.js`, 'node dist/cli/main.js'],
  ['/a clone/dist/cli/main.js', 'node "/a clone/dist/cli/main.js"'],
  ['/x/node_modules/.bin/skein', 'npx skein'],
  ['C:\\x\\node_modules\\skein\\dist\\cli\\main.js', 'npx skein'],
  [`${process.cwd()}/dist/cli/main.js`, 'node dist/cli/main.js'],
])('%s is typed as %s', (path, typed) => {
  const { execArgv } = process;
  process.execArgv = [];
  expect(invocation(path)).toBe(typed);
  process.execArgv = execArgv;
});
