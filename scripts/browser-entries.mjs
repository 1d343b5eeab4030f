/**
 * Writes the entries for browsers (`browser` in package.json's exports) into dist/. Each exports the names of the entry
 * for Node.js: from the defining module if none of its imports needs Node.js, otherwise as a value that throws when it
 * is used (src/util/node-only.ts). So no name is missing, and a bundler never sees a module of Node.js. Works on the
 * output of tsc, which contains no types.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative } from 'node:path';
import { parseSync } from 'oxc-parser';
import { starExports } from './star-exports.mjs';
import { root, StepError } from './steps.mjs';

/**
 * Dependencies that a page may load. Zod would run too, but bundlers warn about its annotations, and only
 * configurations need it.
 */
const packages = new Set(['yaml']);
/** This module only works with files, though it imports nothing from Node.js. */
const fileModule = 'dist/storage/atomic-file.js';
/** Modules that use it only if they are given a path. */
const withoutFiles = new Set(['dist/storage/memory-store.js', 'dist/storage/row-order.js']);

/** Replacements to suggest for names that need Node.js. */
const instead = {
  ...{
    readNpy: 'parseNpy of skein/interop',
    readNpz: 'parseNpz of skein/interop',
    NpzFile: 'parseNpz of skein/interop',
  },
  ...{ readTorch: 'parseSafetensors of skein/interop', loadTensors: 'decodeSafetensors of skein/tensor' },
  ...{ saveTensors: 'encodeSafetensors of skein/tensor', FileStore: 'MemoryStore', FlatFile: 'InMemory' },
  loadModel: 'decodeSafetensors of skein/tensor and model.loadStateDict',
  saveModel: 'encodeSafetensors of skein/tensor with model.stateDict',
  readEdgeList: 'fetch and Graph.fromEdges',
  loadDataset: 'fetch and makeNodeDataset, or a generator such as stochasticBlockModel',
  trainRun: 'trainNodeClassifier, or a loop over a NodeLoader',
  currentCommunicator: 'new SelfCommunicator()',
  openCommunicator: 'new SelfCommunicator()',
};

/** Reads modules of dist/ once each: their imports, and the origin of each exported name. */
class Modules {
  #read = new Map();

  /** @returns {{ imports: Set<string>, names: Map<string, [string, string]>, stars: string[] }} */
  get(file) {
    let found = this.#read.get(file);
    if (found === undefined) {
      found = this.#parse(file);
      this.#read.set(file, found);
    }
    return found;
  }

  #parse(file) {
    const text = readFileSync(join(root, file), 'utf8');
    const { module, errors } = parseSync(file, text);
    if (errors.length > 0) throw new StepError(`${file}: ${errors[0].message}`);
    const place = (name) => (name.startsWith('.') ? posix.join(dirname(file), name) : name);
    const found = { imports: new Set(), names: new Map(), stars: [] };
    for (const { moduleRequest } of module.staticImports) found.imports.add(place(moduleRequest.value));
    for (const { moduleRequest } of module.dynamicImports) {
      const name = text.slice(moduleRequest.start, moduleRequest.end);
      if (/^(['"]).*\1$/.test(name)) found.imports.add(place(name.slice(1, -1)));
    }
    for (const { moduleRequest, importName, exportName } of module.staticExports.flatMap((e) => e.entries)) {
      if (moduleRequest === null) {
        found.names.set(exportName.name ?? 'default', [file, exportName.name ?? 'default']);
        continue;
      }
      const from = place(moduleRequest.value);
      found.imports.add(from);
      if (importName.kind === 'AllButDefault') found.stars.push(from);
      else found.names.set(exportName.name, [from, importName.kind === 'All' ? '*' : importName.name]);
    }
    return found;
  }

  /**
   * Returns every exported name of a module, with the module that defines it and its name there (`*`: all of that
   * module).
   */
  exportsOf(file) {
    const { names, stars } = this.get(file);
    const all = starExports(stars, (star) => this.exportsOf(star), String);
    for (const [name, [from, original]] of names) {
      const own = from === file || original === '*';
      all.set(name, own ? [from, original] : (this.exportsOf(from).get(original) ?? [from, original]));
    }
    return all;
  }

  /** Returns whether loading a module would load one that needs Node.js. */
  needsNode(file) {
    const seen = new Set([file]);
    for (const current of seen) {
      if (current === fileModule) return true;
      for (const name of this.get(current).imports) {
        if (name === fileModule && withoutFiles.has(current)) continue;
        if (name.startsWith('dist/')) seen.add(name);
        else if (isBuiltin(name) || !packages.has(name)) return true;
      }
    }
    return false;
  }
}

/** Returns the text of the browser entry for `file`, the entry of `name` for Node.js. */
function entryText(modules, name, file) {
  const place = (target) => {
    const path = relative(dirname(file), target).replaceAll('\\', '/');
    return path.startsWith('.') ? path : `./${path}`;
  };
  const bySource = new Map();
  const stubs = [];
  for (const [exported, [from, original]] of modules.exportsOf(file)) {
    if (modules.needsNode(from)) {
      const advice = instead[exported] === undefined ? '' : `, ${JSON.stringify(instead[exported])}`;
      stubs.push(`export const ${exported} = /* @__PURE__ */ nodeOnly('${exported}', '${name}'${advice});`);
    } else if (original === '*') bySource.set(`${from} ${exported}`, `* as ${exported}`);
    else
      bySource.set(from, [
        ...(bySource.get(from) ?? []),
        original === exported ? exported : `${original} as ${exported}`,
      ]);
  }
  const lines = [...bySource].map(([from, names]) => {
    const what = typeof names === 'string' ? names : `{ ${names.join(', ')} }`;
    return `export ${what} from '${place(from.split(' ')[0])}';`;
  });
  const head = `/** \`${name}\` for browsers, written by scripts/browser-entries.mjs. Names that need Node.js throw when used. */`;
  const use = stubs.length > 0 ? [`import { nodeOnly } from '${place('dist/util/node-only.js')}';`] : [];
  return `${[head, ...use, ...lines, ...stubs].join('\n')}\n`;
}

/** Returns the entries in package.json: import, entry for Node.js, entry for browsers. */
export function browserEntries() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, target]) => target.browser !== undefined)
    .map(([path, target]) => ({
      name: path.replace('.', 'skein'),
      file: target.default.replace('./', ''),
      browser: target.browser.replace('./', ''),
    }));
}

/** Writes changed entries. */
export function writeBrowserEntries() {
  const modules = new Modules();
  for (const { name, file, browser } of browserEntries()) {
    const text = entryText(modules, name, file);
    const path = join(root, browser);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
}
