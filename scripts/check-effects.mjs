/**
 * Checks that a bundler may drop what a page does not use, as `sideEffects` in package.json promises. A module that does
 * something when it loads must be listed there or below; an import without names is such a module's only use; modules
 * that import each other in a circle make bundlers warn and depend on which is loaded first. Types do not count: they are
 * gone when a bundler comes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { root } from './steps.mjs';

/** Modules that set up only what their own exports use: when these are dropped, nothing is missing. */
const ownEffects = new Set(['native/active.ts']);
/** The class without its methods; only what the methods are made of may import it. See src/tensor/methods.ts. */
const [plainClass, methods] = ['tensor/tensor.ts', 'tensor/methods.ts'];

const declarations =
  /^(Import|Function|Class|Variable|TSTypeAlias|TSInterface|TSModule)Declaration$|^TSDeclareFunction$/;

/** What a module does when it loads, as line numbers: statements other than declarations, and static blocks. */
function effectsOf(body, lineOf) {
  return body
    .map((statement) => (/^Export/.test(statement.type) ? statement.declaration : statement))
    .filter((statement) => statement != null)
    .flatMap((statement) => {
      const parts = statement.type === 'ClassDeclaration' ? statement.body.body : [];
      const blocks = parts.filter((part) => part.type === 'StaticBlock');
      return declarations.test(statement.type) ? blocks : [statement];
    })
    .map((statement) => lineOf(statement.start));
}

/** Modules of src/ that `file` loads, with whether it takes a name from them. Type imports are none. */
function importsOf(file, module) {
  const place = (name) => posix.join(dirname(file), name).replace(/\.js$/, '.ts');
  const found = [];
  for (const { moduleRequest, entries, start } of module.staticImports) {
    if (!moduleRequest.value.startsWith('.') || (entries.length > 0 && entries.every((e) => e.isType)))
      continue;
    found.push({ to: place(moduleRequest.value), bare: entries.length === 0, start });
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, isType, start } of entries) {
      if (moduleRequest?.value.startsWith('.') && !isType)
        found.push({ to: place(moduleRequest.value), bare: false, start });
    }
  }
  return found;
}

function readModules(base) {
  const modules = new Map();
  for (const name of readdirSync(join(base, 'src'), { recursive: true, encoding: 'utf8' }).sort()) {
    const file = name.replaceAll('\\', '/');
    if (!file.endsWith('.ts') || /\.(d|test|bench)\.ts$/.test(file)) continue;
    const text = readFileSync(join(base, 'src', file), 'utf8');
    const { program, module } = parseSync(file, text);
    const lineOf = (start) => text.slice(0, start).split('\n').length;
    const imports = importsOf(file, module).map((one) => ({ ...one, line: lineOf(one.start) }));
    modules.set(file, { effects: effectsOf(program.body, lineOf), imports });
  }
  return modules;
}

/** Files that `start` loads, itself included. */
function reach(modules, start) {
  const seen = new Set([start]);
  for (const file of seen) for (const { to } of modules.get(file)?.imports ?? []) seen.add(to);
  return seen;
}

/** The first circle found from each module that lies on one, once each. */
function circles(modules) {
  const state = new Map();
  const found = [];
  const visit = (file, path) => {
    state.set(file, 'open');
    for (const { to } of modules.get(file)?.imports ?? []) {
      if (state.get(to) === 'open') found.push([...path.slice(path.indexOf(to)), to]);
      else if (!state.has(to)) visit(to, [...path, to]);
    }
    state.set(file, 'done');
  };
  for (const file of modules.keys()) if (!state.has(file)) visit(file, [file]);
  return found;
}

function checkEffects(base) {
  const { sideEffects } = JSON.parse(readFileSync(join(base, 'package.json'), 'utf8'));
  const patterns = sideEffects.map(
    (text) => new RegExp(`^${text.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`),
  );
  const output = (file) => `./dist/${file.replace(/\.ts$/, '.js')}`;
  const listed = (file) => patterns.some((pattern) => pattern.test(output(file)));
  const modules = readModules(base);
  const problems = [];
  for (const [file, { effects, imports }] of modules) {
    if (effects.length > 0 && !listed(file) && !ownEffects.has(file))
      problems.push(
        `src/${file}:${effects[0]}: does something when it loads, which bundlers drop. Do it in what is exported, ` +
          `or add ${output(file)} to sideEffects in package.json`,
      );
    for (const { to, bare, line } of imports) {
      if (bare && !(listed(file) && listed(to)))
        problems.push(`src/${file}:${line}: imports ${to} without a name, which bundlers drop`);
    }
  }
  for (const circle of circles(modules))
    problems.push(`src/${circle[0]}: a circle of imports: ${circle.join(' -> ')}`);
  const parts = modules.has(methods) ? reach(modules, methods) : new Set();
  for (const [file, { imports }] of modules) {
    const plain = imports.find(({ to }) => to === plainClass);
    if (plain !== undefined && parts.size > 0 && !parts.has(file))
      problems.push(
        `src/${file}:${plain.line}: takes Tensor from ${plainClass}, without its methods; use ${methods}`,
      );
  }
  return problems;
}

// Another root is for the tests of this script.
const problems = checkEffects(process.argv[2] ?? root);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
