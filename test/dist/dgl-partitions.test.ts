/**
 * DGL's partition directories: every variant loads like partitions in memory, and every damaged file is named with its
 * byte.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import {
  loadDglPartitionData,
  loadPartitionData,
  type PartitionData,
  partitionData,
  partitionGraph,
  writePartitions,
} from 'skein/dist';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import { FormatError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describePartitions } from '#internal/dist/partition/load-partition-data.js';
import { type Dialect, graphFile, type LocalGraph, tensorFile, writeDglPartitions } from './dgl-writer.js';
import { checkWorker, randomGraph, randomHetero } from './partition-fixtures.js';

const root = mkdtempSync(join(tmpdir(), 'skein-dgl-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = (): string => mkdtempSync(join(root, 'd'));

const plainTensors = (tensors: Readonly<Record<string, Tensor>>) =>
  Object.fromEntries(
    Object.entries(tensors)
      .map(([key, t]) => [key, [t.dtype, t.shape, Array.from(t.dataSync())]] as const)
      .sort(),
  );

/** The values that both must agree on; original ids are not in DGL's files. */
function plain({ allShardEdges, nodeFeatures, nodeRanges, nodeTypes }: PartitionData): object {
  const shards = allShardEdges.map(({ edgeFeatures, ...shard }) => ({
    ...shard,
    edgeFeatures: plainTensors(edgeFeatures),
  }));
  return { nodeRanges, nodeTypes, nodeFeatures: plainTensors(nodeFeatures), shards };
}

const homo = randomGraph();
const homoSplit = partitionData(homo, partitionGraph(homo, { parts: 4, algorithm: 'ldg' }), {
  nodeFeatures: {
    labels: fromTypedArray(Int32Array.from({ length: 200 }, (_, v) => (v % 7) - 1)),
    train_mask: fromTypedArray(Uint8Array.from({ length: 200 }, (_, v) => v % 2)),
  },
});
const hetero = randomHetero();
const heteroSplit = partitionData(hetero, partitionGraph(hetero, { parts: 4, algorithm: 'random', seed: 2 }));

describe('variants', () => {
  const homogeneous: Dialect[] = [
    {},
    { format: 'csc' },
    { format: 'csr', legacyFormats: true },
    { format: 'csc', legacyFormats: true, idBits: 32 },
    { format: 'coo+csc', idBits: 32 },
    { shuffled: true },
    { maps: 'ends', bareKeys: true },
    { maps: 'bare', legacyFormats: true },
  ];
  it.each(homogeneous)('homogeneous %j', async (dialect) => {
    const path = writeDglPartitions(folder(), homoSplit, dialect);
    for (let rank = 0; rank < 4; rank++) {
      const data = await loadDglPartitionData(path, rank, 'cpu');
      checkWorker(data);
      expect(plain(data)).toEqual(plain(homoSplit.forWorker(rank)));
    }
  });

  const heterogeneous: Dialect[] = [{}, { format: 'csc', idBits: 32 }, { format: 'coo+csc', shuffled: true }];
  it.each(heterogeneous)('heterogeneous %j', async (dialect) => {
    const path = writeDglPartitions(folder(), heteroSplit, dialect);
    for (const workers of [1, 2, 3, 4]) {
      for (let rank = 0; rank < workers; rank++) {
        const data = await loadDglPartitionData(path, { comm: { rank, size: workers } });
        checkWorker(data);
        expect(plain(data)).toEqual(plain(heteroSplit.forWorker(rank, workers)));
      }
    }
  });

  it('are recognised by loadPartitionData and described', async () => {
    const path = writeDglPartitions(folder(), homoSplit);
    expect(plain(await loadPartitionData(path, { rank: 1 }))).toEqual(plain(homoSplit.forWorker(1)));
    expect(await describePartitions(path)).toMatchObject({ format: 'dgl', numParts: 4, name: 'fixture' });
    const own = await writePartitions(folder(), homoSplit);
    await expect(loadDglPartitionData(own.path, 0)).rejects.toThrow(/Use loadPartitionData/);
  });
});

describe('a damaged file', () => {
  let path = '';
  let graph = '';
  let good: Buffer;
  beforeAll(() => {
    path = writeDglPartitions(folder(), homoSplit);
    graph = join(path, '..', 'part0', 'graph.dgl');
    good = readFileSync(graph);
  });
  const load = () => loadDglPartitionData(path, 0);

  async function refused(bytes: Uint8Array, message: RegExp): Promise<void> {
    writeFileSync(graph, bytes);
    await expect(load()).rejects.toThrow(FormatError);
    await expect(load()).rejects.toThrow(message);
    await expect(load()).rejects.toThrow(graph);
    writeFileSync(graph, good);
  }
  const changed = (at: number, value: bigint): Uint8Array => {
    const bytes = Uint8Array.from(good);
    new DataView(bytes.buffer).setBigUint64(at, value, true);
    return bytes;
  };

  it('is rejected with the byte: magic numbers, versions, lengths, totals, the end', async () => {
    await refused(changed(0, 1n), /at byte 0: expected the magic number of a graph file/);
    await refused(changed(8, 1n), /at byte 8: expected version 2/);
    await refused(changed(16, 1n), /at byte 16: expected graphs of type 2/);
    await refused(changed(24, 3n), /at byte 24: expected one graph/);
    await refused(changed(4096, 5000n), /at byte 4096: expected 4112/);
    await refused(changed(4104, 2n ** 60n), /at byte 4104: expected a number of labels that fits/);
    await refused(changed(4112, 0n), /at byte 4112: expected the magic number of a heterogeneous graph/);
    await refused(changed(good.length - 8, 15n), new RegExp(`at byte ${good.length - 8}: expected 16`));
    await refused(good.subarray(0, 3000), /at byte 3000: expected bytes up to 4096/);
    await refused(
      good.subarray(0, good.length - 9),
      /at byte \d+: expected a number of bytes of the index that fits/,
    );
    await refused(Buffer.concat([good, Buffer.of(1)]), new RegExp(`at byte ${good.length}: .*the end`));
  });

  it('is rejected wherever it is truncated', async () => {
    for (let length = 0; length < good.length; length += 97)
      await refused(good.subarray(0, length), /at byte/);
  });

  it('is rejected when its edges do not fit the nodes or the JSON', async () => {
    const base: LocalGraph = {
      numNodes: 2,
      src: [0, 1],
      dst: [1, 0],
      nodeData: [['_ID', [0, 1], 'int', 64]],
      edgeData: [['_ID', [0, 1], 'int', 64]],
    };
    await refused(graphFile({ ...base, src: [0, 2] }), /at byte \d+: expected sources from 0 to 1, got 2/);
    await refused(graphFile({ ...base, nodeData: [] }), /expected data _ID of nodes, got none/);
    await refused(graphFile(base), /expected inner nodes 0 to \d+, each once, got 2 of them/);
    const long = [['_ID', [0, 1, 0], 'int', 64]] as const;
    await refused(graphFile({ ...base, nodeData: long }), /at byte \d+: expected 2 rows of node data _ID/);
    const float = [['_ID', [0, 1], 'float', 32]] as const;
    await refused(graphFile({ ...base, nodeData: float }), /whole numbers for node ids, got float32/);
    const far = [['_ID', [0, 2 ** 40], 'int', 64]] as const;
    await refused(graphFile({ ...base, nodeData: far }), /node ids from 0 to 199, got 1099511627776/);
  });

  it('of features is rejected with the byte too', async () => {
    const file = join(path, '..', 'part0', 'node_feat.dgl');
    const before = readFileSync(file);
    const tryBytes = async (bytes: Uint8Array, message: RegExp) => {
      writeFileSync(file, bytes);
      await expect(load()).rejects.toThrow(message);
      await expect(load()).rejects.toThrow(file);
      writeFileSync(file, before);
    };
    await tryBytes(before.subarray(0, 60), /node_feat.dgl: at byte/);
    await tryBytes(
      tensorFile({ x: fromTypedArray(new Float32Array(3), [3, 1]) }),
      /rows of x, got shape \[3, 1\]/,
    );
    const two = Uint8Array.from(before);
    two[8] = 2;
    await tryBytes(two, /at byte 8: expected 3 tensors/);
  });

  it('of the JSON cannot lead out of its directory, and GraphBolt is named', async () => {
    const text = readFileSync(path, 'utf8');
    const tryJson = async (
      change: (json: Record<string, Record<string, string>>) => void,
      message: RegExp,
    ) => {
      const json = JSON.parse(text);
      change(json);
      writeFileSync(path, JSON.stringify(json));
      await expect(load()).rejects.toThrow(message);
      writeFileSync(path, text);
    };
    await tryJson((json) => (json['part-0']['part_graph'] = '../graph.dgl'), /part-0.part_graph/);
    symlinkSync(folder(), join(dirname(path), 'out'));
    writeFileSync(join(dirname(path), 'out', 'graph.dgl'), '');
    await tryJson((json) => (json['part-0']['part_graph'] = 'out/graph.dgl'), /part_graph.*a symbolic link/);
    await tryJson((json) => {
      json['part-0'] = { part_graph_graphbolt: 'part0/fused_csc_sampling_graph.pt' };
    }, /without use_graphbolt/);
  });
});

describe('random damage', () => {
  it('only ever leads to a rejected file', async () => {
    const path = writeDglPartitions(folder(), heteroSplit, { format: 'csc' });
    const names = ['graph.dgl', 'node_feat.dgl', 'edge_feat.dgl'];
    const files = names.map((name) => join(path, '..', 'part0', name));
    const good = files.map((file) => readFileSync(file));
    const flips = fc.array(
      fc.tuple(fc.double({ min: 0, max: 0.999999, noNaN: true }), fc.integer({ min: 0, max: 255 })),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 }), flips, async (which, changes) => {
        const bytes = Uint8Array.from(good[which]);
        // The header before 4096 is mostly uninitialised: damage the bytes that are read.
        const first = which === 0 ? 4096 : 0;
        for (const [share, value] of changes)
          bytes[first + Math.floor(share * (bytes.length - first))] = value;
        writeFileSync(files[which], bytes);
        try {
          checkWorker(await loadDglPartitionData(path, 0));
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
          expect((error as Error).message).toContain(root);
        } finally {
          writeFileSync(files[which], good[which]);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
