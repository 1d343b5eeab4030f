/**
 * `npm run docs:site` builds the documentation as a site in .cache/site/dist: it installs docs/site, which has its own
 * packages, then makes pages, API reference and HTML. A dead link fails the build. `SKEIN_DOCS_BASE=/path/` is for a site
 * that is not at the root of its host; `--serve` shows the site on this machine.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { main, root, run, StepError, since, tail } from './steps.mjs';

const site = join(root, 'docs', 'site');
const out = join(root, '.cache', 'site');

/** Installs the packages of the site if the lock file is newer than they are. */
function install() {
  const lock = join(site, 'package-lock.json');
  const installed = join(site, 'node_modules', '.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  const start = performance.now();
  const { code, output } = run('npm', ['ci', '--ignore-scripts'], { cwd: site });
  if (code !== 0) throw new StepError(`npm ci in docs/site failed:\n${tail(output)}`);
  console.log(`site: packages installed (${since(start)})`);
}

await main('docs-site', () => {
  const { values } = parseArgs({ options: { serve: { type: 'boolean' } } });
  if (!existsSync(join(root, 'node_modules')))
    throw new StepError(
      'expected the packages of the root, which the API reference reads. Try: npm run setup',
    );
  install();
  const start = performance.now();
  rmSync(join(out, 'dist'), { recursive: true, force: true });
  const { code } = run(process.execPath, ['build.mjs', root, out], { cwd: site, show: true });
  if (code !== 0) throw new StepError('the site was not built; see the messages above', code);
  console.log(`site: built in ${since(start)}: ${join(out, 'dist')}`);
  if (values.serve) run('npx', ['vitepress', 'preview'], { cwd: site, show: true, env: { SKEIN_SITE: out } });
});
