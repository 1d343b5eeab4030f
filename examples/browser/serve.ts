/**
 * Trains a graph network in a web page: bundles page.ts and serves it on this machine.
 *   npm run example -- browser/serve [--port 8080]
 *
 * Pages on localhost may use WebGPU; elsewhere it takes https. The two headers isolate the page, so that it may share
 * memory with workers.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const { values } = parseArgs({ options: { port: { type: 'string', default: '8080' } } });
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const bundle = await build({
  entryPoints: [here('page.ts')],
  // The sources of this checkout; a project that has installed Skein omits these two lines.
  alias: { skein: here('../../src') },
  ignoreAnnotations: true,
  ...{ bundle: true, format: 'esm', target: 'es2022', write: false },
});
const files = new Map([
  ['/', { type: 'text/html', body: readFileSync(here('index.html'), 'utf8') }],
  ['/page.js', { type: 'text/javascript', body: bundle.outputFiles[0].text }],
]);

createServer((request, response) => {
  const file = files.get(request.url ?? '');
  response.writeHead(file === undefined ? 404 : 200, {
    'content-type': `${file?.type ?? 'text/plain'}; charset=utf-8`,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  });
  response.end(file?.body ?? 'not here');
})
  .on('error', (error) => {
    console.error(`example: ${error.message}. Choose another port with --port.`);
    process.exitCode = 1;
  })
  .listen(Number(values.port), '127.0.0.1', () => console.log(`http://localhost:${values.port}/`));
