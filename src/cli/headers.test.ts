/** One set of rules for headers in every reader of text: each goes through the same tables of first lines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type PreprocessOptions,
  preprocess,
  readEdgeList,
  readRawEdges,
  readTemporal,
} from '../data/index.js';
import type { NameTable } from '../data/prepare/name-table.js';
import { readNewNodes } from '../data/prepare/new-nodes.js';
import type { EventNodes } from '../data/temporal/event-nodes.js';
import type { OpenedGraphRun } from '../train/index.js';
import { readPairs } from './predict/predict-events.js';
import { readInput } from './predict/predict-input.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-headers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function put(rows: readonly (readonly string[])[]): string {
  const path = join(folder, `${count++}.csv`);
  writeFileSync(path, rows.map((row) => `${row.join(',')}\n`).join(''));
  return path;
}

type Header = { readonly header?: boolean };
/** How many records a reader takes from a file. */
type Reader = (path: string, options: Header) => Promise<number>;

/** One edge twice: with and without a header, the graph has two nodes. */
const twice = (edge: readonly string[]): string => put([edge, edge]);
const pairOfNodes = twice(['p', 'q']);
async function prepared(
  options: Omit<PreprocessOptions, 'outputDir'>,
): Promise<{ nodes: number; edges: number }> {
  const outputDir = join(folder, `out${count++}`);
  const { num_nodes, num_edges } = await preprocess({
    inProcess: true,
    nodeTypes: ['node'],
    ...options,
    outputDir,
  });
  return { nodes: num_nodes, edges: num_edges };
}
/** Nodes that a file adds to a graph of two; the first line of that graph is not a header. */
const added = async (options: Omit<PreprocessOptions, 'outputDir'>): Promise<number> =>
  (await prepared({ edges: pairOfNodes, ...options })).nodes - 2;

const anyName: NameTable & EventNodes = {
  ...{ kind: 'names', size: 9, idOf: () => 1, nameOf: () => 'x', sideOf: () => null },
};
const classifier = {
  config: { model: { learning_task: 'NODE_CLASSIFICATION' } },
  dataset: {
    stats: { num_nodes: 9, num_relations: 1 },
    nodeNames: async () => {
      let next = 0;
      return { ...anyName, idOf: () => next++ };
    },
  },
} as unknown as OpenedGraphRun;
const command = {
  dtype: 'int32',
  saveLabels: false,
  saveScores: false,
  saveRanks: false,
  json: false,
  set: [],
  plugin: [],
};
const noNote = (): void => {};

/** Readers of two columns of words. */
const ofWords: Readonly<Record<string, Reader>> = {
  '--edges': async (edges, options) => (await prepared({ edges, ...options })).edges,
  '--nodes': (nodes, options) => added({ nodes, ...options }),
  '--node-labels': (nodeLabels, options) => added({ nodeLabels, ...options }),
  '--node-table': (nodeTable, options) => added({ nodeTable, ...options }),
  '--train-nodes': (trainNodes, options) => added({ trainNodes, ...options }),
  'predict --input-file (edges), --new-edges': async (path, options) =>
    (await readRawEdges(path, options, { nodes: anyName, relations: null })).length / 2,
  'predict --input-file (nodes)': async (inputFile, options) =>
    (await readInput(classifier, { ...command, inputFile, ...options }, noNote))?.nodes?.length ?? 0,
  'predict --input-file (temporal)': async (path, options) =>
    (await readPairs(path, { ...command, ...options }, anyName, noNote)).src.length,
  readEdgeList: async (path, options) =>
    (await readEdgeList(path, { ids: 'names', ...options })).edges.src.length,
};

const words = [
  ['ann', 'red'],
  ['bob', 'blue'],
];
describe.each(Object.entries(ofWords))('%s', (_, read) => {
  test.each<[string, string[], string[][], boolean]>([
    ['two usual names', ['source', 'target'], words, true],
    ['in any case', ['Source', 'TARGET'], words, true],
    ['of users and items', ['user_id', 'itemId'], words, true],
    ['an id and another', ['id', 'segment'], words, true],
    [
      'any names over numbers',
      ['who', 'whom'],
      [
        ['1', '2'],
        ['2', '3'],
      ],
      true,
    ],
    [
      'any names over dates',
      ['who', 'since'],
      [
        ['ann', '2020-01-01'],
        ['bob', '2021-01-01'],
      ],
      true,
    ],
    ['words over words', ['eve', 'green'], words, false],
    [
      'numbers',
      ['7', '8'],
      [
        ['1', '2'],
        ['2', '3'],
      ],
      false,
    ],
    [
      'a word and a number',
      ['source', '8'],
      [
        ['x', '2'],
        ['y', '3'],
      ],
      false,
    ],
    [
      'usual names that are nodes',
      ['source', 'target'],
      [
        ['target', 'source'],
        ['user', 'target'],
      ],
      false,
    ],
  ])('%s: %j', async (_title, first, rows, found) => {
    const path = put([first, ...rows]);
    expect(await read(path, {})).toBe(rows.length + (found ? 0 : 1));
    expect(await read(path, { header: true })).toBe(rows.length);
    expect(await read(path, { header: false })).toBe(rows.length + 1);
  });
});

/** Readers of a name and numbers. */
const ofNumbers: Readonly<Record<string, Reader>> = {
  '--node-features': (nodeFeatures, options) =>
    added({ nodeFeatures: nodeFeatures, nodes: nodeFeatures, edges: twice(['ann', 'bob']), ...options }),
  'predict --new-nodes': async (features, options) =>
    (
      await readNewNodes(
        { features, width: 2, ...options },
        { nodes: { ...anyName, idOf: () => undefined }, relations: null },
      )
    ).names.length,
  'event files': async (path, options) =>
    (await readTemporal(path, { format: 'csv', ...options })).events.src.length,
};

describe.each(Object.entries(ofNumbers))('%s', (reader, read) => {
  const rows = [
    ['ann', '1', '1'],
    ['bob', '2', '2'],
    ['eve', '3', '3'],
  ];
  test.each<[string, string[], boolean]>([
    ['usual names', ['source', 'target', 'time'], true],
    ['an id before others', ['id', 'to', 'when'], true],
    ['no header', ['zoe', '0', '0'], false],
  ])('%s: %j', async (_title, first, found) => {
    const path = put([first, ...rows]);
    // The graph of --node-features has two of the nodes already.
    const expected = rows.length + (found ? 0 : 1) - (reader === '--node-features' ? 2 : 0);
    const columns = reader === 'event files' ? { columns: { src: 0, dst: 1, time: 2 } } : {};
    expect(await read(path, { ...columns } as Header)).toBe(expected);
    expect(await read(path, { ...columns, header: found } as Header)).toBe(expected);
  });
});

test('what was decided is said, with the option that changes it', async () => {
  const notes: string[] = [];
  const edges = put([['source', 'target'], ...words]);
  const outputDir = join(folder, `out${count++}`);
  await preprocess({ edges, outputDir, inProcess: true }, undefined, { onNote: (note) => notes.push(note) });
  expect(notes).toEqual([`${edges}: header: source, target (detected; --no-header to override)`]);
});
