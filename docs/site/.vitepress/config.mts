/** The site: where pages are, how they are rendered, what is around them. docs/site/build.mjs starts it. */
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { slugOf } from '../../../scripts/markdown-links.mjs';
import { nav, sidebars } from './sidebar.mjs';

const out = resolve(process.env['SKEIN_SITE'] ?? join(import.meta.dirname, '../../../.cache/site'));
const pages = join(out, 'pages');
const base = process.env['SKEIN_DOCS_BASE'] ?? '/';

export default defineConfig({
  ...{ srcDir: pages, outDir: join(out, 'dist'), cacheDir: join(out, 'vitepress') },
  base,
  lang: 'en',
  title: 'Skein',
  description: 'Graph learning for TypeScript: links, nodes and events.',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}icon.svg` }],
    ['meta', { name: 'color-scheme', content: 'light dark' }],
  ],
  // The addresses of all pages would be in every page otherwise.
  metaChunk: true,
  // The pages are plain Markdown: angle brackets and double braces are text, names of files are not addresses.
  markdown: {
    html: false,
    linkify: false,
    anchor: { slugify: slugOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    config(md) {
      const { escapeHtml } = md.utils;
      md.renderer.rules.text = (tokens, i) => escapeHtml(tokens[i].content).replaceAll('{{', '&#123;&#123;');
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    siteTitle: 'Skein',
    nav,
    sidebar: sidebars(pages),
    outline: { level: [2, 3], label: 'On this page' },
    footer: { message: 'Apache-2.0' },
    search: {
      provider: 'local',
      options: {
        // Of the API reference, names and summaries are found: all text would outweigh the guides.
        _render(src, env, md) {
          const html = md.render(src, env);
          if (!/^(api|source)\//.test(env.relativePath)) return html;
          return html.slice(html.indexOf('<h1')).split('<h2')[0];
        },
        miniSearch: {
          searchOptions: {
            boostDocument: (id: string) =>
              /\/(api|source|project)\//.test(id) ? 0.6 : /\/guides\//.test(id) ? 1.5 : 1,
          },
        },
      },
    },
  },
});
