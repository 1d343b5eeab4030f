/**
 * Checks that a kernel has the same parameters on both sides of the border, by name, order and kind: in the contract
 * (src/native/*kernels.ts), in every declaration and definition in native/kernels, in its rule
 * (native/binding/kernels.def) and in its TypeScript twin (src/native/reference). The compilers see one side each, so
 * that two numbers that change places in C++ would compile everywhere.
 *
 * A parameter is `row_bytes` in C++ and `rowBytes` in TypeScript. A kernel with more than `mostPositions` parameters takes one
 * record in TypeScript; src/native/record-kernels.ts lists its fields in the order of the C++ parameters.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import { root } from './steps.mjs';

/** The largest number of positional parameters of a kernel in TypeScript. */
const mostPositions = 8;
const recordFile = 'src/native/record-kernels.ts';

/** TypeScript types that a C++ type may have in the contract, without `| null`. */
const typesOf = {
  'T*': ['FloatArray'],
  'float*': ['Float32Array'],
  'double*': ['Float64Array'],
  'i32*': ['Int32Array', 'Dims'],
  'u32*': ['Uint32Array', 'RandomKey'],
  'u16*': ['Uint16Array'],
  'u8*': ['Uint8Array'],
  'void*': ['TypedArray'],
  Offsets: ['Offsets'],
  i64: ['number'],
  double: ['number'],
  bool: ['boolean'],
};

const camelCase = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** Files below base/folder whose names match, as paths from `base` with their texts. */
function readAll(base, folder, pattern) {
  const start = join(base, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true })
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => ({
      file: relative(base, join(start, name)).replaceAll('\\', '/'),
      text: readFileSync(join(start, name), 'utf8'),
    }));
}

/**
 * Kernels of kernels.def by name in TypeScript: C++ name, whether it is a template, names and nullability of
 * parameters.
 */
function parseTable(text) {
  const source = text.replace(/^\s*\/\/.*$/gm, '');
  const entries = source.matchAll(/^(FLOAT_)?KERNEL\((\w+),\s*(\w+),\s*((?:"[^"]*"\s*)+)\)/gm);
  return new Map(
    [...entries].map(([, float, name, cpp, strings]) => {
      const rule = [...strings.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join('');
      const words = rule.split(' ').filter((word) => word !== '');
      const parameters = words.map((word) => ({
        name: /^\w+/.exec(word)[0],
        nullable: /^\w+\?/.test(word),
        text: word,
      }));
      return [name, { cpp, isTemplate: float !== undefined, parameters }];
    }),
  );
}

/** One C++ parameter, such as `const T* x` or `List<const i32> offsets`. */
function parseParameter(text) {
  const [, type, name] = /^(.*?[\s*>])(\w+)$/s.exec(text.trim()) ?? [];
  const plain = type?.replace(/\bconst\b/g, '').replace(/\s+/g, '');
  return {
    name: camelCase(name ?? ''),
    type: plain?.replace(/^List<(\w+)>$/, '$1*') ?? '',
    text: text.trim(),
  };
}

/** All declarations and definitions of the functions `names`, with where they are. */
function findFunctions(files, names) {
  const found = new Map([...names].map((name) => [name, []]));
  for (const { file, text } of files) {
    const source = text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
    const heads = source.matchAll(
      /^(template <class T>\s+)?(void|double|i64|bool) (\w+)\(([^()]*)\)\s*[;{]/gm,
    );
    for (const { 1: template, 2: result, 3: name, 4: list, index } of heads) {
      const line = source.slice(0, index).split('\n').length;
      const parameters = list.trim() === '' ? [] : list.split(',').map(parseParameter);
      found
        .get(name)
        ?.push({ where: `${file}:${line}`, isTemplate: template !== undefined, result, parameters });
    }
  }
  return found;
}

const typeText = (text, node) => text.slice(node.start, node.end);

/** A member of a record or a parameter: its name, its type without null, whether it may be null. */
function parseMember(text, name, type) {
  const types = type.type === 'TSUnionType' ? type.types : [type];
  const plain = types.filter((each) => each.type !== 'TSNullKeyword').map((each) => typeText(text, each));
  const isNullable = plain.length < types.length || plain[0] === 'Dims';
  return { name, type: plain.join(' | '), nullable: isNullable, text: `${name}: ${typeText(text, type)}` };
}

const lineOf = (text, at) => text.slice(0, at).split('\n').length;

/** Exported interfaces of a file by name. */
function interfacesOf({ file, text }) {
  const { program } = parseSync(file, text);
  const declarations = program.body.map((statement) => statement.declaration ?? statement);
  return declarations.filter(({ type }) => type === 'TSInterfaceDeclaration');
}

/** The order of the fields of records, by kernel: the texts of `recordOrder`. */
function parseRecordOrder(text) {
  const declarations = parseSync(recordFile, text).program.body.flatMap((s) => s.declarations ?? []);
  const order = declarations.find(({ id }) => id.name === 'recordOrder');
  const join = (node) => (node.type === 'BinaryExpression' ? join(node.left) + join(node.right) : node.value);
  return new Map(order?.init.properties.map(({ key, value }) => [key.name, join(value).split(' ')]));
}

/** The fields of an interface and of those that it extends, by name. */
function fieldsOf({ text, declared }, all) {
  const bases = declared.extends.map(({ expression }) => all.get(expression.name)).filter(Boolean);
  const own = declared.body.body
    .filter(({ type }) => type === 'TSPropertySignature')
    .map(({ key, typeAnnotation }) => parseMember(text, key.name, typeAnnotation.typeAnnotation));
  return new Map([
    ...bases.flatMap((base) => [...fieldsOf(base, all)]),
    ...own.map((field) => [field.name, field]),
  ]);
}

/**
 * The kernels of the contract by name: where, result, parameters in the order of `order`, whether these are the fields of a
 * record, and the fields that `order` does not list.
 */
function parseContract(files, order) {
  const found = files.flatMap((source) => interfacesOf(source).map((declared) => ({ ...source, declared })));
  const all = new Map(found.map((each) => [each.declared.id.name, each]));
  const kernels = new Map();
  for (const { file, text, declared } of found) {
    if (!declared.id.name.endsWith('Kernels')) continue;
    for (const { type, key, params, returnType, start } of declared.body.body) {
      if (type !== 'TSMethodSignature') continue;
      const parameters = params.map(({ name, typeAnnotation }) =>
        parseMember(text, name, typeAnnotation.typeAnnotation),
      );
      const record = parameters.length === 1 ? all.get(parameters[0].type) : undefined;
      const fields = record === undefined ? new Map() : fieldsOf(record, all);
      const names = order.get(key.name) ?? [];
      kernels.set(key.name, {
        where: `${file}:${lineOf(text, start)}`,
        result: typeText(text, returnType.typeAnnotation),
        isRecord: record !== undefined,
        parameters:
          record === undefined ? parameters : names.map((name) => fields.get(name) ?? noField(name)),
        withoutParameter: [...fields.keys()].filter((name) => !names.includes(name)),
      });
    }
  }
  return kernels;
}

const noField = (name) => ({ name, type: '', text: `${name}: no such field` });

/** The twins: methods of objects in src/native/reference that have the name of a kernel and take positions. */
function findTwins(files, kernels) {
  const found = [];
  for (const { file, text } of files) {
    const declarations = parseSync(file, text).program.body.flatMap((s) => s.declaration?.declarations ?? []);
    const objects = declarations.map(({ init }) => init?.expression ?? init);
    for (const { key, value } of objects.flatMap((object) => object?.properties ?? [])) {
      if (value?.type !== 'FunctionExpression' || kernels.get(key.name)?.isRecord !== false) continue;
      const parameters = value.params.map(({ name }) => ({ name: name?.replace(/^_/, ''), text: name }));
      found.push({ name: key.name, where: `${file}:${lineOf(text, value.start)}`, parameters });
    }
  }
  return found;
}

/**
 * Problems of one kernel: `one` is its contract, `other` another form of it, `differ(a, b)` what two parameters must
 * share.
 */
function compareLists(kernel, one, other, differ, mayBeShort = false) {
  const problems = [];
  const count = mayBeShort
    ? other.parameters.length
    : Math.max(one.parameters.length, other.parameters.length);
  for (let at = 0; at < count; at++) {
    const [a, b] = [one.parameters[at], other.parameters[at]];
    const difference = a === undefined || b === undefined ? 'number of parameters' : differ(a, b);
    if (difference === null) continue;
    const show = (parameter) => (parameter === undefined ? 'nothing' : `\`${parameter.text}\``);
    problems.push(
      `kernel ${kernel}, parameter ${at + 1}: different ${difference}: ${show(a)} in ${one.where}, ${show(b)} in ${other.where}`,
    );
    if (a === undefined || b === undefined) break;
  }
  return problems;
}

const differentName = (a, b) => (a.name === b.name ? null : 'names');
const differentNull = (a, b) => differentName(a, b) ?? (a.nullable === b.nullable ? null : 'nullability');
const differentType = (a, b) => differentName(a, b) ?? (typesOf[b.type]?.includes(a.type) ? null : 'kinds');

/** Everything about one kernel of the contract. */
function checkKernel(name, contract, entry, functions) {
  const { where, isRecord, parameters, result, withoutParameter } = contract;
  const problems = withoutParameter.map(
    (field) => `kernel ${name}: ${where} takes a record with ${field}, which ${recordFile} does not list`,
  );
  if (isRecord !== parameters.length > mostPositions)
    problems.push(
      `kernel ${name}: ${where} takes ${parameters.length} parameters as ${isRecord ? 'a record' : 'positions'}. ` +
        `Use a record above ${mostPositions}, positions otherwise.`,
    );
  if (entry === undefined)
    return [...problems, `kernel ${name}: ${where} has no entry in native/binding/kernels.def`];
  const table = { where: 'native/binding/kernels.def', parameters: entry.parameters };
  problems.push(...compareLists(name, contract, table, differentNull));
  if (functions.length === 0)
    problems.push(`kernel ${name}: no declaration of ${entry.cpp} in native/kernels`);
  for (const form of functions) {
    problems.push(...compareLists(name, contract, form, differentType));
    if ((form.result === 'void') !== (result === 'void'))
      problems.push(
        `kernel ${name}: different results: ${result} in ${where}, ${form.result} in ${form.where}`,
      );
    if (form.isTemplate !== entry.isTemplate)
      problems.push(
        `kernel ${name}: ${form.where} is ${form.isTemplate ? '' : 'not '}a template, kernels.def has ${entry.isTemplate ? 'FLOAT_' : ''}KERNEL`,
      );
  }
  return problems;
}

/** All differences found in the checkout at `base`, one sentence each. */
export function checkKernels(base) {
  const recordText = existsSync(join(base, recordFile)) ? readFileSync(join(base, recordFile), 'utf8') : '';
  const contract = parseContract(
    readAll(base, 'src/native', /^[\w-]*kernels\.ts$/),
    parseRecordOrder(recordText),
  );
  const table = parseTable(readFileSync(join(base, 'native/binding/kernels.def'), 'utf8'));
  const names = new Set([...table.values()].map(({ cpp }) => cpp));
  const functions = findFunctions(readAll(base, 'native/kernels', /\.(h|cpp)$/), names);
  const problems = [...contract].flatMap(([name, kernel]) => {
    const entry = table.get(name);
    return checkKernel(name, kernel, entry, functions.get(entry?.cpp) ?? []);
  });
  for (const name of table.keys())
    if (!contract.has(name))
      problems.push(`kernel ${name}: native/binding/kernels.def has it, the contract has not`);
  for (const twin of findTwins(readAll(base, 'src/native/reference', /\.ts$/), contract))
    problems.push(...compareLists(twin.name, contract.get(twin.name), twin, differentName, true));
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkKernels(root);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
