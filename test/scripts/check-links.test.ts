/** The check of links names dead links, files that are not there and missing headings, and leaves right ones alone. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { root } from '../programs.js';

const { anchorsOf, linksOf, slugOf } = (await import(join(root, 'scripts/markdown-links.mjs'))) as {
  anchorsOf(text: string): Set<string>;
  linksOf(text: string): { target: string; line: number }[];
  slugOf(heading: string): string;
};
const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** Writes the files into a new repository and returns the output of the check. */
function check(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'skein-links-'));
  made.push(folder);
  execFileSync('git', ['init', '--quiet', folder]);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const script = join(root, 'scripts/check-links.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, `--root=${folder}`], { encoding: 'utf8' });
  return { status, problems: stderr.split('\n').filter((line) => line !== '') };
}

test('right links pass', () => {
  const files = {
    'README.md':
      '# A\n\n[b](docs/b.md), [c](docs/b.md#two-words), [folder](docs), [web](https://example.com/x), [self](#a)\n',
    'docs/b.md':
      '# B\n\n## Two *words*\n\n![p](p.svg) [up](../README.md) `[no](link)` [named]\n\n[named]: p.svg\n',
    'docs/p.svg': '<svg/>',
  };
  expect(check(files)).toEqual({ status: 0, problems: [] });
});

test.each([
  ['a file that is not there', '[x](docs/c.md)', /^README\.md:3: docs\/c\.md: no such file$/],
  ['a heading that is not there', '[x](docs/b.md#three)', /no heading #three in docs\/b\.md/],
  ['a heading of the page itself', '[x](#nowhere)', /no heading #nowhere in README\.md/],
  ['an image', '![x](docs/p.png)', /docs\/p\.png: no such file/],
  ['a path out of the repository', '[x](../other/a.md)', /leads out of the repository/],
  ['an address of a host', '[x](/docs/b.md)', /expected a path relative to the page/],
  ['a file that git ignores', '[x](build/a.md)', /a file that git ignores/],
  ['another letter case', '[x](docs/B.md)', /no such file/],
])('%s is found', (_name, link, problem) => {
  const files = {
    'README.md': `# A\n\n${link}\n`,
    'docs/b.md': '# B\n',
    '.gitignore': 'build\n',
    'build/a.md': '',
  };
  const { status, problems } = check(files);
  expect(status).toBe(1);
  expect(problems).toEqual([expect.stringMatching(problem)]);
});

test('code has no links and no headings', () => {
  const text = '# A\n\n```sh\n# comment [x](y)\n```\n\n`a\n[b](c)` [d](e "title") <!-- [f](g) -->\n';
  expect(linksOf(text)).toEqual([expect.objectContaining({ target: 'e', line: 8 })]);
  expect([...anchorsOf(text)]).toEqual(['a']);
});

test('anchors are those of forges', () => {
  expect(slugOf('Nodes: which class does a node belong to?')).toBe('nodes-which-class-does-a-node-belong-to');
  expect([...anchorsOf('# The `a_b` key\n## A & B\n## A & B\n## [Link](x.md) *it*\n')]).toEqual([
    ...['the-a_b-key', 'a--b', 'a--b-1', 'link-it'],
  ]);
});
