/** The size of the page: what a reader downloads before it shows anything. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { buildDist, root } from '../browser/dist.js';

/** Bytes after gzip of all files together, with the code of the map. */
const most = 400_000;

it(`has at most ${most / 1000} kB after gzip`, () => {
  buildDist();
  const folder = join(root, 'dist/web');
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { name: path.slice(folder.length + 1), bytes: gzipSync(readFileSync(path)).length };
    });
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { name, bytes } of sizes) console.log(`${name}: ${(bytes / 1000).toFixed(1)} kB`);
  console.log(`together: ${(total / 1000).toFixed(1)} kB after gzip`);
  expect(sizes.some(({ name }) => name.endsWith('.js'))).toBe(true);
  expect(total).toBeLessThanOrEqual(most);
});

it('contains no address of another host that it could load from', () => {
  const folder = join(root, 'dist/web');
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
    const hosts = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address);
    // Names of XML vocabularies are never requested.
    expect(hosts.filter((host) => host !== 'http://www.w3.org')).toEqual([]);
  }
});
