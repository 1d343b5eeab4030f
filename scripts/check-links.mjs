/**
 * Checks the links of README.md, the other pages at the root, docs/ and examples/: every relative link and image leads to a
 * file or folder of the repository, and every anchor to a heading. Addresses on the web are not requested.
 *
 *     node scripts/check-links.mjs [--root=<folder>]
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseArgs } from 'node:util';
import { anchorsOf, isExternal, linksOf } from './markdown-links.mjs';
import { root, run } from './steps.mjs';

const areas = ['docs', 'examples'];

/** Files that git tracks or would track. */
function listFiles(base) {
  const { code, output } = run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: base,
  });
  if (code !== 0) throw new Error(`check-links: git ls-files failed: ${output}`);
  return output.split('\n').filter((file) => file !== '' && existsSync(join(base, file)));
}

/** Returns what is wrong with a link, or null. */
function problemOf(target, page, { base, files, folders, anchors }) {
  if (isExternal(target)) return null;
  const [, path, anchor] = /^([^#?]*)(?:\?[^#]*)?(?:#(.*))?$/.exec(target);
  if (path.startsWith('/')) return 'expected a path relative to the page';
  const file = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), decodeURI(path)));
  const name = file.replace(/\/$/, '');
  if (name.startsWith('..')) return 'leads out of the repository';
  if (!files.has(name) && !folders.has(name) && name !== '.')
    return existsSync(join(base, name)) ? 'leads to a file that git ignores' : 'no such file';
  if (anchor === undefined) return null;
  if (!name.endsWith('.md') || statSync(join(base, name)).isDirectory())
    return 'an anchor into a file that is not a page';
  return anchors(name).has(decodeURIComponent(anchor)) ? null : `no heading #${anchor} in ${name}`;
}

const { values } = parseArgs({ options: { root: { type: 'string' } } });
const base = values.root ?? root;
const list = listFiles(base);
const files = new Set(list);
const folders = new Set(
  list.flatMap((file) => file.split('/').map((_, i, all) => all.slice(0, i).join('/'))),
);
const known = new Map();
const anchors = (page) => {
  if (!known.has(page)) known.set(page, anchorsOf(readFileSync(join(base, page), 'utf8')));
  return known.get(page);
};
const pages = list.filter(
  (file) => file.endsWith('.md') && (!file.includes('/') || areas.includes(file.split('/')[0])),
);
let count = 0;
let dead = 0;
for (const page of pages)
  for (const { target, line } of linksOf(readFileSync(join(base, page), 'utf8'))) {
    count++;
    const problem = problemOf(target, page, { base, files, folders, anchors });
    if (problem === null) continue;
    dead++;
    console.error(`${page}:${line}: ${target}: ${problem}`);
  }
console.log(`check-links: ${count} links in ${pages.length} pages, ${dead} dead`);
if (dead > 0) process.exitCode = 1;
