/**
 * Writes the pages of the site: those of docs/ and of the root, with links that lead to pages of the site. Files that pages
 * link to and that are not pages become pages with their text, folders become lists. The pages themselves stay plain
 * Markdown that reads well on a forge.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { headingsOf, isExternal, linksOf } from '../../scripts/markdown-links.mjs';
import { landingPage } from './landing.mjs';

const images = new Set(['.svg', '.png', '.jpg', '.gif', '.webp']);
const languages = { '.yml': 'yaml', '.mjs': 'js', '.tsx': 'tsx', '': 'text' };
/** Pages of the root; the others have the address of their file in docs/. */
const rootPages = {
  'README.md': 'index.md',
  'ARCHITECTURE.md': 'project/architecture.md',
  'CHANGELOG.md': 'project/changelog.md',
  'CONTRIBUTING.md': 'project/contributing.md',
};

/** How single pages are shown. */
const frontmatter = {
  'docs/faq.md': 'pageClass: messages',
  'docs/comparison.md': 'aside: false',
};

function listFiles(root) {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return stdout.split('\n').filter((file) => file !== '' && !file.startsWith('docs/site/'));
}

/** Returns the page of the site that a Markdown file becomes, or null. */
function pageOf(file) {
  if (file in rootPages) return rootPages[file];
  if (file === 'docs/README.md') return 'contents.md';
  if (!/^(docs|examples)\/.*\.md$/.test(file)) return null;
  return file.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
}

/** The text of a file as a page. */
function sourcePage(file, text) {
  const ending = extname(file);
  const language = languages[ending] ?? ending.slice(1).replace(/^$/, 'text');
  return `---\noutline: false\n---\n\n# ${posix.basename(file)}\n\n\`${file}\`\n\n\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

/** Returns the comment at the start of a file, its first sentence if it is long, or the title of a page. */
function about(file, text) {
  if (file.endsWith('.md')) return headingsOf(text)[0]?.title ?? '';
  const [comment = ''] = /^(?:\/\*\*[\s\S]*?\*\/|(?:#|\/\/) .*(?:\n(?:#|\/\/) .*)*)/.exec(text) ?? [];
  const plain = comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .replace(/^\s*(?:\*|#|\/\/) ?/gm, '')
    .replace(/^ {2,}.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length <= 160 ? plain : (/^.*?\.(?= [A-Z]|$)/.exec(plain)?.[0] ?? plain);
}

/** Stages a checkout: `pages` is the folder to write. Returns the number of pages. */
export class Stage {
  #root;
  #out;
  #files;
  #written = new Map();

  constructor(root, out) {
    this.#root = root;
    this.#out = out;
    this.#files = new Set(listFiles(root));
  }

  run() {
    rmSync(this.#out, { recursive: true, force: true });
    const readme = this.#read('README.md');
    this.#write('index.md', landingPage(readme));
    for (const file of this.#files) {
      const page = pageOf(file);
      if (page !== null && page !== 'index.md') this.#page(file, page);
    }
    this.#list('examples');
    this.#list('docs/decisions');
    const assets = {
      'web/public/icon.svg': 'icon.svg',
      'docs/configuration.schema.json': 'configuration.schema.json',
    };
    for (const [file, name] of Object.entries(assets))
      cpSync(join(this.#root, file), join(this.#out, 'public', name), { recursive: true });
    return this.#written.size;
  }

  #read(file) {
    return readFileSync(join(this.#root, file), 'utf8');
  }

  #write(page, text) {
    if (this.#written.has(page)) return;
    this.#written.set(page, true);
    mkdirSync(join(this.#out, dirname(page)), { recursive: true });
    writeFileSync(join(this.#out, page), text);
  }

  /** Writes a Markdown file with its links rewritten. */
  #page(file, page) {
    const text = this.#read(file);
    let done = '';
    let from = 0;
    for (const { target, start, end } of linksOf(text)) {
      done += text.slice(from, start) + this.#rewrite(target, file, page);
      from = end;
    }
    const options = file in frontmatter ? `---\n${frontmatter[file]}\n---\n\n` : '';
    this.#write(page, options + (done + text.slice(from)).replace(/^<!--[\s\S]*?-->\n/gm, ''));
  }

  /** Returns a link of `file` as a link of `page`. */
  #rewrite(target, file, page) {
    if (isExternal(target) || target.startsWith('#')) return target;
    const [path, anchor] = target.split('#');
    const name = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '');
    const site = this.#siteOf(name);
    if (site.startsWith('/')) return site;
    const relative = posix.relative(posix.dirname(page), site);
    const link = relative.startsWith('.') ? relative : `./${relative}`;
    return anchor === undefined ? link : `${link}#${anchor}`;
  }

  /** Returns where a file or folder of the checkout is on the site, and writes it if no other page does. */
  #siteOf(name) {
    const page = pageOf(name);
    if (page !== null) return page;
    if (name === 'docs/api.txt') return 'api/index.md';
    if (name === 'docs/configuration.schema.json') return '/configuration.schema.json';
    if (!this.#files.has(name))
      return this.#files.has(`${name}/README.md`) ? pageOf(`${name}/README.md`) : this.#list(name);
    const place = name.replace(/^docs\//, '');
    if (images.has(extname(name))) {
      cpSync(join(this.#root, name), join(this.#out, place), { recursive: true });
      return place;
    }
    // An address that ends in .html is that of a page.
    const file = place.replace(/\.html$/, '-html');
    const target = name.startsWith('examples/') ? `${file}.md` : `source/${file}.md`;
    this.#write(target, sourcePage(name, this.#read(name)));
    return target;
  }

  /** Writes the list of a folder, and returns its page. */
  #list(folder) {
    const place = folder.replace(/^docs\//, '');
    const page = /^(docs|examples)\b/.test(folder) ? `${place}/index.md` : `source/${place}/index.md`;
    const files = [...this.#files].filter((file) => file.startsWith(`${folder}/`)).sort();
    if (files.length === 0)
      throw new Error(`site: expected a file or folder of the repository, got ${folder}`);
    const lines = files.map((file) => {
      const link = this.#rewrite(posix.relative(folder, file), `${folder}/_`, page);
      const text = about(file, this.#read(file));
      return file.endsWith('.md')
        ? `- [${text || posix.relative(folder, file)}](${link})`
        : `- [${posix.relative(folder, file)}](${link})${text === '' ? '' : `: ${text}`}`;
    });
    const title = posix.basename(folder);
    this.#write(
      page,
      `---\noutline: false\n---\n\n# ${title[0].toUpperCase()}${title.slice(1)}\n\n${lines.join('\n')}\n`,
    );
    return page;
  }
}
