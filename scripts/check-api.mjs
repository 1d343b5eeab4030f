/**
 * Checks the public surface of the package (see public-api.mjs). docs/api.txt is up to date; a name means one thing,
 * from whichever subpath it is imported; and every name is meant to be used: a page of the documentation or an example
 * mentions it in code, or the signature of another name that is.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderApi } from './api.mjs';
import { keyOf, readPublicApi, referencesOf, Sources } from './public-api.mjs';
import { root } from './steps.mjs';

/** Names that mean something else in one subpath, with the reason. */
const marius = "the name that Marius's document gives to a class with a life cycle of its own";
const otherMeanings = [
  { name: 'Batch', subpath: 'skein/marius', reason: marius },
  { name: 'DataLoader', subpath: 'skein/marius', reason: "Marius's name; the other is SAR's" },
  { name: 'EdgeList', subpath: 'skein/marius', reason: marius },
  { name: 'EdgeSampler', subpath: 'skein/marius', reason: marius },
  { name: 'NegativeSampler', subpath: 'skein/marius', reason: marius },
  { name: 'NeighborSampler', subpath: 'skein/marius', reason: marius },
];
/** The subpath with the names of a source document, which may give a second name to a declaration. */
const secondNames = 'skein/marius';
/** Second names elsewhere: SAR's, which its programs use next to our own. */
const sarNames = new Set(['DistributedBN1D']);
const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'];
/** Languages of fenced blocks that can mention a name. */
const programs = new Set(['', 'ts', 'typescript', 'js', 'javascript', 'html']);

/** Files below `folder` whose name ends with one of `endings`. */
function filesIn(base, folder, endings) {
  if (!existsSync(join(base, folder))) return [];
  return readdirSync(join(base, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => endings.some((ending) => file.endsWith(ending)) && !file.includes('node_modules'))
    .map((file) => join(folder, file));
}

/** The code of a page: spans between backticks, and fenced blocks of programs. */
function codeOf(markdown) {
  const code = [];
  const prose = markdown.replace(/^ *```([a-z]*)[^\n]*\n([\s\S]*?)^ *```/gm, (_, language, block) => {
    if (programs.has(language)) code.push(block);
    return '';
  });
  for (const [, span] of prose.matchAll(/`([^`]+)`/g)) code.push(span);
  return code.join('\n');
}

/** Identifiers in code. After a dot a name belongs to an object, unless that is one of the package's namespaces. */
function namesIn(code, namespaces) {
  const found = new Set();
  for (const [, object, name] of code.matchAll(/(?:([\w$]*)\.)?([A-Za-z_$][\w$]*)/g))
    if (object === undefined || namespaces.has(object)) found.add(name);
  return found;
}

function mentionedNames(base, entries) {
  const namespaces = new Set(['skein']);
  for (const { names } of entries)
    for (const [name, { kind }] of names) if (kind === 'namespace') namespaces.add(name);
  const markdown = [
    ...pages.filter((page) => existsSync(join(base, page))),
    ...filesIn(base, 'docs', ['.md']),
  ];
  const examples = filesIn(base, 'examples', ['.ts', '.js', '.mjs', '.html']);
  const text = (file) => readFileSync(join(base, file), 'utf8');
  const code = [...markdown.map((file) => codeOf(text(file))), ...examples.map(text)];
  return new Set(code.flatMap((one) => [...namesIn(one, namespaces)]));
}

/** Every name by itself, with the subpaths that export it and each declaration it stands for. */
function byName(entries) {
  const all = new Map();
  for (const { subpath, file, names } of entries) {
    for (const [name, declaration] of names) {
      const uses = all.get(name) ?? [];
      uses.push({ subpath, file, declaration });
      all.set(name, uses);
    }
  }
  return all;
}

function checkMeanings(names) {
  const problems = [];
  const unneeded = new Set(otherMeanings);
  for (const [name, [first, ...others]] of names) {
    for (const { subpath, file, declaration } of others) {
      if (keyOf(declaration) === keyOf(first.declaration)) continue;
      const allowed = otherMeanings.find((one) => one.name === name && one.subpath === subpath);
      unneeded.delete(allowed);
      if (allowed === undefined)
        problems.push(
          `${file}: exports ${name} of ${declaration.file}, but ${name} of ${first.subpath} is declared in ` +
            `${first.declaration.file}. Rename one, or add it to otherMeanings in scripts/check-api.mjs with the reason.`,
        );
    }
  }
  return { problems, unneeded: [...unneeded] };
}

/** A declaration has one name, except in the subpath of second names. */
function checkSecondNames(names) {
  const first = new Map();
  const problems = [];
  for (const [name, uses] of names) {
    const { file, declaration } = uses.find(({ subpath }) => subpath !== secondNames) ?? {};
    if (declaration === undefined || sarNames.has(name)) continue;
    const other = first.get(keyOf(declaration));
    if (other === undefined) first.set(keyOf(declaration), name);
    else
      problems.push(
        `${file}: exports ${declaration.name} of ${declaration.file} as ${other} and as ${name}. Keep one name.`,
      );
  }
  return problems;
}

/** Names that are neither mentioned nor in the signature of a name that is, by key of their declaration. */
function unusedNames(base, sources, entries, names) {
  const mentioned = mentionedNames(base, entries);
  const uses = [...names].flatMap(([name, all]) => all.map(({ declaration }) => ({ name, declaration })));
  const declarations = new Map(uses.map(({ declaration }) => [keyOf(declaration), declaration]));
  const used = new Set(uses.filter(({ name }) => mentioned.has(name)).map((use) => keyOf(use.declaration)));
  for (const key of used) {
    const declaration = declarations.get(key);
    if (declaration === undefined) continue;
    for (const other of referencesOf(sources, declaration, (one) => declarations.has(one))) used.add(other);
  }
  return [...names].filter(([, all]) => all.every(({ declaration }) => !used.has(keyOf(declaration))));
}

/** All problems below `base`. */
function checkApi(base) {
  const sources = new Sources(base);
  const entries = readPublicApi(base, sources);
  const names = byName(entries);
  const { problems, unneeded } = checkMeanings(names);
  if (base === root)
    for (const { name } of unneeded)
      problems.push(`scripts/check-api.mjs: ${name} has one meaning. Remove it from otherMeanings.`);
  problems.push(...checkSecondNames(names));
  for (const [name, [{ file, declaration }]] of unusedNames(base, sources, entries, names))
    problems.push(
      `${file}: exports ${name} of ${declaration.file}, which no page, example or used signature mentions. ` +
        'Mention it in code in a page of docs/, or stop exporting it.',
    );
  const written = join(base, 'docs/api.txt');
  if (!existsSync(written) || readFileSync(written, 'utf8') !== renderApi(sources, entries))
    problems.push('docs/api.txt: is not up to date with the exports of src/. Run npm run api and commit it.');
  return problems;
}

// Another root is for the tests of this script.
const problems = checkApi(process.argv[2] ?? root);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
