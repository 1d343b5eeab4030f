/** Writes the API reference as Markdown pages: TypeDoc over the subpaths that package.json exports. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Application, Comment, CommentTag, ReflectionKind } from 'typedoc';

/** A name is documented where it comes from: in the first subpath that has it. The others list it. */
const places = (name) => ['skein-marius', 'skein'].indexOf(name);

/** Returns name and source of every subpath. Folders are called `skein-gnn`: VitePress ignores those called `dist`. */
function entries(root) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath, { types }]) => ({
      name: subpath.replace(/^\./, 'skein').replace('/', '-'),
      file: join(root, types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts')),
    }))
    .sort((a, b) => places(a.name) - places(b.name));
}

const options = {
  plugin: ['typedoc-plugin-markdown'],
  router: 'member',
  entryFileName: 'index',
  readme: 'none',
  // TypeScript 7 checks the sources (npm run check); this is an older one.
  skipErrorChecking: true,
  ...{ excludeInternal: true, excludePrivate: true, excludeExternals: true, disableSources: true },
  ...{ hidePageHeader: true, hideBreadcrumbs: false, useCodeBlocks: true, sanitizeComments: true },
  ...{ expandObjects: true, indexFormat: 'table', parametersFormat: 'table' },
  ...{ interfacePropertiesFormat: 'table', typeAliasPropertiesFormat: 'table', enumMembersFormat: 'table' },
  validation: false,
  logLevel: 'Error',
};

/** Returns the comment at the start of a file, without its marks. */
function headerOf(file) {
  const [, text] = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8')) ?? [];
  return (text ?? '').replace(/^\s*\* ?/gm, '').trim();
}

/** Makes a comment of a header: text, and an example if it has one. */
function commentOf(header) {
  const [text, ...examples] = header.split(/^@example\s*$/m);
  const tags = examples.map(
    (code) => new CommentTag('@example', [{ kind: 'code', text: `\`\`\`ts\n${code.trim()}\n\`\`\`` }]),
  );
  return new Comment([{ kind: 'text', text: text.trim() }], tags);
}

const textOf = (comment) => comment.summary.map(({ text }) => text).join('');
const plain = (name) => name.replaceAll('-', '').toLowerCase();

/**
 * Gives every name the comment that is about it. In the sources the header of a file describes its main class or function;
 * TypeDoc leaves these without a comment, and gives the header of an index file to its first name.
 */
function assignComments(module, { name, file }) {
  const header = headerOf(file);
  module.name = name;
  module.comment = commentOf(header);
  for (const child of module.children ?? []) {
    const source = child.project.getSymbolIdFromReflection(child)?.fileName;
    if (source === undefined) continue;
    const own = headerOf(source);
    const text = child.comment === undefined ? '' : textOf(child.comment).slice(0, 60);
    if (text !== '' && header.startsWith(text)) child.comment = undefined;
    if (own === '' || plain(basename(source, '.ts')) !== plain(child.name)) continue;
    if (child.comment === undefined) child.comment = commentOf(own);
    else if (!own.startsWith(text))
      child.comment.summary.unshift({ kind: 'text', text: `${own.split(/^@/m)[0].trim()}\n\n` });
  }
}

/** Removes members that a class has from a documented class: the page of that class has them. */
function removeInherited(project) {
  const inherited = project
    .getReflectionsByKind(ReflectionKind.ClassMember)
    .filter((one) => one.inheritedFrom?.reflection !== undefined && one.kind !== ReflectionKind.Constructor);
  const removed = new Set(inherited);
  for (const { parent } of inherited) {
    for (const group of parent.groups ?? [])
      group.children = group.children.filter((one) => !removed.has(one));
    parent.groups = parent.groups?.filter(({ children }) => children.length > 0);
  }
  for (const member of inherited) project.removeReflection(member);
}

/** Names of subpaths as they are imported. */
function renameSubpaths(out) {
  const files = readdirSync(out, { recursive: true }).filter((file) => file.endsWith('.md'));
  for (const file of files) {
    const text = readFileSync(join(out, file), 'utf8');
    writeFileSync(join(out, file), text.replace(/(\[|^# |\/ )skein-(?=[a-z]+(?:\]|$| \/))/gm, '$1skein/'));
  }
  return files.length;
}

export async function writeApi(root, out) {
  const found = entries(root);
  const missing = found.find(({ file }) => !existsSync(file));
  if (missing !== undefined)
    throw new Error(`site: expected the source of ${missing.name}, got no ${missing.file}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const app = await Application.bootstrapWithPlugins({
    ...options,
    entryPoints: found.map(({ file }) => file),
    tsconfig: join(root, 'tsconfig.build.json'),
    name: 'API reference',
    out,
  });
  const project = await app.convert();
  if (project === undefined)
    throw new Error('site: TypeDoc could not read the sources; its messages are above');
  for (const entry of found) {
    const module = project.children.find(
      (one) =>
        entry.file === `${join(root, 'src', one.name)}.ts` ||
        entry.file === join(root, 'src', one.name, 'index.ts'),
    );
    if (module === undefined) throw new Error(`site: expected ${entry.name} in what TypeDoc read`);
    assignComments(module, entry);
  }
  for (const { children } of [project, ...(project.groups ?? [])])
    children.sort((a, b) => a.name.localeCompare(b.name, 'en'));
  removeInherited(project);
  await app.generateOutputs(project);
  return renameSubpaths(out);
}
