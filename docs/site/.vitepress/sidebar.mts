/** The navigation at the top and at the left of pages. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf } from '../../../scripts/markdown-links.mjs';

interface Item {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly Item[];
}

export const nav = [
  { text: 'Start', link: '/start' },
  { text: 'Guides', link: '/guides/links', activeMatch: '^/guides/' },
  { text: 'Recipes', link: '/recipes' },
  { text: 'Reference', link: '/contents' },
  { text: 'API', link: '/api/', activeMatch: '^/api/' },
];

/** Pages by group. A page of docs/ that is in no group joins the one with `*`. */
const groups: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['start', 'first-run', 'quickstart', 'recipes', 'faq', 'concepts']],
  [
    'Guides',
    ['links', 'recommend', 'nodes', 'events', 'larger-than-memory', 'workers', 'gpu'].map(
      (name) => `guides/${name}`,
    ),
  ],
  ['Migrate', ['index', 'pyg', 'dgl', 'marius', 'tgl', 'sar'].map((name) => `migration/${name}`)],
  ['Decide', ['benchmarks', 'comparison']],
  [
    'Commands and files',
    [
      ...['command-line', 'configuration', 'preprocessing', 'runs', 'ui', 'serving', 'search', 'formats'],
      ...['datasets', 'platforms', '*'],
    ],
  ],
  ['Library', ['guide', 'graphs', 'layers', 'extending', 'stores', 'features']],
  ['Event streams', ['temporal', 'streams', 'temporal-graphs', 'temporal-evaluation', 'temporal-ablations']],
  [
    'Workers',
    ['distributed', 'distributed-training', 'sar', 'partitions', 'distributed-sampling', 'scaling'],
  ],
  ['GPU and browser', ['gpu', 'gpu-training', 'gpu-sampling', 'webgpu-tensors', 'browser']],
  ['Other libraries', ['interop', 'onnx', 'source-documents']],
  [
    'Project',
    [
      'contents',
      'project/architecture',
      'decisions/index',
      'examples/index',
      'project/contributing',
      'project/changelog',
    ],
  ],
];

const opened = new Set(['Start', 'Guides', 'Migrate']);

function titleOf(pages: string, page: string): string {
  return headingsOf(readFileSync(join(pages, `${page}.md`), 'utf8'))[0]?.title ?? page;
}

const linkOf = (page: string): string => `/${page.replace(/(^|\/)index$/, '$1')}`;

function guideBar(pages: string): Item[] {
  const named = new Set(groups.flatMap(([, list]) => list));
  const others = readdirSync(pages)
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .map((file) => file.slice(0, -3))
    .filter((page) => !named.has(page));
  return groups.map(([text, list]) => ({
    text,
    collapsed: !opened.has(text),
    items: list
      .flatMap((page) => (page === '*' ? others : [page]))
      .map((page) => ({ text: titleOf(pages, page), link: linkOf(page) })),
  }));
}

const kinds: readonly (readonly [string, string])[] = [
  ['functions', 'Functions'],
  ['classes', 'Classes'],
  ['interfaces', 'Interfaces'],
  ['type-aliases', 'Types'],
  ['variables', 'Constants'],
  ['namespaces', 'Namespaces'],
];

const folders = (path: string): string[] =>
  existsSync(path)
    ? readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .sort()
    : [];

/** The names of one subpath, by kind. */
function nameBar(api: string, module: string): Item[] {
  return kinds.flatMap(([folder, text]) => {
    const path = join(api, module, folder);
    if (!existsSync(path)) return [];
    const names = readdirSync(path, { withFileTypes: true })
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.slice(0, -3)))
      .sort((a, b) => a.localeCompare(b, 'en'));
    const items = names.map((name) => ({
      text: name.replace('/', ''),
      link: `/api/${module}/${folder}/${name}`,
    }));
    return [{ text, collapsed: false, items }];
  });
}

/** Returns the bars by the start of the address. A subpath has a bar of its own: one with all names would be too long. */
export function sidebars(pages: string): Record<string, Item[]> {
  const api = join(pages, 'api');
  const modules = folders(api);
  const modulesBar = modules.map((name) => ({
    text: name.replace('-', '/'),
    link: `/api/${name}/`,
  }));
  return {
    '/': guideBar(pages),
    '/api/': [{ text: 'Subpaths', items: modulesBar }],
    ...Object.fromEntries(
      modules.map((name) => [
        `/api/${name}/`,
        [{ text: 'Subpaths', collapsed: true, items: modulesBar }, ...nameBar(api, name)],
      ]),
    ),
  };
}
