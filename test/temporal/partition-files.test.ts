import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partitionLoad, partitionSave } from 'skein/data';
import { TemporalGraph } from 'skein/graph';
import { SharedMailBox } from 'skein/temporal';
import { fromTypedArray } from 'skein/tensor';
import { Random } from 'skein/util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partitionTemporal } from '#internal/temporal/partition/partition-temporal.js';

const numNodes = 40;
const numEvents = 500;
const width = 3;
let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'skein-partition-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function graphOf(seed = 1, features = true): TemporalGraph {
  const random = new Random(seed);
  const events = {
    src: Int32Array.from({ length: numEvents }, () => random.nextInt(30)),
    dst: Int32Array.from({ length: numEvents }, () => 30 + random.nextInt(10)),
    time: Float64Array.from({ length: numEvents }, (_, i) => 1.6e9 + i / 4),
    ids: Int32Array.from({ length: numEvents }, (_, i) => 1000 + i),
    types: Int32Array.from({ length: numEvents }, (_, i) => i % 3),
  };
  if (!features) return new TemporalGraph(events, { numNodes });
  const rows = Float32Array.from({ length: numEvents * width }, (_, i) => i);
  const nodeFeatures = fromTypedArray(
    Float32Array.from({ length: numNodes * 2 }, (_, i) => i / 8),
    [numNodes, 2],
  );
  return new TemporalGraph({ ...events, features: rows }, { numNodes, nodeFeatures });
}

const place = { algo: 'speed', numParts: 3 } as const;
const options = { ...place, hotRatio: 0.1 } as const;

describe('check 17: partitions on disk', () => {
  it('check 17: what is loaded is what was saved, and the parts make up the whole', async () => {
    const graph = graphOf();
    const saved = await partitionSave(root, graph, {
      ...options,
      split: { trainEnd: 350, validationEnd: 425 },
    });
    expect(saved).toEqual(partitionTemporal(graph, { ...options, trainEnd: 350 }));
    const seen = new Int32Array(numEvents);
    const masters = new Int32Array(numNodes);
    for (let rank = 0; rank < 3; rank++) {
      const part = await partitionLoad(root, { ...place, rank });
      expect(part.rank).toBe(rank);
      expect(part.sharedNodes).toEqual(saved.sharedNodes);
      expect(part.master).toEqual(saved.master);
      expect(part.edgeOwner).toEqual(saved.edgeOwner);
      for (const v of part.ids) if (part.master[v] === rank) masters[v]++;
      for (const v of part.sharedNodes) expect(part.ids).toContain(v);
      const [src, dst] = part.edgeIndex.toArray() as number[][];
      part.eids.forEach((row, i) => {
        seen[row]++;
        expect([src[i], dst[i], part.edgeTs[i]]).toEqual([graph.src[row], graph.dst[row], graph.time[row]]);
        expect(part.edgeAttr?.dataSync()[i * width]).toBe(row * width);
        const flags = [part.masks.train[i], part.masks.validation[i], part.masks.test[i]];
        expect(flags).toEqual([row < 350, row >= 350 && row < 425, row >= 425].map(Number));
      });
      expect(part.x?.shape).toEqual([part.ids.length, 2]);
      expect(part.x?.dataSync()[2]).toBe((part.ids[1] * 2) / 8);
      expect(part.graph.toTCSR()).toEqual(graph.toTCSR());
      expect(part.graph.eventIds).toEqual(graph.eventIds);
      expect(part.graph.types).toEqual(graph.types);
      expect(part.graph.features).toBeNull();
    }
    expect(seen.every((count) => count === 1)).toBe(true);
    expect(masters.every((count) => count === 1)).toBe(true);
  });

  it('all features on demand, and the mailbox of a part as in the tutorial', async () => {
    const graph = graphOf();
    await partitionSave(root, graph, options);
    const pdata = await partitionLoad(root, { ...place, rank: 1, features: 'all' });
    expect(pdata.graph.features).toEqual(graph.features);
    expect(pdata.graph.nodeFeatures?.toArray()).toEqual(graph.nodeFeatures?.toArray());
    const mailbox = new SharedMailBox({
      numNodes: pdata.ids.length,
      memoryParam: { type: 'node', dim_out: 4 },
      dimEdgeFeat: pdata.edgeAttr === null ? 0 : pdata.edgeAttr.shape[1],
    });
    expect(mailbox.dimEdgeFeat).toBe(width);
  });

  it('takes data without features, with labels, and its own split', async () => {
    const { src, dst, time } = graphOf();
    const labels = Float32Array.from({ length: numEvents }, (_, i) => i % 2);
    const data = {
      ...{ name: 'small', events: { src, dst, time }, numNodes, featureWidth: 0, labels, bipartite: true },
      ...{ dstPool: new Int32Array(0), nodeLabels: null, nodeFeatures: null, typeNames: null, names: null },
    };
    await partitionSave(root, data, { algo: 'hash', numParts: 2 });
    const part = await partitionLoad(root, { algo: 'hash', numParts: 2, rank: 1, features: 'all' });
    expect([part.edgeAttr, part.x, part.graph.features]).toEqual([null, null, null]);
    expect(part.edgeLabels).toEqual(Float32Array.from(part.eids, (row) => row % 2));
    expect(part.split.trainEnd).toBe(350);
    await partitionSave(
      root,
      { ...data, split: { trainEnd: 10, validationEnd: 20 } },
      { algo: 'hash', numParts: 2 },
    );
    const again = await partitionLoad(root, { algo: 'hash', numParts: 2 });
    expect(again.split).toEqual({ trainEnd: 10, validationEnd: 20 });
    expect(again.rank).toBe(0);
  });

  it('saving again replaces the whole and leaves nothing behind', async () => {
    await partitionSave(root, graphOf(1), options);
    await partitionSave(root, graphOf(2), options);
    expect(await readdir(join(root, 'speed_3'))).toHaveLength(5);
    expect((await partitionLoad(root, place)).graph.src).toEqual(graphOf(2).src);
  });
});

describe('check 20: partitions that do not fit', () => {
  const load = (more: object = {}) => partitionLoad(root, { ...place, ...more });

  it('check 20: another number of workers, algorithm, rank', async () => {
    await partitionSave(root, graphOf(1, false), options);
    await expect(load({ numParts: 4 })).rejects.toThrow(
      /a partition speed_4 .* got "speed_3"\. Start as many workers/,
    );
    await expect(load({ algo: 'ldg' })).rejects.toThrow(/ldg_3/);
    await expect(load({ rank: 3 })).rejects.toThrow(/rank, got 3/);
    await expect(load({ algo: 'metis' })).rejects.toThrow(/one of metis_for_tgnn/);
    await rename(join(root, 'speed_3'), join(root, 'speed_2'));
    await expect(load({ numParts: 2 })).rejects.toThrow(/expected 2 for numParts in .*manifest\.json, got 3/);
    await expect(partitionLoad(join(root, 'nothing'), place)).rejects.toThrow(/ENOENT/);
  });

  it('check 20: another version', async () => {
    await partitionSave(root, graphOf(1, false), options);
    const path = join(root, 'speed_3', 'manifest.json');
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('"formatVersion": 1', '"formatVersion": 2'));
    await expect(load()).rejects.toThrow(/version 1 for .*manifest\.json, got 2/);
  });

  it('check 20: a flipped byte in any file, and a cut one, is named with its file', async () => {
    await partitionSave(root, graphOf(), options);
    const folder = join(root, 'speed_3');
    const all = { features: 'all' as const };
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const bytes = await readFile(path);
      // In the manifest, a digit of the split: still JSON, but not what was written.
      const at = name === 'manifest.json' ? bytes.indexOf('"trainEnd": ') + 12 : Math.floor(bytes.length / 2);
      const flipped = Uint8Array.from(bytes);
      flipped[at] ^= 1;
      await writeFile(path, flipped);
      await expect(load(all)).rejects.toThrow(new RegExp(`checksum \\d+ for .*${name.slice(0, 8)}.*corrupt`));
      await writeFile(path, bytes.subarray(0, bytes.length - 9));
      await expect(load(all)).rejects.toThrow(name.slice(0, 8));
      await rm(path);
      await expect(load(all)).rejects.toThrow(name.slice(0, 8));
      await writeFile(path, bytes);
    }
    expect((await load(all)).graph.numEvents).toBe(numEvents);
  });

  it('refuses wrong splits before anything is written', async () => {
    const split = { trainEnd: 400, validationEnd: 300 };
    await expect(partitionSave(root, graphOf(), { ...options, split })).rejects.toThrow(/split\.trainEnd/);
    await expect(partitionSave(root, graphOf(), { ...options, numParts: 0 })).rejects.toThrow(/numParts/);
    expect(await readdir(root)).toEqual([]);
  });
});
