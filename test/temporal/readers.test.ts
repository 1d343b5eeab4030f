/** Files of events: the formats of others on small files, and what is said of broken ones. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readTemporal, readTgbNegatives } from 'skein/data';
import { FormatError, StorageError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import type { ReadProgress } from '#internal/data/temporal/event-table.js';
import { makeFile, makeFolder, npy, npz } from './event-file-fixtures.js';

const list = (values: ArrayLike<number> | undefined): number[] => Array.from(values ?? []);

const jodieHeader = 'user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n';
const jodie = `${jodieHeader}0,0,0.0,0,-0.5,1e-05\n2,1,36.25,1,0.1234567890123456789,2\n1,0,36.25,0,.5,-3\n`;

describe('JODIE', () => {
  test('items follow users, features and labels go with their event', async () => {
    const data = await readTemporal(makeFile('wikipedia.csv', jodie));
    expect(data).toMatchObject({ name: 'wikipedia', numNodes: 5, bipartite: true, featureWidth: 2 });
    expect(list(data.events.src)).toEqual([0, 2, 1]);
    expect(list(data.events.dst)).toEqual([3, 4, 3]);
    expect(list(data.events.time)).toEqual([0, 36.25, 36.25]);
    expect(list(data.labels ?? [])).toEqual([0, 1, 0]);
    expect(list(data.dstPool)).toEqual([3, 4]);
    const want = Float32Array.of(-0.5, 1e-5, 0.12345678901234568, 2, 0.5, -3);
    expect(list(data.events.features)).toEqual(list(want));
  });

  test('without features, without a last line end, with \\r\\n, compressed', async () => {
    const plain = `${jodieHeader}0,0,0,0\n1,0,1,0`.replaceAll('\n', '\r\n');
    const data = await readTemporal(makeFile('d.csv.gz', gzipSync(plain)));
    expect(data).toMatchObject({ name: 'd', numNodes: 3, featureWidth: 0 });
    expect(data.events.features).toBeUndefined();
    expect(list(data.events.time)).toEqual([0, 1]);
  });

  test.each([
    ['0,0,x,0,1', ':3: expected a number, got "x"'],
    ['0,0,nan,0,1', ':3: expected a finite number for the time, got "nan"'],
    ['0,0,inf,0,1', ':3: expected a finite number for the time, got "inf"'],
    ['-1,0,2,0,1', ':3: expected a whole number from 0 to 2147483646 for the source, got "-1"'],
    ['0,2147483647,2,0,1', ':3: expected a whole number from 0 to 2147483646 for the destination'],
    ['0,99999999999999999999,2,0,1', ':3: expected a whole number'],
    ['0,0.5,2,0,1', ':3: expected a whole number from 0 to 2147483646 for the destination, got "0.5"'],
    ['0,,2,0,1', ':3: expected a number, got ""'],
    ['0,0,2,0,1,2', ':3: expected 1 features, got 2'],
    ['0,0,2,0', ':3: expected 1 features, got 0'],
    ['0,0,2', ':3: expected at least 4 columns, got 3'],
    ['0,0,2,0,NaN', ':3: expected a finite number for feature 0, got "NaN"'],
    [
      '0,0,0.5,0,1',
      ':3: expected events in order of time (sort: true, or --dataset.sort=true, sorts them), got time 0.5 after 1',
    ],
  ])('the line %s', async (line, message) => {
    const path = makeFile('bad.csv', `${jodieHeader}0,0,1,0,1\n${line}\n`);
    const error = await readTemporal(path).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(FormatError);
    expect((error as FormatError).message).toContain(`bad.csv${message}`);
    expect((error as FormatError).details).toMatchObject({ path, line: 3 });
  });

  test('ids far apart are numbered by appearance', async () => {
    const path = makeFile('d.csv', `${jodieHeader}2147483646,2147483646,1,0\n`);
    expect((await readTemporal(path)).numNodes).toBe(2);
  });
});

describe('SNAP', () => {
  test('blanks, tabs, comments; ids from 1 without gaps stay', async () => {
    const path = makeFile(
      'm.txt',
      '# header\n% too\n\n1 2  1082040961\n3\t2\t1082155839 \r\n  4 1 1082155839\n',
    );
    const data = await readTemporal(path);
    expect(data).toMatchObject({ numNodes: 4, typeNames: null, bipartite: false });
    expect(list(data.events.src)).toEqual([0, 2, 3]);
    expect(list(data.events.dst)).toEqual([1, 1, 0]);
    expect(list(data.events.time)).toEqual([1082040961, 1082155839, 1082155839]);
  });

  test('ids with gaps are numbered by appearance; types by word', async () => {
    const path = makeFile('q.txt', '9 4 1 a2q\n4 7 2 c2q\n9 2000000000 3 a2q\n');
    const data = await readTemporal(path);
    expect(list(data.nodeIds ?? [])).toEqual([9, 4, 7, 2000000000]);
    expect(list(data.events.src)).toEqual([0, 1, 0]);
    expect(list(data.events.types)).toEqual([0, 1, 0]);
    expect(data.typeNames).toEqual(['a2q', 'c2q']);
    expect((await readTemporal(path, { numNodes: 10 })).numNodes).toBe(10);
    await expect(readTemporal(path, { numNodes: 3 })).rejects.toThrow('expected at most 3 nodes');
  });

  test('sort: equal times keep their order, and the place in the file is the id', async () => {
    const path = makeFile('u.txt', '0 1 5\n1 0 2\n0 2 5\n2 0 2\n');
    await expect(readTemporal(path)).rejects.toThrow('u.txt:2: expected events in order of time');
    const { events } = await readTemporal(path, { sort: true });
    expect(list(events.time)).toEqual([2, 2, 5, 5]);
    expect(list(events.src)).toEqual([1, 2, 0, 0]);
    expect(list(events.ids)).toEqual([1, 3, 0, 2]);
  });

  test('large times keep fractions', async () => {
    const path = makeFile('f.txt', '0 1 1600000000.25\n1 0 1600000000.5\n');
    expect(list((await readTemporal(path)).events.time)).toEqual([1600000000.25, 1600000000.5]);
  });

  test('lines across pieces of the file, and progress', async () => {
    const rows = Array.from({ length: 150_000 }, (_, i) => `${i % 977} ${(i * 7) % 977} ${i}.5`);
    const path = makeFile('large.txt', rows.join('\n'));
    const seen: ReadProgress[] = [];
    const { events } = await readTemporal(path, { onProgress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(1);
    const last = seen[seen.length - 1];
    expect(last.bytes).toBe(last.totalBytes);
    expect(events.src.length).toBe(150_000);
    for (let i = 0; i < 150_000; i += 997) {
      expect([events.src[i], events.dst[i], events.time[i]]).toEqual([i % 977, (i * 7) % 977, i + 0.5]);
    }
  });

  test.each([
    ['1 2', 'm.txt:2: expected 3 columns, got 2'],
    ['1 2 3 4', 'm.txt:2: expected 3 columns, got 4'],
    ['1 2 three', 'm.txt:2: expected a number, got "three"'],
    ['1 -2 3', 'for the destination, got "-2"'],
  ])('the line %s', async (line, message) => {
    await expect(readTemporal(makeFile('m.txt', `1 2 3\n${line}\n`))).rejects.toThrow(message);
  });

  test('a compressed file that is cut off', async () => {
    const whole = gzipSync(Array.from({ length: 9999 }, (_, i) => `${i} ${i * 3} ${i}\n`).join(''));
    const path = makeFile('m.txt.gz', whole.subarray(0, whole.length - 20));
    await expect(readTemporal(path)).rejects.toThrow('damaged or truncated');
  });
});

const tgnCsv = ',u,i,ts,label,idx\n0,1,3,0.0,0.0,1\n1,2,3,4.5,1.0,2\n';

describe('TGN', () => {
  test('ids start at 0 again, padding rows are left out', async () => {
    const folder = makeFolder({
      'ml_d.csv': tgnCsv,
      'ml_d.npy': npy([3, 2], Float64Array.of(0, 0, 1, 2, 3, 4)),
      'ml_d_node.npy': npy([4, 1], Float32Array.of(0, 5, 6, 7)),
    });
    const data = await readTemporal(folder);
    expect(data).toMatchObject({ name: 'd', numNodes: 3, featureWidth: 2, bipartite: true });
    expect(list(data.events.src)).toEqual([0, 1]);
    expect(list(data.events.dst)).toEqual([2, 2]);
    expect(list(data.events.ids)).toEqual([1, 2]);
    expect(list(data.events.features)).toEqual([1, 2, 3, 4]);
    expect(data.nodeFeatures?.toArray()).toEqual([[5], [6], [7]]);
    expect(list(data.labels ?? [])).toEqual([0, 1]);
  });

  test('without matrices; node features of zeros say nothing', async () => {
    expect((await readTemporal(makeFile('ml_d.csv', tgnCsv))).featureWidth).toBe(0);
    const zeros = npy([4, 2], new Float64Array(8));
    const folder = makeFolder({ 'ml_d.csv': tgnCsv, 'ml_d_node.npy': zeros });
    expect((await readTemporal(folder)).nodeFeatures).toBeNull();
  });

  test('matrices that do not fit, and ids from 0', async () => {
    const short = makeFolder({ 'ml_d.csv': tgnCsv, 'ml_d.npy': npy([2, 1], Float64Array.of(0, 1)) });
    await expect(readTemporal(short)).rejects.toThrow('expected a row for event id 2');
    const wrong = npy([3, 1], Float64Array.of(0, Number.NaN, 1));
    const bad = makeFolder({ 'ml_d.csv': tgnCsv, 'ml_d.npy': wrong });
    await expect(readTemporal(bad)).rejects.toThrow('expected a finite number for row 1, column 0, got NaN');
    const zero = makeFile('ml_d.csv', tgnCsv.replace('1,2,3', '1,0,3'));
    await expect(readTemporal(zero)).rejects.toThrow('expected node ids from 1');
    const noTime = makeFile('ml_d.csv', tgnCsv.replace(',ts,', ',t,'));
    await expect(readTemporal(noTime, { format: 'tgn' })).rejects.toThrow('a column "ts" in the header');
  });
});

const edges = ',src,dst,time,int_roll,ext_roll\n0,0,2,1.0,0,0\n1,1,2,2.0,0,0\n2,0,3,3.0,0,1\n3,1,3,4.0,1,2\n';

/** The T-CSR of `edges`, one direction. */
const tcsr = npz({
  indptr: npy([6], BigInt64Array.of(0n, 2n, 4n, 4n, 4n, 4n)),
  indices: npy([4], BigInt64Array.of(2n, 3n, 2n, 3n)),
  ts: npy([4], Float64Array.of(1, 3, 2, 4)),
  eid: npy([4], BigInt64Array.of(0n, 2n, 1n, 3n)),
});

describe('TGL', () => {
  test('events, split, nodes of the T-CSR, labels at moments of their own', async () => {
    const folder = makeFolder({
      'edges.csv': edges,
      'ext_full.npz': tcsr,
      'labels.csv': ',node,time,label,ext_roll\n0,1,2.5,3,0\n1,0,1.5,1,2\n',
      'edge_features.npy': npy([4, 1], Float32Array.of(10, 11, 12, 13)),
      'node_features.npz': npz({ arr_0: npy([5, 1], Float32Array.of(1, 2, 3, 4, 5)) }),
    });
    const data = await readTemporal(folder, { name: 'D' });
    expect(data).toMatchObject({ name: 'D', numNodes: 5, split: { trainEnd: 2, validationEnd: 3 } });
    expect(list(data.events.ids)).toEqual([0, 1, 2, 3]);
    expect(list(data.events.features)).toEqual([10, 11, 12, 13]);
    expect(data.nodeFeatures?.shape).toEqual([5, 1]);
    expect(list(data.nodeLabels?.nodes)).toEqual([1, 0]);
    expect(list(data.nodeLabels?.labels)).toEqual([3, 1]);
    expect(list(data.nodeLabels?.splits ?? [])).toEqual([0, 2]);
  });

  test('features as PyTorch saves them', async () => {
    const bytes = readFileSync(new URL('../fixtures/data/torch/float.pt', import.meta.url));
    const folder = makeFolder({ 'edges.csv': edges, 'edge_features.pt': bytes });
    const { events, featureWidth } = await readTemporal(folder);
    expect(featureWidth).toBe(2);
    expect(list(events.features)).toEqual([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]);
    const wrong = makeFolder({ 'edges.csv': edges, 'node_features.pt': 'no archive' });
    await expect(readTemporal(wrong)).rejects.toThrow('node_features.pt: expected a zip archive of PyTorch');
  });

  test('sorted events keep their features', async () => {
    const [head, ...rows] = edges.trim().split('\n');
    const folder = makeFolder({
      'edges.csv': `${[head, ...rows.reverse()].join('\n')}\n`,
      'edge_features.npy': npy([4, 1], Float32Array.of(10, 11, 12, 13)),
    });
    const data = await readTemporal(folder, { sort: true });
    expect(list(data.events.features)).toEqual([10, 11, 12, 13]);
    expect(data.split).toEqual({ trainEnd: 2, validationEnd: 3 });
  });

  test('files that do not fit together', async () => {
    const roll = makeFile('edges.csv', edges.replace('4.0,1,2', '4.0,1,0'));
    await expect(readTemporal(roll)).rejects.toThrow('expected ext_roll that ascends with time');
    const part = makeFile('edges.csv', edges.replace('4.0,1,2', '4.0,1,3'));
    await expect(readTemporal(part)).rejects.toThrow(':5: expected a whole number from 0 to 2 for the split');
    const few = makeFolder({ 'edges.csv': edges.replace(/2,0,3.*\n/, ''), 'ext_full.npz': tcsr });
    await expect(readTemporal(few)).rejects.toThrow('expected 3 or 6 entries');
    const label = makeFolder({ 'edges.csv': edges, 'labels.csv': ',node,time,label\n0,9,1,1\n' });
    await expect(readTemporal(label)).rejects.toThrow('labels.csv: expected nodes below 4');
  });
});

describe('the Temporal Graph Benchmark', () => {
  const edgeList = 'ts,src,dst,weight,name\n5,7,3,0.5,a\n6,b,7,2,\n6,3,b,1,c\n';

  test('nodes of both columns are numbered as they appear; numbers are features', async () => {
    const data = await readTemporal(makeFile('tgbl-coin_edgelist_v2.csv', edgeList));
    expect(data).toMatchObject({ name: 'tgbl-coin_edgelist_v2', numNodes: 3, featureWidth: 1 });
    expect(list(data.events.src)).toEqual([0, 2, 1]);
    expect(list(data.events.dst)).toEqual([1, 0, 2]);
    expect(list(data.events.time)).toEqual([5, 6, 6]);
    expect(list(data.events.features)).toEqual([0.5, 2, 1]);
    expect(data).toMatchObject({ featureNames: ['weight'], leftOut: ['name'], names: ['7', '3', 'b'] });
    // The wiki file has JODIE's columns.
    const wiki = await readTemporal(makeFile('tgbl-wiki_edgelist_v2.csv', jodie));
    expect(list(wiki.events.dst)).toEqual([3, 4, 3]);
    await expect(readTemporal(makeFile('tgbl-x_edgelist.csv', 'a,b\n'))).rejects.toThrow(
      'expected the columns time, src, dst in the header',
    );
  });

  // {(0, 3, 10): [4, 5], (1, 4, 12): [3]} of NumPy's 64-bit integers, in protocols 4 and 5.
  test.each([
    'gASVRAEAAAAAAAB9lCiMFm51bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAZzY2FsYXKUk5SMBW51bXB5lIwFZHR5cGWUk5SMAmk4lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGJDCAAAAAAAAAAAlIaUUpRoA2gJQwgDAAAAAAAAAJSGlFKUaANoCUMICgAAAAAAAACUhpRSlIeUaAGMDF9yZWNvbnN0cnVjdJSTlGgEjAduZGFycmF5lJOUSwCFlEMBYpSHlFKUKEsBSwKFlGgJiUMQBAAAAAAAAAAFAAAAAAAAAJR0lGJoA2gJQwgBAAAAAAAAAJSGlFKUaANoCUMIBAAAAAAAAACUhpRSlGgDaAlDCAwAAAAAAAAAlIaUUpSHlGgXaBlLAIWUaBuHlFKUKEsBSwGFlGgJiUMIAwAAAAAAAACUdJRidS4=',
    'gAWVQQEAAAAAAAB9lCiMFm51bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAZzY2FsYXKUk5SMBW51bXB5lIwFZHR5cGWUk5SMAmk4lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGJDCAAAAAAAAAAAlIaUUpRoA2gJQwgDAAAAAAAAAJSGlFKUaANoCUMICgAAAAAAAACUhpRSlIeUjBNudW1weS5fY29yZS5udW1lcmljlIwLX2Zyb21idWZmZXKUk5QolhAAAAAAAAAABAAAAAAAAAAFAAAAAAAAAJRoCUsChZSMAUOUdJRSlGgDaAlDCAEAAAAAAAAAlIaUUpRoA2gJQwgEAAAAAAAAAJSGlFKUaANoCUMIDAAAAAAAAACUhpRSlIeUaBgolggAAAAAAAAAAwAAAAAAAACUaAlLAYWUaBt0lFKUdS4=',
  ])('negatives by event', async (base64) => {
    const bytes = Buffer.from(base64, 'base64');
    const found = await readTgbNegatives(makeFile('tgbl-x_test_ns.pkl', bytes));
    expect(list(found.src)).toEqual([0, 1]);
    expect(list(found.dst)).toEqual([3, 4]);
    expect(list(found.time)).toEqual([10, 12]);
    expect(list(found.offsets)).toEqual([0, 2, 3]);
    expect(list(found.ids)).toEqual([4, 5, 3]);
  });

  test.each([
    ['another value', 'K\x05.', 'expected a dictionary'],
    ['a key of two numbers', '}K\x01K\x02\x86]s.', 'expected keys of three numbers, got entry 0'],
    [
      'a negative node',
      '}K\x01K\x02K\x03\x87(J\xff\xff\xff\xffls.',
      'expected node numbers from 0, got entry 0',
    ],
    ['a name to call', 'cos\nsystem\n.', 'got the Python name os.system'],
  ])('negatives: %s', async (_, text, message) => {
    const path = makeFile('x_val_ns.pkl', Buffer.from(`\x80\x02${text}`, 'latin1'));
    await expect(readTgbNegatives(path)).rejects.toThrow(message);
  });
});

describe('finding the file', () => {
  test('missing files, and files of no known format', async () => {
    await expect(readTemporal('/nowhere/events.txt')).rejects.toThrow(StorageError);
    await expect(readTemporal(makeFile('a.txt', 'hello world\n'))).rejects.toThrow(
      /a\.txt:1: expected at least the columns source, destination and time .* TGN, TGL, SNAP or TGB\), got "hello world"\. .* preprocess --edges .*a\.txt /,
    );
    await expect(readTemporal(makeFile('a.txt', ''))).rejects.toThrow(FormatError);
    await expect(readTemporal(makeFolder({}))).rejects.toThrow('a folder with an event file');
    const folder = makeFolder({ 'a.txt': '0 1 2\n' });
    expect((await readTemporal(folder)).name).toBe('a');
    writeFileSync(join(folder, 'b.txt'), '0 1 2\n');
    await expect(readTemporal(folder)).rejects.toThrow(
      'a folder with one event file for path, got "a.txt, b.txt"',
    );
    await expect(readTemporal(folder, { format: 'tsv' as 'snap' })).rejects.toThrow(ValueError);
  });

  test('an empty file of a format that is named', async () => {
    const data = await readTemporal(makeFile('a.txt', '# nothing\n'), { format: 'snap' });
    expect(data).toMatchObject({ numNodes: 0, bipartite: false, featureWidth: 0 });
    expect((await readTemporal(makeFile('j.csv', jodieHeader))).events.src.length).toBe(0);
  });
});
