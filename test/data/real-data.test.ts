/**
 * The datasets people use, in their original files, when $SKEIN_DATA names a folder that has them: published counts are
 * checked by `loadDataset` itself; here also what counts do not show.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  catalogue,
  type DatasetName,
  largestConnectedComponent,
  loadDataset,
  randomNodeSplit,
} from 'skein/data';
import { SparseMatrix } from 'skein/graph';
import { describe, expect, test } from 'vitest';
import { datasetCounts } from '#internal/data/load-dataset.js';

const root = process.env['SKEIN_DATA'];

/** Whether the raw files of a dataset are there. */
function present(name: DatasetName): boolean {
  if (root === undefined) return false;
  const { files, folder } = catalogue[name];
  return files.every((names) => names.some((file) => existsSync(join(root, folder, file.name))));
}

const reason = root === undefined ? 'skipped, SKEIN_DATA is not set' : 'skipped, not in SKEIN_DATA';

/** A test that says why it is skipped. */
function dataTest(name: DatasetName, body: () => Promise<void>): void {
  const here = present(name);
  test.skipIf(!here)(here ? name : `${name} (${reason})`, body, 240_000);
}

describe('real data', () => {
  dataTest('cora', async () => {
    const data = await loadDataset('cora', { download: false });
    expect(datasetCounts(data)).toEqual(catalogue.cora.counts);
    const features = data.features as SparseMatrix;
    expect(features).toBeInstanceOf(SparseMatrix);
    expect(features.numEntries).toBe(49_216);
    expect(Array.from(data.labels.subarray(0, 10))).toEqual([3, 4, 4, 0, 3, 2, 0, 3, 3, 2]);
    expect(data.splits?.train.every((node) => node < 140)).toBe(true);
    expect(data.splits?.test[0]).toBe(1708);
    const { src, dst } = data.graph.edges();
    expect(src.some((s, i) => s === dst[i])).toBe(false);
    const classes = Array.from({ length: 7 }, (_, c) => data.labels.filter((label) => label === c).length);
    expect(classes).toEqual([351, 217, 418, 818, 426, 298, 180]);
    expect(largestConnectedComponent(data.graph).nodeIds.length).toBe(2485);
  });

  dataTest('pubmed', async () => {
    const data = await loadDataset('pubmed', { download: false });
    const features = data.features as SparseMatrix;
    expect(features.numEntries).toBe(988_031);
    expect(features.values.reduce((sum, v) => sum + v, 0)).toBeCloseTo(38_716.3, 0);
    const classes = Array.from({ length: 3 }, (_, c) => data.labels.filter((label) => label === c).length);
    expect(classes).toEqual([4103, 7739, 7875]);
  });

  dataTest('amazon-computers', async () => {
    const data = await loadDataset('amazon-computers', { download: false });
    expect(data.classNames?.[2]).toBe('Laptops');
    expect((data.features as SparseMatrix).values.every((v) => v === 1)).toBe(true);
    expect(largestConnectedComponent(data.graph).nodeIds.length).toBe(13_381);
  });

  dataTest('coauthor-physics', async () => {
    const data = await loadDataset('coauthor-physics', { download: false });
    const { train, valid, test: rest } = randomNodeSplit(data.labels, { seed: 0 });
    expect([train.length, valid.length, rest.length]).toEqual([100, 150, 34_243]);
  });

  dataTest('aifb', async () => {
    const data = await loadDataset('aifb', { download: false });
    const sizes = Array.from({ length: 4 }, (_, c) => data.labels.filter((label) => label === c).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(176);
    expect(sizes.every((size) => size > 10)).toBe(true);
    expect(data.relations.some((name) => name.endsWith('#affiliation') || name.endsWith('#employs'))).toBe(
      false,
    );
  });

  dataTest('fb15k-237', async () => {
    const data = await loadDataset('fb15k-237', { download: false });
    expect(data.entities[data.train.src[0]]).toBe('/m/027rn');
    expect(data.relations[data.train.rel[0]]).toBe('/location/country/form_of_government');
  });

  dataTest('umls', async () => {
    const { kind, train } = await loadDataset('umls', { download: false });
    expect([kind, train.src.length]).toEqual(['facts', 5216]);
  });

  dataTest('wn18rr', async () => {
    const { train, test: held } = await loadDataset('wn18rr', { download: false });
    const seen = new Set([...train.src, ...train.dst]);
    const unseen = Array.from(held.src, (src, i) => !seen.has(src) || !seen.has(held.dst[i]));
    expect(unseen.filter(Boolean).length).toBe(210);
  });

  dataTest('codex-s', async () => {
    const data = await loadDataset('codex-s', { download: false });
    expect(data.entities[data.train.src[0]]).toBe('Q7604');
    expect(data.relations[data.train.rel[0]]).toBe('P1412');
  });

  for (const name of ['kinships', 'nations'] as const)
    dataTest(name, async () => {
      const data = await loadDataset(name, { download: false });
      expect(datasetCounts(data)).toEqual(catalogue[name].counts);
    });

  dataTest('collegemsg', async () => {
    const { time, src, dst } = await loadDataset('collegemsg', { download: false });
    expect([src[0], dst[0], time[0]]).toEqual([0, 1, 1_082_040_961]);
  });

  dataTest('wikipedia', async () => {
    const { src, dst, numSources } = await loadDataset('wikipedia', { download: false });
    expect(src.every((user) => user < (numSources as number))).toBe(true);
    expect(dst.every((page) => page >= (numSources as number))).toBe(true);
  });

  dataTest('mathoverflow', async () => {
    const { typeNames, names, src } = await loadDataset('mathoverflow', { download: false });
    expect(typeNames).toEqual(['a2q', 'c2a', 'c2q']);
    expect(names?.[src[0]]).toBe('1');
  });
});
