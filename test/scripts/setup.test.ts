/**
 * A fresh clone has no packages: what set-up imports before it installs them may come from Node.js and the clone alone.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../programs.js';

/** Names of packages that a script imports when it is loaded, itself or through others. */
function packagesOf(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const names = [...readFileSync(file, 'utf8').matchAll(/^(?:import|export) [^;]*?from '([^']+)';/gm)].map(
    (match) => match[1] as string,
  );
  return names.flatMap((name) => {
    if (name.startsWith('node:')) return [];
    return name.startsWith('.') ? packagesOf(join(dirname(file), name), seen) : [name];
  });
}

test('set-up loads without node_modules', () => {
  expect(packagesOf(join(root, 'scripts/setup.mjs'))).toEqual([]);
  expect(packagesOf(join(root, 'scripts/build-js.mjs'))).toContain('oxc-parser');
});
