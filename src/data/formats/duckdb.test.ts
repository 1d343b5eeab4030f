/** Which versions of DuckDB's package are admitted: any that has what is used of it. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkDuckDb } from './duckdb.js';

const read = (file: string) => JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));

test('no peer dependency is bound to the prereleases of one version', () => {
  // `^1.5.5-r.5` admits 1.5.5-r.6 and rejects 1.5.6-r.1; `*` is what npm, pnpm and Yarn admit every prerelease for.
  const peers: Record<string, string> = read('package.json').peerDependencies;
  expect(peers['@duckdb/node-api']).toBe('*');
  expect(Object.entries(peers).filter(([, range]) => /\d-/.test(range))).toEqual([]);
  expect(read('package-lock.json').packages[''].peerDependencies).toEqual(peers);
});

test('the installed version has what is used of it', async () => {
  const duckDb = await import('@duckdb/node-api');
  expect(() => checkDuckDb('preprocess', duckDb)).not.toThrow();
});

test('a version that lacks something throws an error that names it, with what to install', async () => {
  const duckDb = await import('@duckdb/node-api');
  class DuckDBConnection {
    run(): void {}
    stream(): void {}
    extractStatements(): void {}
    closeSync(): void {}
  }
  const older = { ...duckDb, DuckDBConnection, version: () => 'v0.9.0' };
  expect(() => checkDuckDb('preprocess', older)).toThrow(
    'preprocess: expected a version of @duckdb/node-api that Skein can use, such as 1.5.5-r.5, got v0.9.0 without ' +
      'DuckDBConnection.runAndReadAll. Run "npm install @duckdb/node-api@1.5.5-r.5".',
  );
  expect(() => checkDuckDb('preprocess', {})).toThrow(
    /got an unknown version without DuckDBInstance\.connect, .*DuckDBInstance\.create\. Run/,
  );
});
