/** RDF files: the same names from every format, errors with their lines, W3C's test suites where $SKEIN_DATA has them. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FormatError, ValueError } from 'skein';
import { readRdf } from 'skein/data';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStatements } from '#internal/data/formats/rdf.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-rdf-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

const facts = [
  '<http://x/ana> <http://x/knows> <http://x/bob> .',
  '<http://x/ana> <http://x/name> "Ana"@en .',
  '_:n <http://x/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
  '<http://x/bob> <http://x/name> "Bob" .',
].join('\n');

test('the formats give the same names', async () => {
  const turtle = [
    '@prefix : <http://x/> .',
    ':ana :knows :bob ; :name "Ana"@EN .',
    '_:n :age 7 .',
    ':bob :name "Bob"^^<http://www.w3.org/2001/XMLSchema#string> .',
  ].join('\n');
  const wanted = await readRdf(await put('a.nt', facts));
  expect(wanted.entities).toEqual([
    ...['http://x/ana', 'http://x/bob', '"Ana"@en', '_:n', '"7"^^http://www.w3.org/2001/XMLSchema#integer'],
    '"Bob"',
  ]);
  const quads = facts.replaceAll(' .', ' <http://x/g> .');
  const graph = `${turtle.split('\n')[0]}\n:g { ${turtle.split('\n').slice(1).join('\n')} }`;
  for (const [name, text] of [
    ['a.nt.gz', facts],
    ['a.nq', quads],
    ['a.ttl', turtle],
    ['a.ttl.gz', turtle],
    ['a.trig', graph],
  ])
    expect(await readRdf(await put(name, text)), name).toEqual(wanted);
});

test('literals can be left out, formats set, relative IRIs resolved', async () => {
  const path = await put('facts.txt', facts);
  await expect(readRdf(path)).rejects.toThrow(ValueError);
  const { src, relations } = await readRdf(path, { format: 'n-triples', literals: false });
  expect([src.length, relations]).toEqual([1, ['http://x/knows']]);
  const relative = await put('relative.ttl', '<a> <b> <c> .');
  await expect(readRdf(relative)).rejects.toThrow(
    /relative\.ttl: expected absolute IRIs, got "a"\. Set base/,
  );
  expect((await readRdf(relative, { base: 'http://y/' })).entities).toEqual(['http://y/a', 'http://y/c']);
});

test.each([
  ['bad.ttl', '@prefix : <http://x/> .\n:a :b ] .', /bad\.ttl:2: expected RDF, got an error: /],
  ['bad.nq', '<u:a> <u:b> <u:c> "g" .', /bad\.nq:1: expected " \." and the end of the line/],
  ['graph.nt', '<u:a> <u:b> <u:c> <u:g> .', /graph\.nt:1: expected " \." and the end of the line/],
  ['cut.ttl', '<u:a> <u:b> "x', /cut\.ttl/],
  ['star.ttl', '<u:a> <u:b> <<( <u:c> <u:d> <u:e> )>> .', /star\.ttl/],
])('broken: %s', async (name, text, message) => {
  const reading = readRdf(await put(name, text));
  await expect(reading).rejects.toThrow(FormatError);
  await expect(reading).rejects.toThrow(message);
});

test('invalid UTF-8 is an error', async () => {
  const path = join(folder, 'latin.ttl');
  await writeFile(path, Buffer.from('<u:a> <u:b> "\xe9" .', 'latin1'));
  await expect(readRdf(path)).rejects.toThrow(/latin\.ttl: expected RDF, got an error: .*utf-8/);
});

const suites = join(process.env['SKEIN_DATA'] ?? 'data', 'w3c-rdf');
const manifest = 'http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#';
const typeKey = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type';

/** Properties of the tests of a suite. */
async function testsOf(suite: string, base: string): Promise<Map<string, Record<string, string>>> {
  const tests = new Map<string, Record<string, string>>();
  for await (const statements of readStatements(join(suites, suite, 'manifest.ttl'), { base }))
    for (const [subject, key, object] of statements)
      tests.set(subject, { ...tests.get(subject), [key]: object });
  return new Map([...tests].filter(([, test]) => /rdftest#Test/.test(test[typeKey] ?? '')));
}

/** Statements without the labels of blank nodes, which formats may choose. */
async function statementsOf(path: string, base: string): Promise<string[]> {
  const found = new Set<string>();
  for await (const statements of readStatements(path, { base }))
    for (const terms of statements)
      found.add(terms.map((term) => (term.startsWith('_:') ? '_:' : term)).join(' '));
  return [...found].sort();
}

describe.skipIf(!existsSync(suites))("W3C's suites (needs $SKEIN_DATA/w3c-rdf)", () => {
  test.each([
    ['rdf-n-triples', 70],
    ['rdf-n-quads', 87],
    ['rdf-turtle', 313],
  ])('%s: all %i tests', async (suite, count) => {
    const base = `https://w3c.github.io/rdf-tests/rdf/rdf11/${suite}/`;
    const tests = await testsOf(suite, base);
    expect(tests.size).toBe(count);
    const fileOf = (iri: string): string => join(suites, suite, iri.slice(base.length));
    for (const [name, test] of tests) {
      const action = test[`${manifest}action`];
      const result = test[`${manifest}result`];
      const reading = statementsOf(fileOf(action), action);
      if (test[typeKey].includes('Negative')) await expect(reading, name).rejects.toThrow(FormatError);
      else if (result === undefined) await expect(reading, name).resolves.toBeDefined();
      else expect(await reading, name).toEqual(await statementsOf(fileOf(result), result));
    }
  });
});
