/**
 * Builds pages for production (minified, unused code dropped) with one bundler, as its manual describes for a page: no
 * polyfill, no alias, no plugin beyond what resolves packages. Copied into a folder where the bundlers are installed
 * and run as
 *   node bundle-pages.mjs <bundler> <output folder> <page.js> …
 * Prints one JSON object: the warnings of each page.
 */
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const bundlers = {
  async esbuild(page, folder) {
    const { build } = await import('esbuild');
    const outfile = join(folder, basename(page));
    const common = { bundle: true, minify: true, format: 'esm', platform: 'browser', logLevel: 'silent' };
    const { warnings } = await build({ ...common, entryPoints: [page], outfile });
    return warnings.map(({ text }) => text);
  },

  async rollup(page, folder) {
    const { rollup } = await import('rollup');
    const { nodeResolve } = await import('@rollup/plugin-node-resolve');
    const { default: terser } = await import('@rollup/plugin-terser');
    const warnings = [];
    const bundle = await rollup({
      input: page,
      plugins: [nodeResolve({ browser: true })],
      onwarn: ({ message }) => warnings.push(message),
    });
    await bundle.write({ dir: folder, format: 'es', plugins: [terser()] });
    return warnings;
  },

  async vite(page, folder) {
    const { build, createLogger } = await import('vite');
    const warnings = [];
    const say = (text) => warnings.push(text);
    const customLogger = { ...createLogger('warn'), warn: say, warnOnce: say, error: say };
    const target = { outDir: folder, emptyOutDir: false, copyPublicDir: false };
    const names = { entryFileNames: basename(page), chunkFileNames: `${basename(page)}-[hash].js` };
    await build({
      configFile: false,
      logLevel: 'warn',
      customLogger,
      build: { ...target, target: 'es2022', rollupOptions: { input: page, output: names } },
    });
    return warnings;
  },

  async webpack(page, folder) {
    const { default: webpack } = await import('webpack');
    const stats = await new Promise((resolve, reject) => {
      const output = { path: folder, filename: basename(page), module: true };
      const options = { mode: 'production', target: ['web', 'es2022'], entry: page, output };
      // A page that trains exceeds Webpack's default size limit.
      const ran = (error, result) => (error ? reject(error) : resolve(result));
      webpack({ ...options, experiments: { outputModule: true }, performance: { hints: false } }, ran);
    });
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
    return warnings.map(({ message }) => message);
  },
};

const [bundler, folder, ...pages] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const warnings = {};
for (const page of pages) warnings[basename(page)] = await bundlers[bundler](page, folder);
process.stdout.write(JSON.stringify(warnings));
