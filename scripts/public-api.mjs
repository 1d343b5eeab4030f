/**
 * Reads the public surface of the package from its sources: for each subpath of package.json's `exports`, every name
 * with the declaration it stands for. Works on the syntax tree alone, so it needs no build; types that the compiler
 * infers are not seen.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { starExports } from './star-exports.mjs';

/**
 * @typedef {{ file: string, name: string, kind: string, nodes: object[] }} Declaration `*` as name: all of a module
 * @typedef {{ subpath: string, file: string, names: Map<string, Declaration> }} Entry
 */

/** Source files of the package, parsed on demand, each once. */
export class Sources {
  #base;
  #read = new Map();

  constructor(base) {
    this.#base = base;
  }

  /** Reads one source file: its text, what it declares, what it imports and exports. */
  get(file) {
    let found = this.#read.get(file);
    if (found === undefined) {
      found = this.#parse(file);
      this.#read.set(file, found);
    }
    return found;
  }

  #parse(file) {
    const text = readFileSync(join(this.#base, file), 'utf8');
    const { program, module, comments, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
    const pathOf = (name) => posix.join(dirname(file), name).replace(/\.js$/, '.ts');
    const imports = new Map();
    for (const { moduleRequest, entries } of module.staticImports) {
      if (!moduleRequest.value.startsWith('.')) continue;
      for (const { importName, localName } of entries)
        imports.set(localName.value, [pathOf(moduleRequest.value), importName.name ?? '*']);
    }
    const exports = new Map();
    const stars = [];
    for (const entry of module.staticExports.flatMap(({ entries }) => entries)) {
      const { moduleRequest, importName, exportName, localName } = entry;
      if (moduleRequest === null) exports.set(exportName.name, [file, localName.name]);
      else if (importName.kind === 'AllButDefault') stars.push(pathOf(moduleRequest.value));
      else exports.set(exportName.name, [pathOf(moduleRequest.value), importName.name ?? '*']);
    }
    const internal = comments.filter(({ value }) => value.includes('@internal')).map(({ end }) => end);
    return { text, comments, internal, imports, exports, stars, declarations: declarationsOf(program.body) };
  }

  /** Returns the declaration that a name of a file stands for, or null when it comes from outside the package. */
  resolve(file, name) {
    if (name === '*') return { file, name, kind: 'namespace', nodes: [] };
    const { declarations, imports } = this.get(file);
    if (imports.has(name)) {
      const [from, original] = imports.get(name);
      return original === '*' ? this.resolve(from, '*') : this.#resolveExport(from, original);
    }
    const nodes = declarations.get(name);
    return nodes === undefined ? null : { file, name, kind: kindOf(nodes), nodes };
  }

  #resolveExport(file, name) {
    const { exports, stars } = this.get(file);
    if (exports.has(name)) {
      const [from, original] = exports.get(name);
      return from === file || original === '*'
        ? this.resolve(from, original)
        : this.#resolveExport(from, original);
    }
    for (const star of stars) {
      const found = this.#resolveExport(star, name);
      if (found !== null) return found;
    }
    return null;
  }

  /** Every name that a file exports, with its declaration. */
  exportsOf(file) {
    const { exports, stars } = this.get(file);
    const all = starExports(stars, (star) => this.exportsOf(star), keyOf);
    for (const name of exports.keys()) {
      const declaration = this.#resolveExport(file, name);
      if (declaration === null)
        throw new Error(`${file}: exports ${name}, which was not found in its sources`);
      all.set(name, declaration);
    }
    return all;
  }
}

/** Statements by the name that they declare; a name may have several (overloads, a type and a value). */
function declarationsOf(body) {
  const found = new Map();
  const add = (name, node) => found.set(name, [...(found.get(name) ?? []), node]);
  for (const statement of body) {
    const node = statement.declaration ?? statement;
    if (node.type === 'VariableDeclaration') {
      for (const one of node.declarations) {
        const names =
          one.id.type === 'ObjectPattern' ? one.id.properties.map(({ value }) => value) : [one.id];
        for (const { name } of names) add(name, one);
      }
    } else if (node.id?.type === 'Identifier') add(node.id.name, node);
  }
  return found;
}

const kinds = {
  ClassDeclaration: 'class',
  FunctionDeclaration: 'function',
  TSDeclareFunction: 'function',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
  TSEnumDeclaration: 'enum',
  TSModuleDeclaration: 'namespace',
};

/** The kind of a name's declarations; a value's comes before a type's. */
function kindOf(nodes) {
  const all = nodes.map((node) => {
    if (node.type !== 'VariableDeclarator') return kinds[node.type] ?? node.type;
    return isFunction(node.init) && !node.id.typeAnnotation ? 'function' : 'const';
  });
  return all.find((kind) => kind !== 'interface' && kind !== 'type') ?? all[0];
}

const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** Tells declarations apart. */
export function keyOf({ file, name }) {
  return `${file}#${name}`;
}

/** Whether a class member is part of the signature: not private, and not marked as internal. */
function isPublicMember(node, { text, internal }) {
  if (node.accessibility === 'private' || node.key?.type === 'PrivateIdentifier') return false;
  return !internal.some((end) => end <= node.start && text.slice(end, node.start).trim() === '');
}

/**
 * Calls `visit` with every name that the signature of a declaration uses: types of parameters, results and public
 * members, and what it extends. Bodies and initial values are left out.
 */
function visitTypeNames(node, source, visit) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) visitTypeNames(one, source, visit);
    return;
  }
  if (/^(MethodDefinition|PropertyDefinition|TSAbstract|TSParameterProperty|TSPropertySig)/.test(node.type)) {
    if (node.type !== 'TSParameterProperty' && !isPublicMember(node, source)) return;
  }
  if (node.type === 'AssignmentPattern') return visitTypeNames(node.left, source, visit);
  const start = firstName(node);
  if (start !== undefined) visit(start, /Heritage|Implements|^Class/.test(node.type));
  if (node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSTypeReference')
    visit(firstName(node.typeAnnotation), true);
  for (const [key, child] of Object.entries(node)) {
    if (key === 'body' && !/^(Class|TSInterface)(Declaration|Body)$/.test(node.type)) continue;
    if ((key === 'value' || key === 'init') && !isFunction(child)) continue;
    if (key === 'init' && node.id?.typeAnnotation) continue;
    visitTypeNames(child, source, visit);
  }
}

/** The leftmost name of a type reference, of `typeof x`, or of what a class or interface extends. */
function firstName(node) {
  let name;
  if (node.type === 'TSTypeReference') name = node.typeName;
  else if (node.type === 'TSTypeQuery') name = node.exprName;
  else if (node.type === 'TSInterfaceHeritage' || node.type === 'TSClassImplements') name = node.expression;
  else if (node.type === 'ClassDeclaration') name = node.superClass;
  while (name?.type === 'TSQualifiedName' || name?.type === 'MemberExpression')
    name = name.left ?? name.object;
  return name?.type === 'Identifier' ? name.name : undefined;
}

/**
 * Keys of the declarations that the signature of `declaration` uses. Members inherited from a base that `isPublic` does
 * not know belong to the signature, as do those of a type that an alias stands for.
 */
export function referencesOf(sources, declaration, isPublic) {
  const found = new Set();
  const visitDeclaration = (current) => {
    for (const node of current.nodes) {
      visitTypeNames(node, sources.get(current.file), (name, isBase) => {
        const used = sources.resolve(current.file, name);
        if (used === null || found.has(keyOf(used))) return;
        found.add(keyOf(used));
        if (isBase && !isPublic(keyOf(used))) visitDeclaration(used);
      });
    }
  };
  visitDeclaration(declaration);
  found.delete(keyOf(declaration));
  return found;
}

/** Source text between two positions in one line, without comments. */
function plainText({ text, comments }, start, end) {
  let plain = '';
  let from = start;
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    plain += text.slice(from, comment.start);
    from = comment.end;
  }
  return (plain + text.slice(from, end))
    .replace(/\s+/g, ' ')
    .replace(/([([{]) | (?=[)\]])|,(?= [)\]}])/g, '$1')
    .trim();
}

function memberText(node, source) {
  const name = plainText(source, node.key?.start ?? node.start, node.key?.end ?? node.end);
  const isMethod = node.type === 'TSMethodSignature' || node.kind === 'method';
  return `${node.static ? 'static ' : ''}${name}${node.optional ? '?' : ''}${isMethod ? '()' : ''}`;
}

/** A class or interface: what it extends, the parameters of its constructor, the names of its public members. */
function membersText(node, source) {
  const head = plainText(source, node.id.start, node.body.start);
  const members = [];
  for (const member of node.body.body) {
    if (!isPublicMember(member, source)) continue;
    const text =
      member.kind === 'constructor'
        ? plainText(source, member.start, member.value.body?.start ?? member.end)
        : memberText(member, source);
    if (!members.includes(text)) members.push(text);
  }
  return `${head} { ${members.join(', ')} }`;
}

function nodeText(node, source) {
  if (node.type === 'ClassDeclaration' || node.type === 'TSInterfaceDeclaration')
    return membersText(node, source);
  if (node.type === 'VariableDeclarator') {
    if (node.id.typeAnnotation || node.id.type !== 'Identifier' || node.init == null)
      return plainText(source, node.id.start, node.id.end);
    const end = isFunction(node.init) ? node.init.body.start : node.init.end;
    return plainText(source, node.start, end).replace(/ =>$/, '');
  }
  return plainText(source, node.id.start, node.body?.start ?? node.end).replace(/;$/, '');
}

/** One line that describes a declaration. */
export function signatureOf(sources, { file, name, kind, nodes }) {
  if (kind === 'namespace' && nodes.length === 0) return `${kind} of ${file}`;
  const source = sources.get(file);
  // Of an overloaded function the last declaration is its implementation.
  const overloads = nodes.filter(({ type }) => type === 'TSDeclareFunction');
  const shown = overloads.length > 0 && kind === 'function' ? overloads : nodes;
  const text = `${kind} ${shown.map((node) => nodeText(node, source)).join(' | ')}`;
  return text.length > 240 ? `${text.slice(0, 239)}…` : text || name;
}

/** The entries that package.json exports, in its order. @returns {Entry[]} */
export function readPublicApi(base, sources = new Sources(base)) {
  const { exports } = JSON.parse(readFileSync(join(base, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, target]) => target.types !== undefined)
    .map(([path, { types }]) => {
      const file = types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts');
      const names = new Map([...sources.exportsOf(file)].sort(([a], [b]) => (a < b ? -1 : 1)));
      return { subpath: path.replace('.', 'skein'), file, names };
    });
}
