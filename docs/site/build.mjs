/** Builds the site: pages, API reference, HTML. The arguments are the checkout and the folder to write. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'vitepress';
import { writeApi } from './api.mjs';
import { Stage } from './stage.mjs';

const [root, out] = process.argv.slice(2).map((path) => resolve(path));
process.env.SKEIN_SITE = out;

// Pages are outside of this folder and import Vue, which is installed here.
mkdirSync(out, { recursive: true });
rmSync(join(out, 'node_modules'), { force: true });
symlinkSync(join(import.meta.dirname, 'node_modules'), join(out, 'node_modules'), 'junction');

async function timed(name, work) {
  const start = performance.now();
  const count = await work();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`site: ${name}${typeof count === 'number' ? `: ${count} pages` : ''} (${seconds} s)`);
}

await timed('pages', () => new Stage(root, join(out, 'pages')).run());
await timed('API reference', () => writeApi(root, join(out, 'pages', 'api')));
await timed('HTML', () => build(import.meta.dirname));
