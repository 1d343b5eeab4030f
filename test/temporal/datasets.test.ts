/** Streams of events of the catalogue in their original files, when $SKEIN_DATA names a folder that has them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, loadTemporalDataset, type TemporalDatasetName } from 'skein/data';
import { splitByTime, TemporalGraph } from 'skein/graph';
import { describe, expect, test } from 'vitest';
import { makeFolder } from './event-file-fixtures.js';

const root = process.env['SKEIN_DATA'];

function dataTest(name: TemporalDatasetName, title: string, body: () => Promise<void>): void {
  const { files, folder } = catalogue[name];
  const here =
    root !== undefined &&
    files.every((names) => names.some((file) => existsSync(join(root, folder, file.name))));
  test.skipIf(!here)(here ? title : `${title} (skipped, ${name} is not in SKEIN_DATA)`, body, 240_000);
}

describe('event datasets', () => {
  dataTest('wikipedia', 'check 9: counts and quantile split of Wikipedia', async () => {
    const { events, numNodes, bipartite, dstPool } = await loadTemporalDataset('wikipedia');
    expect([events.src.length, numNodes, bipartite, dstPool.length]).toEqual([157_474, 9_227, true, 1_000]);
    expect([dstPool[0], dstPool[999]]).toEqual([8_227, 9_226]);
    const graph = new TemporalGraph(events, { numNodes });
    const { trainEnd, validationEnd, newNodes } = splitByTime(graph, { newNodeFraction: 0.1 });
    expect([trainEnd, validationEnd - trainEnd, 157_474 - validationEnd]).toEqual([110_232, 23_621, 23_621]);
    expect(newNodes.filter((held) => held === 1).length).toBe(922);
  });

  dataTest('collegemsg', 'collegemsg', async () => {
    const { events, numNodes, bipartite, dstPool } = await loadTemporalDataset('collegemsg');
    expect([events.src.length, numNodes, bipartite]).toEqual([59_835, 1_899, false]);
    expect(dstPool.length).toBe(new Set(events.dst).size);
    expect(events.types).toBeUndefined();
  });

  dataTest('mathoverflow', 'mathoverflow', async () => {
    const { events, numNodes, typeNames, names } = await loadTemporalDataset('mathoverflow');
    expect([events.src.length, numNodes, names?.length]).toEqual([506_550, 24_818, 24_818]);
    expect(typeNames?.toSorted()).toEqual(['a2q', 'c2a', 'c2q']);
    expect(events.types?.length).toBe(506_550);
  });

  test('an unknown name', async () => {
    const wrong = loadTemporalDataset('wiki' as 'wikipedia');
    await expect(wrong).rejects.toThrow('expected one of wikipedia, collegemsg, mathoverflow');
  });

  test('files of JODIE are read with their features, and their counts are checked', async () => {
    const header = 'user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n';
    const mooc = makeFolder({ 'mooc.csv': `${header}0,0,0,0,1,2\n` });
    const loading = loadTemporalDataset('mooc', { root: mooc, download: false });
    await expect(loading).rejects.toThrow('expected 7144 nodes in mooc, got 2');
    const rows = Array.from({ length: 157_474 }, (_, i) => `${i % 8227},${i % 1000},${i},0,${i % 10}`);
    const wikipedia = makeFolder({ 'wikipedia.csv': `${header}${rows.join('\n')}\n` });
    const data = await loadTemporalDataset('wikipedia', { root: wikipedia, download: false });
    expect(data).toMatchObject({ numNodes: 9_227, featureWidth: 1, bipartite: true });
    expect([data.events.features?.length, data.labels?.length]).toEqual([157_474, 157_474]);
    expect(data.events.dst[1]).toBe(8_228);
  });
});
