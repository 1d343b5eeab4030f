/**
 * `Tensor` has its operations as methods and the operations make tensors, so their modules import each other in a circle.
 * Whichever of them is loaded first, it has to load.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build, type Plugin } from 'esbuild';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../../src/tensor', import.meta.url));
const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  // Its own place in the circle is fixed: tensor.ts alone imports it.
  .filter((file) => file !== 'methods.ts');

/** Programs that load one module before any other and compute with a tensor then. */
const programs: Plugin = {
  name: 'programs',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^first:/ }, ({ path }) => ({
      path: path.slice('first:'.length),
      namespace: 'first',
    }));
    onLoad({ filter: /.*/, namespace: 'first' }, ({ path }) => ({
      contents:
        `import './${path}';\nimport { tensor } from './create.ts';\n` +
        'globalThis.sum = tensor([1, 2]).add(1).sum().item();\n',
      resolveDir: folder,
    }));
  },
};

test('every module of src/tensor can be the first to load', async () => {
  const { outputFiles } = await build({
    entryPoints: modules.map((file) => ({ in: `first:${file}`, out: file })),
    plugins: [programs],
    outdir: '/out',
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    ignoreAnnotations: true,
    logOverride: { 'empty-import-meta': 'silent' },
    write: false,
  });
  expect(outputFiles).toHaveLength(modules.length);
  for (const { path, text } of outputFiles) {
    const page = createContext({});
    runInContext(text, page, { filename: path });
    expect(page.sum, path).toBe(5);
  }
});
