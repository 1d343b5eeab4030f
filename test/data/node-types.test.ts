/** Users and items with separate ids: kept apart, named by type, found again by every reader. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset, type PreprocessOptions, preprocess, readRawEdges, readTemporal } from 'skein/data';
import { afterAll, describe, expect, test } from 'vitest';
import { readNewNodes } from '#internal/data/prepare/new-nodes.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-node-types-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function put(text: string): string {
  const path = join(folder, `${count++}.csv`);
  writeFileSync(path, text);
  return path;
}

async function prepare(options: Partial<PreprocessOptions>, notes: string[] = []): Promise<PreparedDataset> {
  const outputDir = join(folder, `out${count++}`);
  await preprocess({ inProcess: true, ...options, outputDir } as PreprocessOptions, undefined, {
    onNote: (note) => notes.push(note),
  });
  return PreparedDataset.open(outputDir, { verify: true });
}

const shop = 'user,item\n0,0\n0,1\n1,1\n2,0\n';

describe('preparing', () => {
  test('ids from 0 on both sides stay apart, and are said to', async () => {
    const notes: string[] = [];
    const data = await prepare({ edges: put(shop), source: 'user', target: 'item' }, notes);
    expect(data.stats.num_nodes).toBe(5);
    expect(data.nodeTypes).toEqual(['user', 'item']);
    const names = await data.nodeNames();
    const types = (await data.readNodeTypes()) as Uint8Array;
    for (let id = 0; id < 5; id++)
      expect(names.nameOf(id).startsWith(`${data.nodeTypes?.[types[id]]}:`)).toBe(true);
    const edges = await data.readEdges('train');
    expect(Array.from(edges, (id) => names.nameOf(id)).slice(0, 4)).toEqual([
      'user:0',
      'item:0',
      'user:0',
      'item:1',
    ]);
    expect(notes.at(-1)).toBe(
      'node types: user, item: nodes are named user:<id> and item:<id> (detected; --node-types node if they share ids)',
    );
  });

  test('ids that carry their type keep their name, also next to plain ones', async () => {
    const notes: string[] = [];
    const edges = put('user,item\nuser:7,item:7\nuser:8,item:7\n7,9\nuser:,user:7\n');
    const nodeTable = put('user,age\nuser:7,1\n8,2\n');
    const data = await prepare({ edges, nodeTable }, notes);
    const names = await data.nodeNames();
    const all = Array.from({ length: names.size }, (_, id) => names.nameOf(id)).sort();
    expect(all).toEqual(['item:7', 'item:9', 'item:user:7', 'user:7', 'user:8', 'user:user:']);
    expect(notes.at(-1)).toMatch(/4 ids of edges begin with their type and are kept$/);
  });

  test('names decide, --node-types overrides both ways', async () => {
    const one = await prepare({ edges: put(shop), nodeTypes: ['node'] });
    expect([one.stats.num_nodes, one.nodeTypes, await one.readNodeTypes()]).toEqual([3, null, null]);
    const shared = await prepare({ edges: put('source,target\n0,0\n0,1\n1,1\n2,0\n') });
    expect([shared.stats.num_nodes, shared.nodeTypes]).toEqual([3, null]);
    const typed = await prepare({ edges: put('0,0\n0,1\n'), nodeTypes: ['u', 'i'] });
    expect([typed.stats.num_nodes, typed.nodeTypes]).toEqual([3, ['u', 'i']]);
    const parquet = await prepare({ query: 'SELECT 7 AS customer, 7 AS product' });
    expect(parquet.nodeTypes).toEqual(['customer', 'product']);
  });

  test('text ids that are in both columns are the same nodes by default', async () => {
    const chain = Array.from({ length: 30 }, (_, i) => `p${i},knows,p${i + 1}`).join('\n');
    const notes: string[] = [];
    const edges = put(`person,relation,thing\n${chain}\n`);
    const data = await prepare({ edges }, notes);
    expect([data.stats.num_nodes, data.nodeTypes]).toEqual([31, null]);
    expect(notes.at(-1)).toMatch(/node types: one, since many ids are in both columns/);
    expect((await prepare({ edges, nodeTypes: ['person', 'thing'] })).stats.num_nodes).toBe(60);
  });

  test('ids that stay cannot be kept apart', async () => {
    const notes: string[] = [];
    expect((await prepare({ edges: put(shop), noRemapIds: true }, notes)).stats.num_nodes).toBe(3);
    expect(notes.join('\n')).toMatch(/one, since ids are kept/);
    await expect(prepare({ edges: put(shop), noRemapIds: true, nodeTypes: ['a', 'b'] })).rejects.toThrow(
      /remapped ids, so that those of two types differ/,
    );
    await expect(prepare({ edges: put(shop), nodeTypes: ['a b'] })).rejects.toThrow(/for nodeTypes/);
  });

  test('node files: the column of ids names the type, or the type precedes the id', async () => {
    const labels = await prepare({ edges: put(shop), nodeLabels: put('user_id,class\n0,x\n2,y\n') });
    const names = await labels.nodeNames();
    const classes = (await labels.readLabels()) as Int32Array;
    const of = (name: string): number => classes[names.idOf(name) as number];
    expect(['user:0', 'user:1', 'user:2', 'item:0', 'item:1'].map(of)).toEqual([0, -1, 1, -1, -1]);
    const mixed = await prepare({ edges: put(shop), nodes: put('user:9\nitem:9\n') });
    expect(mixed.stats.num_nodes).toBe(7);
    await expect(prepare({ edges: put(shop), nodes: put('id\n9\n') })).rejects.toThrow(
      /:2: expected the node type before the id, such as user:9, got "9"\. .*name the id column/,
    );
  });
});

describe('reading by raw ids', () => {
  test('the side says whose id it is; alone an id will do where one type has it', async () => {
    const data = await prepare({ edges: put(shop) });
    const names = await data.nodeNames();
    expect([names.idOf('0', 'src'), names.idOf('0', 'dst')]).toEqual([
      names.idOf('user:0'),
      names.idOf('item:0'),
    ]);
    expect([names.idOf('0'), names.idOf('2'), names.idOf('7')]).toEqual([
      undefined,
      names.idOf('user:2'),
      undefined,
    ]);
    const rows = await readRawEdges(
      put('user,item\n2,1\nuser:0,item:0\n'),
      {},
      { nodes: names, relations: null },
    );
    expect(Array.from(rows, (id) => names.nameOf(id))).toEqual(['user:2', 'item:1', 'user:0', 'item:0']);
  });

  test('new nodes have a type too', async () => {
    const edges = put(shop);
    const features = put('id,x\nuser:0,1\nuser:1,2\nuser:2,3\nitem:0,4\nitem:1,5\n');
    const data = await prepare({ edges, nodeFeatures: features });
    const nodes = await data.nodeNames();
    const read = (text: string, newEdges: string) =>
      readNewNodes({ features: put(text), edges: put(newEdges), width: 1 }, { nodes, relations: null });
    const { names, edges: rows } = await read('user,x\n3,1\n', 'user,item\n3,0\n');
    expect(names).toEqual(['user:3']);
    expect(Array.from(rows)).toEqual([5, nodes.idOf('item:0')]);
    await expect(read('id,x\n3,1\n', 'user,item\n3,0\n')).rejects.toThrow(/:2: expected the node type/);
    await expect(read('user,x\n0,1\n', 'user,item\n0,0\n')).rejects.toThrow(/"user:0" which the graph has/);
  });
});

test('event files follow the same rules', async () => {
  const events = (header: string, options = {}) => readTemporal(put(`${header}\n1,1,1\n2,1,2\n`), options);
  expect((await events('customer,product,time', { columns: { src: 0, dst: 1 } })).numNodes).toBe(3);
  expect((await events('user,item,time')).bipartite).toBe(true);
  expect((await events('user,item,time', { nodeTypes: ['node'] })).numNodes).toBe(2);
  expect((await events('from,to,time')).numNodes).toBe(2);
  expect((await events('from,to,time', { nodeTypes: ['a', 'b'] })).numNodes).toBe(3);
});

test('a directory whose types are damaged is rejected', async () => {
  const data = await prepare({ edges: put(shop) });
  const path = join(data.directory, 'nodes/types.bin');
  const bytes = readFileSync(path);
  bytes[0] ^= 1;
  writeFileSync(path, bytes);
  await expect(data.readNodeTypes()).rejects.toThrow(/types\.bin: expected the checksum/);
});
