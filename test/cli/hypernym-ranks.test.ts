/** Ranks of hypernyms in the quickstart, on a slice of a few synsets: by the model, by the baseline, and by sorting. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preprocess } from 'skein/data';
import { type OpenedGraphRun, openRun } from 'skein/train';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  baselineRanks,
  heldOutEdges,
  modelRanks,
  partsOfSpeech,
} from '#internal/cli/quickstart/hypernym-ranks.js';
import { scoreEdges } from '#internal/predict/top-nodes.js';
import { run, scratch, tinyConfig } from '../train/tiny.js';

const folder = scratch();
const kinds = ['tree', 'dog', 'cup', 'song'];

/** Nouns of four kinds, each kind with a verb of the same name, and held-out hypernyms. */
async function prepare(): Promise<string> {
  const files = folder();
  mkdirSync(files);
  const put = (name: string, text: string): string => {
    writeFileSync(join(files, name), text);
    return join(files, name);
  };
  const edge = (kind: string, i: number): string => `${kind}${i}.n.01\thypernym\t${kind}.n.01\n`;
  const edges = [0, 1, 2].map((split) =>
    put(
      `${split}.tsv`,
      kinds
        .flatMap((kind) => Array.from({ length: 9 }, (_, i) => ({ kind, i })))
        .filter(({ i }) => (split === 0 ? i > 1 : i === split - 1))
        .map(({ kind, i }) => edge(kind, i))
        .join(''),
    ),
  );
  const rows = kinds.flatMap((kind, k) => [
    `${kind}.n.01,${kind},thing`,
    `${kind}.v.01,${kind},act`,
    // The definition of the last kind does not name it.
    ...Array.from({ length: 9 }, (_, i) => `${kind}${i}.n.01,name${i},small ${k === 3 ? 'piece' : kind}`),
  ]);
  const nodeTable = put('nodes.csv', `id,words,genus\n${rows.join('\n')}\n`);
  const outputDir = join(files, 'prepared');
  await preprocess({ inProcess: true, edges, nodeTable, textColumns: ['words', 'genus'], outputDir });
  return outputDir;
}

let opened: OpenedGraphRun;
beforeAll(async () => {
  const config = tinyConfig(await prepare(), { storage: { model_dir: folder() } });
  await run(config);
  opened = await openRun(String(config.storage.model_dir), { command: 'test', over: 'graph' });
});
afterAll(() => opened.close());

test('the baseline finds kinds that the definition names; others by their number of edges', async () => {
  const edges = await heldOutEdges(opened, 0);
  expect(edges.heads.length).toBe(4);
  const ranks = await baselineRanks(opened, edges, await partsOfSpeech(opened));
  // Three kinds are first. Each of the four nouns has seven training edges, so that song is one of four with equal scores.
  expect(ranks?.mrr).toBeCloseTo((3 + 1 / 2.5) / 4, 6);
  expect(ranks?.['hits@1']).toBe(0.75);
});

test('the model ranks among the synsets of the part of speech, known hypernyms and the synset itself left out', async () => {
  const edges = await heldOutEdges(opened, 0);
  const parts = await partsOfSpeech(opened);
  const nouns = Int32Array.from(parts.keys()).filter((id) => parts[id] === 'n');
  let sum = 0;
  for (const [i, head] of edges.heads.entries()) {
    const fill = (value: number): Int32Array => new Int32Array(nouns.length).fill(value);
    const scores = await scoreEdges(opened, { src: fill(head), dst: nouns, relations: fill(0) });
    const own = scores[nouns.indexOf(edges.tails[i])];
    sum += 1 / (1 + scores.filter((score, at) => score > own && nouns[at] !== head).length);
  }
  const { mrr } = await modelRanks(opened, edges, parts);
  expect(mrr).toBeCloseTo(sum / edges.heads.length, 5);
});
