/**
 * `Tensor` has its operations as methods and the operations make tensors, so their modules import each other in a circle.
 * Whichever of them is loaded first, it has to load.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../../src/tensor', import.meta.url));
const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  // Its own place in the circle is fixed: tensor.ts alone imports it.
  .filter((file) => file !== 'methods.ts');

test.each(modules)('%s', async (file) => {
  const made = `import { tensor } from ${JSON.stringify(join(folder, 'create.ts'))};`;
  const contents = `import ${JSON.stringify(join(folder, file))};\n${made}\nglobalThis.sum = tensor([1, 2]).add(1).sum().item();`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    ignoreAnnotations: true,
    logOverride: { 'empty-import-meta': 'silent' },
    write: false,
  });
  const page = createContext({});
  runInContext(outputFiles[0].text, page);
  expect(page.sum).toBe(5);
});
