/**
 * The default test suite: everything but test/full and test/pack (vitest.full.config.ts).
 * Tests under test/ import the package by name, or an internal module by `#internal/`; the aliases send both to the sources.
 * What tests start as processes of their own is compiled first (scripts/test-programs.mjs).
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const src = fileURLToPath(new URL('./src', import.meta.url));

/**
 * Files that share two processes one after the other: they compute, and leave nothing behind in their process. A third of
 * their time would go into starting processes and loading modules otherwise.
 */
const together = [
  'src/{data,dist,native,train,util}/**/*.test.ts',
  'test/data/!(preprocess).test.ts',
  'test/{gnn,graph,kernels,nn,ops,sample,server,storage,temporal,tensor,train}/**/*.test.ts',
];
/** Files that cannot do without a WebGPU adapter. */
const graphics = [
  'src/gpu/device/gpu-device.test.ts',
  'test/gpu/!(browser).test.ts',
  'test/interop/{no-leak-webgpu,sample-transfer,tfjs-webgpu}.test.ts',
  'test/sources/gammagl-gpu.test.ts',
];
const never = ['test/full/**', 'test/pack/**', 'node_modules/**', 'dist/**', '.cache/**'];

/** The longest files, those with several workers between others: begun early, none is left alone at the end. */
const longest = [
  ...['test/dist/temporal-run', 'test/gpu/models', 'test/dist/mpi-communicator', 'test/train/temporal-run'],
  ...[
    'test/dist/shards/shards',
    'test/cli/quickstart',
    'test/frozen/frozen-runs',
    'test/cli/user-tables',
    'test/dist/link-prediction',
    'test/train/resume',
  ],
  ...['test/dist/sharded-run', 'test/gpu/browser', 'test/dist/train-command', 'test/interop/no-leak-webgpu'],
  ...['test/dist/sampling', 'test/interop/examples', 'test/cli/preprocess', 'test/gpu/examples'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return place >= 0 ? place : longest.length + (project.name === 'together' ? 1 : 0);
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export const base = {
  resolve: {
    alias: [
      { find: /^skein$/, replacement: `${src}/index.ts` },
      { find: /^skein\/marius$/, replacement: `${src}/compat/marius/index.ts` },
      { find: /^skein\/(native|util)$/, replacement: `${src}/$1/public.ts` },
      { find: /^skein\/([a-z-]+)$/, replacement: `${src}/$1/index.ts` },
      { find: /^#internal\/(.*)\.js$/, replacement: `${src}/$1.ts` },
    ],
  },
  test: {
    globalSetup: ['scripts/test-programs.mjs'],
    // The linter's rule takes every call of our own fit() for a focused test.
    allowOnly: false,
    // Processes, not threads: the addon's state and its pool of threads are a process's own.
    pool: 'forks',
    // One more than the two cores of a small machine: many files wait for processes of their own.
    maxWorkers: 3,
    // Generous, since a machine may be busy with other things: they are there for what hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
} as const;

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    globalSetup: [...base.test.globalSetup],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'together', include: together, exclude: never, isolate: false } },
      {
        extends: true,
        test: {
          name: 'graphics',
          include: graphics,
          exclude: never,
          globalSetup: [...base.test.globalSetup, 'scripts/probe-gpu.mjs'],
          runner: './test/gpu/skip-without-adapter.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...never, ...together, ...graphics],
        },
      },
    ],
  },
});
