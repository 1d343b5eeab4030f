/**
 * The contract of every reader of node classification data, checked on a small file with known content: counts and
 * checksums, ids in range, disjoint splits, the same result twice, and a named error for each broken file.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { FormatError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeData } from '#internal/data/node-data.js';

export interface FormatContract {
  readonly name: string;
  /** The file or folder in test/fixtures. */
  readonly fixture: string;
  read(path: string): Promise<NodeData>;
  readonly expected: Readonly<Record<string, number>>;
  /** Features are compared as whole numbers; this makes them so. */
  readonly featureScale?: number;
  readonly broken: readonly {
    readonly what: string;
    /** Damages a copy of the fixture. */
    damage(path: string): Promise<void>;
    readonly message: string | RegExp;
  }[];
}

export function checksum(...arrays: readonly ArrayLike<number>[]): number {
  return arrays.reduce((value, array) => crc32(new Uint8Array(Int32Array.from(array).buffer), value), 0);
}

/** The features as a dense matrix in C order. */
function dense(data: NodeData): number[] {
  const { features } = data;
  if (features === null) return [];
  if (!('indices' in features)) return Array.from(features.values);
  const out = new Array<number>(features.shape[0] * features.shape[1]).fill(0);
  for (let r = 0; r < features.shape[0]; r++) {
    for (let p = features.offsets[r]; p < features.offsets[r + 1]; p++)
      out[r * features.shape[1] + features.indices[p]] += features.values[p];
  }
  return out;
}

function checkContent(data: NodeData, want: Readonly<Record<string, number>>, scale: number): void {
  const { edges, labels, numClasses, features, splits } = data;
  expect(edges.numNodes).toBe(want['nodes']);
  expect(edges.src.length).toBe(want['edges']);
  expect(edges.dst.length).toBe(want['edges']);
  expect(features?.shape).toEqual([want['nodes'], want['features']]);
  expect(numClasses).toBe(want['classes']);
  expect(checksum(edges.src, edges.dst)).toBe(want['edgeChecksum']);
  expect(checksum(labels)).toBe(want['labelChecksum']);
  expect(checksum(dense(data).map((v) => Math.round(v * scale)))).toBe(want['featureChecksum']);
  const degrees = new Int32Array(edges.numNodes);
  for (const node of edges.dst) degrees[node]++;
  expect(degrees.reduce((sum, d) => sum + d, 0)).toBe(want['edges']);
  expect(splits === null).toBe(want['train'] === undefined);
  if (splits !== null) {
    const all = [...splits.train, ...splits.valid, ...splits.test];
    expect([splits.train.length, splits.valid.length, splits.test.length]).toEqual([
      want['train'],
      want['valid'],
      want['test'],
    ]);
    expect(new Set(all).size).toBe(all.length);
    expect(all.every((id) => id >= 0 && id < edges.numNodes)).toBe(true);
  }
}

export function runFormatContract(contract: FormatContract): void {
  describe(`format contract: ${contract.name}`, () => {
    let folder = '';
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'skein-format-'));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    test('content is what the script wrote', async () => {
      checkContent(await contract.read(contract.fixture), contract.expected, contract.featureScale ?? 1);
    });

    test('reading twice gives the same', async () => {
      expect(await contract.read(contract.fixture)).toEqual(await contract.read(contract.fixture));
    });

    for (const [i, { what, damage, message }] of contract.broken.entries()) {
      test(`broken: ${what}`, async () => {
        const copy = join(folder, String(i), basename(contract.fixture));
        await cp(contract.fixture, copy, { recursive: true });
        await damage(copy);
        const reading = contract.read(copy);
        await expect(reading).rejects.toThrow(FormatError);
        await expect(reading).rejects.toThrow(message);
        // The file is named, so that one of a folder can be found.
        await expect(reading).rejects.toThrow(copy);
      });
    }
  });
}
