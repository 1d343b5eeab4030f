/**
 * Checks imports. A folder of src/ imports only from itself and from folders above it in `layers`; the folders that run
 * in a browser import no Node module; only the training loop draws epochs of training batches; tests, benchmarks and
 * examples import the package by name (tests and benchmarks also internal modules, by `#internal/`); no file uses data
 * outside the checkout. Type-only imports are checked too. Works on text, not on a syntax tree: comments are blanked
 * first.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative } from 'node:path';
import { root } from './steps.mjs';

/** Folders of src/ in order: each may import from those before it. */
const layers = [
  ...[
    'util',
    'plot',
    'native',
    'tensor',
    'nn',
    'graph',
    'storage',
    'sample',
    'gnn',
    'temporal',
    'data',
    'interop',
  ],
  ...['gpu', 'dist', 'train', 'predict', 'server', 'cli', 'compat'],
];
const browserFolders = new Set([
  'util',
  'plot',
  'tensor',
  'nn',
  'graph',
  'sample',
  'gnn',
  'temporal',
  'interop',
  'gpu',
]);
/** The only file that counts epochs of training. */
const trainingLoop = 'src/train/fit.ts';
const consumers = ['test', 'bench', 'examples'];
const scanned = ['src', ...consumers, 'scripts', 'native', 'web'];

/** Returns source files below root/folder, as paths from the root. */
function listFiles(base, folder) {
  const start = join(base, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mts|js|mjs|cpp|h|py|sh)$/.test(entry.name))
    .map((entry) => relative(base, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((file) => !file.includes('node_modules/'))
    .sort();
}

/** Blanks comments, so that positions stay and examples in comments are ignored. */
function blankComments(text) {
  const token = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(token, (match) => (/^\/[/*]/.test(match) ? match.replace(/[^\n]/g, ' ') : match));
}

/** Returns every module of an import, export-from, dynamic import, import type or require, with its line. */
function findImports(text) {
  const source = blankComments(text);
  const patterns = [
    /^[ \t]*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"\n]+)['"]/gm,
    /^[ \t]*import\s*['"]([^'"\n]+)['"]/gm,
    /\b(?:import|require|getBuiltinModule)\s*\(\s*['"]([^'"\n]+)['"]/g,
  ];
  const found = [];
  for (const pattern of patterns) {
    for (const match of source.matchAll(pattern)) {
      // The line of the module's name: an import may span several lines.
      const end = match.index + match[0].length;
      found.push({ module: match[1], line: source.slice(0, end).split('\n').length });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

/** Returns the folder of src/ that contains a path from the root; '' for files directly in src/, null outside. */
function layerOf(path) {
  const [top, folder, ...rest] = path.split('/');
  if (top !== 'src') return null;
  return rest.length === 0 ? '' : folder;
}

/** Returns whether a file is a test or a test helper in a folder named testing; the build excludes both. */
function isForTests(file) {
  return file.endsWith('.test.ts') || file.includes('/testing/');
}

function checkSourceImport(file, module) {
  const from = layerOf(file);
  const isTest = isForTests(file);
  if (/^(skein|#internal)(\/|$)/.test(module))
    return `imports the package by name (${module}); use a relative path`;
  if (!module.startsWith('.')) {
    if (isBuiltin(module) && browserFolders.has(from) && !isTest)
      return `imports ${module}, but src/${from} runs in a browser`;
    if (module === 'vitest' && !isTest) return 'imports vitest outside a test';
    return null;
  }
  const target = posix.join(dirname(file), module);
  const to = layerOf(target);
  if (to === null) return `imports ${module}, which is outside src`;
  if (isForTests(target) && !isTest) return `imports ${module}, which is for tests only`;
  if (from === '' || from === to) return null;
  if (to === '') return `imports ${module}; the root of src is above all layers`;
  if (!layers.includes(to)) return `imports ${module}; src/${to} is not in the list of layers`;
  if (layers.indexOf(to) > layers.indexOf(from))
    return `imports ${module}; src/${from} must not import from src/${to}`;
  return null;
}

function checkConsumerImport(file, module) {
  if (module.startsWith('#internal/') && file.startsWith('examples/'))
    return `imports ${module}; an example must only use exports of the package`;
  if (!module.startsWith('.')) return null;
  const [top] = posix.join(dirname(file), module).split('/');
  if (['src', 'dist', 'build', 'native'].includes(top))
    return `imports ${module}; import the package by name (skein, skein/...), or #internal/... for internal modules`;
  return null;
}

/** Returns whether a line imports a module of the checkout, such as a helper of the examples. */
function isInnerImport(file, line) {
  const module = /\bfrom '(\.\.\/[^']+)'/.exec(line)?.[1];
  return module !== undefined && !posix.join(dirname(file), module).startsWith('..');
}

/** Returns all problems below `base`, as `file:line: sentence`. */
function checkLayers(base) {
  const problems = [];
  for (const file of scanned.flatMap((folder) => listFiles(base, folder))) {
    const text = readFileSync(join(base, file), 'utf8');
    const report = (line, what) => problems.push(`${file}:${line}: ${what}`);
    for (const [index, line] of text.split('\n').entries()) {
      if (/\.\.\/shared\b/.test(line) && !isInnerImport(file, line))
        report(index + 1, 'uses a path outside the checkout; take the folder from SKEIN_DATA');
    }
    if (!/\.m?[tj]s$/.test(file)) continue;
    const [top, folder] = file.split('/');
    if (top === 'src' && layerOf(file) !== '' && !layers.includes(folder))
      report(1, `src/${folder} is not in the list of layers`);
    const check =
      top === 'src' ? checkSourceImport : consumers.includes(top) ? checkConsumerImport : () => null;
    if (top === 'src' && file !== trainingLoop)
      for (const match of blankComments(text).matchAll(/\bbatches\s*\.\s*train\s*\.\s*epoch\s*\(/g))
        report(
          text.slice(0, match.index).split('\n').length,
          `draws an epoch of training batches; only ${trainingLoop} may do that`,
        );
    for (const { module, line } of findImports(text)) {
      const what = check(file, module);
      if (what !== null) report(line, what);
    }
  }
  return problems;
}

// Tests of this script pass another root.
const problems = checkLayers(process.argv[2] ?? root);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
