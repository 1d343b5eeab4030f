/**
 * A source tree of Skein as a program that measures the cases of this tree's `bench/`. The benchmark code is bundled
 * with the library of the other tree, so both trees run the same cases, even if the other one is older and lacks some.
 * A bundle also starts in a tenth of a second, while TypeScript sources need half a second.
 *
 * Files keep the URLs they have in their tree, so that its native addon and packages are found.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type BuildFailure, build, type Plugin, type PluginBuild } from 'esbuild';
import { UsageError } from './arguments.js';

export interface Tree {
  readonly folder: string;
  /** Short commit, marked if there are uncommitted changes; null without git. */
  readonly commit: string | null;
}

const ownFolder = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

function commitOf(folder: string): string | null {
  const git = (...args: string[]): string | null => {
    const run = spawnSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
    return run.status === 0 ? run.stdout.trim() : null;
  };
  const commit = git('rev-parse', '--short=12', 'HEAD');
  if (commit === null) return null;
  return git('status', '--porcelain', '--', 'src', 'native') === '' ? commit : `${commit} with changes`;
}

export const thisTree = (): Tree => ({ folder: ownFolder, commit: commitOf(ownFolder) });

/** Returns the tree in a folder; throws if it is not a source tree or is not built. */
export function otherTree(path: string): Tree {
  const folder = resolve(path);
  const isFolder = existsSync(folder) && statSync(folder).isDirectory();
  if (!isFolder || !existsSync(join(folder, 'src', 'native', 'index.ts'))) {
    throw new UsageError(
      `bench: expected the folder of a source tree of Skein for --against, got "${path}".`,
    );
  }
  const built = join(folder, 'build');
  if (!existsSync(built) || !readdirSync(built).some((name) => name.endsWith('.node'))) {
    throw new UsageError(
      `bench: expected a tree with a native addon in build/ for --against, got "${path}". Run npm run setup there.`,
    );
  }
  return { folder, commit: commitOf(folder) };
}

/** Returns whether a file belongs to a tree; its build and packages may be links. */
export function belongsTo(tree: Tree, file: string): boolean {
  const roots = ['.', 'build', 'node_modules'].map((name) => join(tree.folder, name)).filter(existsSync);
  return roots.some((root) => realpathSync(file).startsWith(realpathSync(root) + sep));
}

/** Returns the source of `skein/<part>`, or of an internal module, `#internal/<part>.js`. */
const indexOf = (tree: Tree, part: string): string =>
  join(tree.folder, 'src', part.endsWith('.js') ? part.replace(/js$/, 'ts') : join(part, 'index.ts'));

/** Returns the internal modules that the benchmarks of this tree import, without `#internal/`. */
function internalModules(): string[] {
  const folder = join(ownFolder, 'bench');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'));
  const found = texts.flatMap((text) => [...text.matchAll(/from '#internal\/([^']+)'/g)]);
  return [...new Set(found.map(([, module]) => module))];
}

/** Returns the exports of each entry of a tree's library, by name as in `skein/<part>` or `#internal/<part>`. */
async function exportsOf(tree: Tree): Promise<Map<string, readonly string[]>> {
  const all = [...readdirSync(join(tree.folder, 'src')), ...internalModules()];
  const parts = all.filter((part) => existsSync(indexOf(tree, part)));
  const { metafile } = await build({
    entryPoints: Object.fromEntries(parts.map((part) => [part, indexOf(tree, part)])),
    absWorkingDir: tree.folder,
    outdir: 'nowhere',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  return new Map(parts.map((part) => [part, metafile.outputs[`nowhere/${part}.js`].exports]));
}

/**
 * Returns the module that replaces `skein/<part>`. A name that the tree does not have throws when a case uses it: only
 * that case cannot be compared.
 */
function partModule(tree: Tree, part: string, missing: readonly string[]): string {
  const all = existsSync(indexOf(tree, part))
    ? `export * from ${JSON.stringify(indexOf(tree, part))};\n`
    : '';
  if (missing.length === 0) return all;
  const stub = `const missing = (name) => {
  const refuse = () => { throw new Error('skein/${part} has no ' + name + ' there'); };
  return new Proxy(function () {}, { apply: refuse, construct: refuse, get: refuse });
};\n`;
  return all + stub + missing.map((name) => `export const ${name} = missing('${name}');\n`).join('');
}

/** Resolves `skein/<part>` to the tree; other packages are external, at the URL where their importer finds them. */
function resolution(tree: Tree, missing: ReadonlyMap<string, readonly string[]>): Plugin {
  const bare = /^[^./]/;
  const isBuiltin = (path: string): boolean => path.startsWith('node:') || builtinModules.includes(path);
  const setup = (bundle: PluginBuild): void => {
    // The root entry would resolve to this tree's dist/ for both trees.
    bundle.onResolve({ filter: /^skein$/ }, () => ({ errors: [{ text: 'import skein/<part>, not skein' }] }));
    bundle.onResolve({ filter: /^(skein|#internal)\// }, ({ path }) => ({
      path: path.slice(path.indexOf('/') + 1),
      namespace: 'part',
    }));
    bundle.onLoad({ filter: /.*/, namespace: 'part' }, ({ path }) => ({
      contents: partModule(tree, path, missing.get(path) ?? []),
      resolveDir: tree.folder,
    }));
    bundle.onResolve({ filter: bare }, async ({ path, kind, pluginData, ...from }) => {
      if (kind === 'entry-point' || isBuiltin(path) || pluginData === 'asked') return undefined;
      const { importer, resolveDir } = from;
      const found = await bundle.resolve(path, { kind, importer, resolveDir, pluginData: 'asked' });
      // A package that is not installed may never be imported.
      return { path: found.errors.length > 0 ? path : pathToFileURL(found.path).href, external: true };
    });
  };
  return { name: 'tree', setup };
}

/** Keeps import.meta.url of bundled files. */
const addresses: Plugin = {
  name: 'addresses',
  setup(bundle) {
    bundle.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const meta = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) };
      return { loader: 'ts', contents: text.replaceAll('import.meta.', `(${JSON.stringify(meta)}).`) };
    });
  },
};

/** Returns the names that this tree's library exports and another's does not, by entry. */
async function missingIn(tree: Tree, cases: Tree): Promise<Map<string, readonly string[]>> {
  if (tree.folder === cases.folder) return new Map();
  const [own, theirs] = await Promise.all([exportsOf(thisTree()), exportsOf(tree)]);
  const lacks = (part: string) => (name: string) => theirs.get(part)?.includes(name) !== true;
  return new Map([...own].map(([part, names]) => [part, names.filter(lacks(part))]));
}

/** Bundles the benchmark of one tree, `cases`, with the library of `tree` into a folder; returns the file to run. */
export async function bundleTree(tree: Tree, cases: Tree, out: string): Promise<string> {
  try {
    return await bundleInto(tree, cases, out);
  } catch (error) {
    const [first] = (error as Partial<BuildFailure>).errors ?? [];
    if (first === undefined) throw error;
    const where = first.location === null ? '' : ` (${first.location.file}, line ${first.location.line})`;
    throw new UsageError(
      `bench: expected a library that can be bundled in ${tree.folder}, got: ${first.text}${where}.`,
    );
  }
}

async function bundleInto(tree: Tree, cases: Tree, out: string): Promise<string> {
  await build({
    entryPoints: [join(cases.folder, 'bench', 'child.ts')],
    absWorkingDir: cases.folder,
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    // package.json's list of side effects names files of dist/, not of src/.
    ignoreAnnotations: true,
    plugins: [resolution(tree, await missingIn(tree, cases)), addresses],
    logLevel: 'silent',
  });
  return join(out, 'child.mjs');
}
