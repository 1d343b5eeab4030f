/**
 * Our partition directories: written files are read back, by any number of workers, and errors name the position of
 * damage.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  loadPartitionData,
  type PartitionData,
  partitionData,
  partitionGraph,
  SelfCommunicator,
  setCommunicator,
  writePartitions,
} from 'skein/dist';
import { Graph } from 'skein/graph';
import type { Tensor } from 'skein/tensor';
import { FormatError, StorageError } from 'skein/util';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { describePartitions, isPartitionDirectory } from '#internal/dist/partition/load-partition-data.js';
import { checkWorker, randomGraph, randomHetero } from './partition-fixtures.js';

const root = mkdtempSync(join(tmpdir(), 'skein-partitions-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(root, 'd'));
});

const plainTensors = (tensors: Readonly<Record<string, Tensor>>) =>
  Object.fromEntries(
    Object.entries(tensors)
      .map(([key, t]) => [key, [t.dtype, t.shape, Array.from(t.dataSync())]] as const)
      .sort(),
  );

/** Everything in a `PartitionData` as plain values. */
function plain(data: PartitionData): object {
  const { partitionBook: book, allShardEdges, nodeFeatures, ...rest } = data;
  return {
    ...rest,
    nodeFeatures: plainTensors(nodeFeatures),
    shards: allShardEdges.map(({ edgeFeatures, ...shard }) => ({
      ...shard,
      edgeFeatures: plainTensors(edgeFeatures),
    })),
    maps: [book.nodeMap, book.edgeMap],
  };
}

describe.each([
  ['a graph', randomGraph],
  ['a heterogeneous graph', randomHetero],
] as const)('%s', (_, make) => {
  const graph = make();
  const split = partitionData(graph, partitionGraph(graph, { parts: 4, algorithm: 'ldg' }));

  it.each([1, 2, 3, 4])('comes back for %i workers', async (workers) => {
    const { path } = await writePartitions(directory, split, { name: 'g' });
    for (let rank = 0; rank < workers; rank++) {
      const data = await loadPartitionData(path, { rank, workers });
      checkWorker(data);
      expect(plain(data)).toEqual(plain(split.forWorker(rank, workers)));
    }
  });

  it('describes itself', async () => {
    const { path, bytes } = await writePartitions(directory, split, { name: 'g', method: 'ldg' });
    const facts = await describePartitions(directory);
    expect(facts).toMatchObject({ path, format: 'skein', name: 'g', method: 'ldg', numParts: 4 });
    expect(facts.parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(bytes);
    expect(facts.halo).toEqual(split.stats().halo);
    expect(await isPartitionDirectory(directory)).toBe(true);
    expect(await isPartitionDirectory(root)).toBe(false);
  });
});

describe('a worker', () => {
  const graph = Graph.fromEdges([0, 1, 2], [1, 2, 0], { numNodes: 3 });
  const split = partitionData(graph, Int32Array.of(0, 1, 1));

  it('is the rank of the current communicator', async () => {
    await writePartitions(directory, split);
    setCommunicator(new SelfCommunicator());
    const data = await loadPartitionData(directory);
    setCommunicator(null);
    expect(data.nodeRanges).toEqual([{ start: 0, end: 3 }]);
    const other = await loadPartitionData(directory, { comm: { rank: 1, size: 2 } });
    expect(other.nodeRanges[1]).toEqual({ start: 1, end: 3 });
  });

  it('is rejected if there are fewer partitions, or no rank', async () => {
    await writePartitions(directory, split);
    const load = (options: object) => loadPartitionData(directory, options);
    await expect(load({ rank: 0, workers: 3 })).rejects.toThrow(/at most 2 workers/);
    await expect(load({ workers: 2 })).rejects.toThrow(/a rank for rank/);
    await expect(load({ rank: 2, workers: 2 })).rejects.toThrow(/from 0 to 1 for rank/);
  });

  it('finds only the files of the last write', async () => {
    await writePartitions(directory, split, { name: 'a' });
    await writePartitions(directory, split, { name: 'a-b' });
    const again = partitionData(graph, Int32Array.of(0, 0, 0));
    const { path } = await writePartitions(directory, again, { name: 'a' });
    const names = readdirSync(directory);
    expect(names.filter((name) => /^a-0/.test(name)).length).toBe(1);
    expect(names.filter((name) => name.startsWith('a-b-0')).length).toBe(2);
    expect((await loadPartitionData(path, { rank: 0 })).nodeRanges.length).toBe(1);
    await expect(loadPartitionData(directory, { rank: 0 })).rejects.toThrow(/one JSON in .*a-b.json, a.json/);
    await expect(writePartitions(directory, split, { name: '../x' })).rejects.toThrow(/letters, digits/);
  });
});

describe('damage', () => {
  const graph = randomHetero();
  const split = partitionData(graph, partitionGraph(graph, { parts: 2, algorithm: 'random' }));

  async function written(): Promise<{ json: string; file: string }> {
    const { path } = await writePartitions(directory, split);
    const name = readdirSync(directory).find((entry) => entry.startsWith('graph-00000')) as string;
    return { json: path, file: join(directory, name) };
  }
  const load = (json: string) => loadPartitionData(json, { rank: 0, workers: 2 });

  it('of a partition is named by file and byte', async () => {
    const { json, file } = await written();
    const good = readFileSync(file);
    const flipped = Uint8Array.from(good);
    flipped[good.length >> 1] ^= 4;
    writeFileSync(file, flipped);
    await expect(load(json)).rejects.toThrow(/graph-00000.*at byte 0: expected checksum/);
    writeFileSync(file, good.subarray(0, 1000));
    await expect(load(json)).rejects.toThrow(
      /at byte 1000: expected \d+ bytes, got 1000. The file is truncated/,
    );
    writeFileSync(file, Buffer.concat([good, Buffer.of(0)]));
    await expect(load(json)).rejects.toThrow(new RegExp(`at byte ${good.length}.*longer`));
    rmSync(file);
    await expect(load(json)).rejects.toThrow(StorageError);
  });

  it('of the JSON is named itself, whichever of its bytes it is in', async () => {
    const { json } = await written();
    const good = readFileSync(json);
    const sealed = good.indexOf(10, 2) + 1;
    for (let at = sealed; at < good.length; at += 11) {
      const bad = Buffer.from(good);
      bad[at] ^= 1;
      writeFileSync(json, bad);
      await expect(load(json)).rejects.toThrow(/graph\.json: expected [0-9a-f]{8} for checksum, got/);
    }
    writeFileSync(json, good);
    await load(json);
  });

  it('is not read through links that lead out of the directory', async () => {
    const { json, file } = await written();
    const outside = join(root, 'outside');
    mkdirSync(outside);
    renameSync(file, join(outside, 'part'));
    symlinkSync(join(outside, 'part'), file);
    const refusal =
      /expected a file below the directory of the JSON for parts\[0\]\.file, got .*a symbolic link/;
    await expect(load(json)).rejects.toThrow(refusal);
    await expect(describePartitions(directory)).rejects.toThrow(refusal);
    // A link that stays inside is accepted, and so is one to the directory as a whole.
    rmSync(file);
    renameSync(join(outside, 'part'), join(directory, 'moved'));
    symlinkSync('moved', file);
    const link = join(outside, 'link');
    symlinkSync(directory, link);
    expect((await loadPartitionData(link, { rank: 0, workers: 2 })).rank).toBe(0);
    renameSync(json, join(outside, 'graph.json'));
    symlinkSync(join(outside, 'graph.json'), json);
    await expect(load(directory)).rejects.toThrow(/for the file, got "graph.json, a symbolic link/);
  });

  it('of the JSON is named by file and key', async () => {
    const { json } = await written();
    const good = JSON.parse(readFileSync(json, 'utf8'));
    const cases: [string, (value: typeof good) => void, RegExp][] = [
      ['a path out', (v) => (v.parts[0].file = '../graph.safetensors'), /parts\[0\].file, got "\.\.\/graph/],
      ['an absolute path', (v) => (v.parts[0].file = '/etc/passwd'), /below the directory/],
      ['a hidden path out', (v) => (v.parts[0].file = 'x/../../y'), /below the directory/],
      ['another file', (v) => (v.parts[0].file = v.parts[1].file), /at byte/],
      ['a count', (v) => (v.num_nodes += 1), /num_nodes/],
      ['parts', (v) => v.parts.pop(), /2 files for parts/],
      ['a number of parts', (v) => (v.num_parts = 1e9), /num_parts/],
      ['a gap', (v) => (v.node_map.user[1][0] += 1), /ids from|sum of all ranges/],
      ['a type', (v) => (v.etypes['user:buys:thing'] = 5), /one of user, item, tag, shop/],
      ['an old type', (v) => (v.etypes['buys'] = 5), /before 1.0/],
      ['a map', (v) => delete v.edge_map['user:knows:user'], /2 ranges for edge_map.user:knows:user/],
      ['checksums', (v) => (v.parts[0].crc32 = []), /checksums for parts\[0\].crc32/],
      ['a version', (v) => (v.version = 2), /newer version of Skein/],
      ['a format', (v) => (v.format = 'other'), /something else/],
      ['no format', (v) => delete v.format, /a description of partitions/],
    ];
    for (const [name, damage, message] of cases) {
      const value = structuredClone(good);
      damage(value);
      writeFileSync(json, JSON.stringify(value));
      await expect(load(json), name).rejects.toThrow(FormatError);
      await expect(load(json), name).rejects.toThrow(message);
      await expect(load(json), name).rejects.toThrow(directory);
    }
    writeFileSync(json, readFileSync(json).subarray(0, 40));
    await expect(load(json)).rejects.toThrow(/expected JSON/);
  });

  it('that checksums do not detect is found in the values', async () => {
    // The ranges of another partitioning of the same size: the edges no longer lead into the partition.
    const one = Graph.fromEdges([0, 1, 2, 3], [1, 0, 3, 2], { numNodes: 4 });
    const { path } = await writePartitions(directory, partitionData(one, Int32Array.of(0, 0, 1, 1)));
    const value = JSON.parse(readFileSync(path, 'utf8'));
    value.node_map._N = [
      [0, 1],
      [1, 4],
    ];
    writeFileSync(path, JSON.stringify(value));
    await expect(load(path)).rejects.toThrow(/original node ids|the destination of edge 0 in partition 0/);
  });
});
