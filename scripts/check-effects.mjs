/**
 * Checks that a bundler may drop unused modules, as `sideEffects` in package.json declares. A module with side effects
 * must be listed there or below; an import without names is only useful for such a module; import cycles make bundlers
 * warn and depend on which module is loaded first. Type imports are ignored: bundlers do not see them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { root } from './steps.mjs';

/** Modules whose side effects only concern their exports: if these are dropped, nothing is missing. */
const ownEffects = new Set(['native/active.ts']);
/** The class without its methods; only modules that the methods use may import it. See src/tensor/methods.ts. */
const [plainClass, methods] = ['tensor/tensor.ts', 'tensor/methods.ts'];

const declarations =
  /^(Import|Function|Class|Variable|TSTypeAlias|TSInterface|TSModule)Declaration$|^TSDeclareFunction$/;

/** Returns the line numbers of a module's side effects: statements other than declarations, and static blocks. */
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

/** Returns the modules of src/ that `file` loads, and whether it imports names from them. Type imports are ignored. */
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

/** Returns the files that `start` loads, itself included. */
function reach(modules, start) {
  const seen = new Set([start]);
  for (const file of seen) for (const { to } of modules.get(file)?.imports ?? []) seen.add(to);
  return seen;
}

/** Returns import cycles, each once. */
function findCycles(modules) {
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
        `src/${file}:${effects[0]}: has a side effect when it loads, which bundlers drop. Move it into an exported function, ` +
          `or add ${output(file)} to sideEffects in package.json`,
      );
    for (const { to, bare, line } of imports) {
      if (bare && !(listed(file) && listed(to)))
        problems.push(`src/${file}:${line}: imports ${to} without a name, which bundlers drop`);
    }
  }
  for (const cycle of findCycles(modules))
    problems.push(`src/${cycle[0]}: import cycle: ${cycle.join(' -> ')}`);
  const parts = modules.has(methods) ? reach(modules, methods) : new Set();
  for (const [file, { imports }] of modules) {
    const plain = imports.find(({ to }) => to === plainClass);
    if (plain !== undefined && parts.size > 0 && !parts.has(file))
      problems.push(
        `src/${file}:${plain.line}: imports Tensor from ${plainClass}, without its methods; use ${methods}`,
      );
  }
  return problems;
}

// Tests of this script pass another root.
const problems = checkEffects(process.argv[2] ?? root);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
