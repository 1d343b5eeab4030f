/** The long tests of test/full and the test of the packed package; `npm run test:full` runs them. */
import { defineConfig } from 'vitest/config';
import { base } from './vitest.config.js';

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    globalSetup: [...base.test.globalSetup],
    include: ['test/full/**/*.test.ts', 'test/pack/**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', '.cache/**'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
