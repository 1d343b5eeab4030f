/** Readers of node classification data on small files: content, and an error with file and position for each broken one. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { NpzFile, readNodeData, readOgb, readPlanetoid, readShchur } from 'skein/data';
import { FormatError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { nodeFormats } from '#internal/data/formats/registry.js';
import { checksum, runFormatContract } from '../contract/format.js';
import { expectedContent, fixtures } from './fixtures.js';

/** Changes bytes of a file. */
async function patch(path: string, change: (bytes: Buffer) => Buffer | Uint8Array): Promise<void> {
  await writeFile(path, change(await readFile(path)));
}

/** Replaces line `line` (from 1) of a gzipped text. */
async function setLine(path: string, line: number, text: string): Promise<void> {
  await patch(path, (bytes) => {
    const lines = gunzipSync(bytes).toString().split('\n');
    lines[line - 1] = text;
    return gzipSync(lines.join('\n'));
  });
}

runFormatContract({
  name: 'planetoid, protocols 0 to 4, a missing test id',
  fixture: join(fixtures, 'planetoid'),
  read: (path) => readPlanetoid(path, 'tiny'),
  expected: expectedContent.planetoid,
  broken: [
    {
      what: 'a pickle that would run a command',
      damage: (path) => writeFile(join(path, 'ind.tiny.y'), "cos\nsystem\n(S'echo hi'\ntR."),
      message: /got the Python name os\.system, at opcode 0x63 'c', byte 0/,
    },
    {
      what: 'an opcode that does not build data',
      damage: (path) => writeFile(join(path, 'ind.tiny.graph'), Buffer.from([0x80, 2, 0x7d, 0x82, 1, 0x2e])),
      message: /at opcode 0x82, byte 3/,
    },
    {
      what: 'a pickle that is cut off',
      damage: (path) => patch(join(path, 'ind.tiny.allx'), (bytes) => bytes.subarray(0, 2000)),
      message: /got the end of the file, at opcode .*, byte \d+/,
    },
    {
      what: 'a test id that occurs twice',
      damage: (path) => writeFile(join(path, 'ind.tiny.test.index'), '513\n510\n515\n510\n514\n'),
      message: /ind\.tiny\.test\.index:4: expected a new test id/,
    },
    {
      what: 'a test id that is not a number',
      damage: (path) => writeFile(join(path, 'ind.tiny.test.index'), '513\n510\nx\n511\n514\n'),
      message: /ind\.tiny\.test\.index:3: expected a number, got "x"/,
    },
    {
      what: 'a neighbour out of range',
      damage: (path) => writeFile(join(path, 'ind.tiny.graph'), '(dI0\n(lI516\nas.'),
      message: /ind\.tiny\.graph: expected a whole number from 0 to 515 for the neighbour of edge 0, got 516/,
    },
    {
      what: 'labels of another dataset',
      damage: (path) => patch(join(path, 'ind.tiny.ty'), () => readFileOf('ind.tiny.y')),
      message: /ind\.tiny\.ty: expected 5 rows/,
    },
  ],
});

const planetoidFiles = new Map<string, Buffer>();
for (const name of ['ind.tiny.y'])
  planetoidFiles.set(name, await readFile(join(fixtures, 'planetoid', name)));
function readFileOf(name: string): Buffer {
  return planetoidFiles.get(name) as Buffer;
}

for (const file of ['tiny.npz', 'tiny-zip64.npz']) {
  runFormatContract({
    name: `shchur, ${file}`,
    fixture: join(fixtures, 'shchur', file),
    read: (path) => readShchur(path),
    expected: expectedContent.shchur,
    broken: [
      {
        what: 'a flipped bit',
        damage: (path) =>
          patch(path, (bytes) => {
            bytes[120] ^= 1;
            return bytes;
          }),
        message: /checksum of adj_data\.npy|deflated data for adj_data\.npy|local header|in adj_data\.npy/,
      },
      {
        what: 'an archive that is cut off',
        damage: (path) => patch(path, (bytes) => bytes.subarray(0, bytes.length - 40)),
        message: /expected a zip archive, got a file without an end record/,
      },
      {
        what: 'no archive at all',
        damage: (path) => writeFile(path, 'hello'),
        message: /expected a zip archive|got the end of the file/,
      },
    ],
  });
}

test.each([
  ['feature', /bad-feature\.npz:attr: expected a finite number for entry 2, got NaN/],
  ['label', /bad-label\.npz:labels: expected a class from 0 to 2 for the label of node 3, got -1/],
  ['column', /bad-column\.npz:adj: expected a whole number from 0 to 11 for column of entry 1, got 12/],
  ['offset', /bad-offset\.npz:adj: expected a whole number from 0 to \d+ for row offset 4, got 999/],
])('shchur, a bad %s has file and index', async (what, message) => {
  const reading = readShchur(join(fixtures, 'shchur', `bad-${what}.npz`));
  await expect(reading).rejects.toThrow(FormatError);
  await expect(reading).rejects.toThrow(message);
});

test('shchur, random damage never escapes as another error', async () => {
  const good = await readFile(join(fixtures, 'shchur', 'tiny.npz'));
  for (let i = 0; i < good.length; i += 3) {
    const bad = Buffer.from(good);
    bad[i] ^= 0xff;
    try {
      const file = new NpzFile(bad, 'x.npz');
      for (const name of file.names) file.get(name);
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
    }
  }
});

test('shchur: counts are kept on request', async () => {
  const { features } = await readShchur(join(fixtures, 'shchur', 'tiny.npz'), { counts: true });
  const { shape, offsets, indices, values } = features as Exclude<typeof features, null> & {
    offsets: Int32Array;
    indices: Int32Array;
  };
  const dense = new Int32Array(shape[0] * shape[1]);
  for (let r = 0; r < shape[0]; r++)
    for (let p = offsets[r]; p < offsets[r + 1]; p++) dense[r * shape[1] + indices[p]] = values[p];
  expect(checksum(dense)).toBe(expectedContent.shchur['countChecksum']);
});

const splitDamage = {
  what: 'a node in two parts',
  damage: async (path: string) => {
    const train = await readFile(join(path, 'split/time/train.csv.gz'));
    await writeFile(join(path, 'split/time/test.csv.gz'), train);
  },
  message: /test\.csv\.gz: expected each node in one split once/,
};

runFormatContract({
  name: 'ogb, csv.gz',
  fixture: join(fixtures, 'ogb-csv'),
  read: (path) => readOgb(path),
  expected: expectedContent.ogb,
  featureScale: 10_000,
  broken: [
    splitDamage,
    {
      what: 'a ragged line',
      damage: (path) => setLine(join(path, 'raw/edge.csv.gz'), 3, '1,2,3'),
      message: /edge\.csv\.gz:3: expected 2 columns, got "3 columns"/,
    },
    {
      what: 'an id that is not a number',
      damage: (path) => setLine(join(path, 'raw/edge.csv.gz'), 4, '1,b'),
      message: /edge\.csv\.gz:4: expected a number, got "b"/,
    },
    {
      what: 'an id with a fraction',
      damage: (path) => setLine(join(path, 'raw/edge.csv.gz'), 4, '1,2.5'),
      message: /edge\.csv\.gz:4: expected a whole number, got "2\.5"/,
    },
    {
      what: 'an id out of range',
      damage: (path) => setLine(join(path, 'raw/edge.csv.gz'), 1, '1,9'),
      message: /edge\.csv\.gz: expected a whole number from 0 to 8 for the destination of edge 0, got 9/,
    },
    {
      what: 'a feature that is NaN',
      damage: (path) => setLine(join(path, 'raw/node-feat.csv.gz'), 2, '0.5,nan,1,2'),
      message:
        /node-feat\.csv\.gz: expected a finite number for feature \(row 1, column 1\), element 5, got NaN/,
    },
    {
      what: 'a label below −1',
      damage: (path) => setLine(join(path, 'raw/node-label.csv.gz'), 3, '-2'),
      message: /node-label\.csv\.gz: expected a class from -1 to \d+ for the label of node 2, got -2/,
    },
    {
      what: 'a missing row of features',
      damage: (path) => setLine(join(path, 'raw/node-feat.csv.gz'), 9, ''),
      message: /node-feat\.csv\.gz: expected 9 rows/,
    },
    {
      what: 'gzip that is cut off',
      damage: (path) => patch(join(path, 'raw/edge.csv.gz'), (bytes) => bytes.subarray(0, 30)),
      message: /edge\.csv\.gz: expected gzip data/,
    },
  ],
});

runFormatContract({
  name: 'ogb, binary',
  fixture: join(fixtures, 'ogb-binary'),
  read: (path) => readOgb(path),
  expected: expectedContent.ogb,
  featureScale: 10_000,
  broken: [splitDamage],
});

describe('ogb options', () => {
  test('the reverse of each edge behind it', async () => {
    const one = await readOgb(join(fixtures, 'ogb-csv'));
    const { edges } = await readOgb(join(fixtures, 'ogb-csv'), { bothDirections: true });
    expect(edges.src.filter((_, i) => i % 2 === 0)).toEqual(one.edges.src);
    expect(edges.src.filter((_, i) => i % 2 === 1)).toEqual(one.edges.dst);
    expect(edges.dst.filter((_, i) => i % 2 === 1)).toEqual(one.edges.src);
  });

  test('a label beyond the number of classes is an error', async () => {
    await expect(readOgb(join(fixtures, 'ogb-csv'), { numClasses: 1 })).rejects.toThrow(
      /expected a class from -1 to 0 for the label of node \d, got [12]/,
    );
  });

  test('a split that is not there is an error', async () => {
    await expect(readOgb(join(fixtures, 'ogb-csv'), { split: 'random' })).rejects.toThrow(
      /one of its folders/,
    );
  });
});

test('every format knows its own fixture and no other', async () => {
  const paths = { planetoid: 'planetoid', shchur: 'shchur/tiny.npz', ogb: 'ogb-csv' };
  for (const format of nodeFormats) {
    for (const [name, path] of Object.entries(paths))
      expect(format.detect(join(fixtures, path))).toBe(name === format.name);
  }
  const data = await readNodeData(join(fixtures, 'ogb-binary'));
  expect(data.edges.numNodes).toBe(9);
  await expect(readNodeData(fixtures)).rejects.toThrow(ValueError);
});
