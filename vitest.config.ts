/**
 * The default test suite: everything but test/full and test/pack (vitest.full.config.ts).
 * Tests under test/ import the package by name; the aliases send that to the sources. What tests start as processes of their
 * own is compiled first (scripts/test-programs.mjs).
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const src = fileURLToPath(new URL('./src', import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^skein$/, replacement: `${src}/index.ts` },
      { find: /^skein\/([a-z-]+)$/, replacement: `${src}/$1/index.ts` },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/full/**', 'test/pack/**', 'node_modules/**', 'dist/**'],
    globalSetup: ['scripts/test-programs.mjs'],
    // Processes, not threads: each file gets its own addon state and OpenMP pool.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
  },
});
