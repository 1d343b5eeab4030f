/** Streams of events of the catalogue in their original files, when $SKEIN_DATA names a folder that has them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, loadTemporalDataset, type TemporalDatasetName } from 'skein/data';
import { describe, expect, test } from 'vitest';

const root = process.env['SKEIN_DATA'];

function dataTest(name: TemporalDatasetName, title: string, body: () => Promise<void>): void {
  const { files, folder } = catalogue[name];
  const here =
    root !== undefined &&
    files.every((names) => names.some((file) => existsSync(join(root, folder, file.name))));
  test.skipIf(!here)(here ? title : `${title} (skipped, ${name} is not in SKEIN_DATA)`, body, 60_000);
}

/** numpy.quantile with linear interpolation, of ascending values. */
function quantile(sorted: Float64Array, q: number): number {
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

describe('event datasets', () => {
  dataTest('wikipedia', 'check 9: counts and quantile split of Wikipedia', async () => {
    const { events, numNodes, bipartite, dstPool } = await loadTemporalDataset('wikipedia');
    expect([events.src.length, numNodes, bipartite, dstPool.length]).toEqual([157_474, 9_227, true, 1_000]);
    expect([dstPool[0], dstPool[999]]).toEqual([8_227, 9_226]);
    const [first, second] = [quantile(events.time, 0.7), quantile(events.time, 0.85)];
    expect(events.time.filter((t) => t > first && t <= second).length).toBe(23_621);
    expect(events.time.filter((t) => t > second).length).toBe(23_621);
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

  test('a name that is none', async () => {
    const wrong = loadTemporalDataset('wiki' as 'wikipedia');
    await expect(wrong).rejects.toThrow('expected one of wikipedia, collegemsg, mathoverflow');
  });
});
