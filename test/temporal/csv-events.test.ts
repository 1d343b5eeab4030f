/** Delimited text of anybody: what is a column, an id, a time; and that nothing is dropped unsaid. */
import { gzipSync } from 'node:zlib';
import { type ReadTemporalOptions, readTemporal, type TemporalData } from 'skein/data';
import { FormatError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { makeFile, makeFolder } from './event-file-fixtures.js';

const list = (values: ArrayLike<number> | undefined | null): number[] => Array.from(values ?? []);
const read = (
  text: string | Uint8Array,
  options: ReadTemporalOptions = {},
  name = 'own.csv',
): Promise<TemporalData> => readTemporal(makeFile(name, text), options);

describe('columns', () => {
  test('further numbers are features, label and type have their places', async () => {
    const data = await read('src,dst,time,f1,label,type,f2\n0,1,5,0.5,1,buy,-2\n1,2,6,1e-3,0,sell,3\n');
    expect(data).toMatchObject({ name: 'own', numNodes: 3, featureWidth: 2, featureNames: ['f1', 'f2'] });
    expect(list(data.events.features)).toEqual(list(Float32Array.of(0.5, -2, 1e-3, 3)));
    expect([list(data.labels), list(data.events.types), data.typeNames]).toEqual([
      [1, 0],
      [0, 1],
      ['buy', 'sell'],
    ]);
    expect(data.leftOut).toBeUndefined();
  });

  test.each([
    ['source,target,timestamp', ','],
    ['from;to;ts', ';'],
    ['Sender\tReceiver\tDate', '\t'],
    ['"src"|"dst"|"t"', '|'],
    ['src dst time', ' '],
  ])('the header %s', async (header, mark) => {
    const rows = [
      [1, 2, 3],
      [2, 3, 4],
    ].map((row) => row.join(mark));
    const { events, nodes } = await read(`${[header, ...rows].join('\n')}\n`);
    expect([list(events.src), list(events.dst), list(events.time)]).toEqual([
      [0, 1],
      [1, 2],
      [3, 4],
    ]);
    expect(nodes.kind).toBe('shifted');
  });

  test('the usual names are those of every reader: MovieLens, authors and papers, actions', async () => {
    const notes: string[] = [];
    const ratings = await read(
      'userId,movieId,rating,timestamp\n1,31,2.5,100\n1,1029,3.0,160\n2,31,4,170\n',
      { onNote: (note) => notes.push(note) },
      'ratings.csv',
    );
    expect(ratings).toMatchObject({ numNodes: 4, bipartite: true, featureNames: ['rating'] });
    expect(list(ratings.events.time)).toEqual([100, 160, 170]);
    expect(notes.at(-1)).toMatch(
      /ratings\.csv: columns: source userId, target movieId, time timestamp, features rating$/,
    );
    const papers = await read('Year,Paper ID,author-id,kind\n2001,p1,ann,cites\n2002,p2,bob,writes\n');
    expect(papers.names).toEqual(['ann', 'bob', 'p1', 'p2']);
    expect(papers.typeNames).toEqual(['cites', 'writes']);
    for (const name of ['page', 'product', 'item', 'page_id'])
      expect(await read(`user,${name},timestamp\nann,home,1\nbob,home,2\n`)).toMatchObject({ numNodes: 3 });
  });

  test('of several usual names the most usual is taken, and columns that are asked for come first', async () => {
    const several = await read('start,src,dst,end,time,year\n7,0,1,8,5,2001\n');
    expect(several.featureNames).toEqual(['start', 'end', 'year']);
    const columns = { src: 'x', dst: 'y', time: 't', features: ['category'] };
    const asked = await read('x,y,t,category,label\n0,1,2,7,1\n', { columns });
    expect(asked.featureNames).toEqual(['category']);
    expect([list(asked.events.dst), list(asked.labels)]).toEqual([[1], [1]]);
  });

  test('by name and by index', async () => {
    const text = 'when,who,whom,note\n5,a,b,hello\n6,b,c,"x, y"\n';
    const columns = { src: 'who', dst: 'whom', time: 'when', features: [] };
    const data = await read(text, { columns });
    expect(data).toMatchObject({ names: ['a', 'b', 'c'], featureWidth: 0, leftOut: ['note'] });
    const places = await read('5,a,b,0.5\n6,b,c,1.5\n', {
      columns: { src: 1, dst: 2, time: 0, features: [3] },
    });
    expect([list(places.events.time), list(places.events.features)]).toEqual([
      [5, 6],
      [0.5, 1.5],
    ]);
    await expect(read(text, { columns, format: 'snap' })).rejects.toThrow(ValueError);
    await expect(read(text, { columns: { ...columns, src: 'whose' } })).rejects.toThrow(
      'own.csv:1: expected a column "whose" for columns.src, got when, who, whom, note',
    );
    await expect(read(text, { columns: { ...columns, dst: 'who' } })).rejects.toThrow(
      'one meaning for column "who"',
    );
    await expect(read(text, { columns: { ...columns, src: 1.5 } })).rejects.toThrow(
      'a name or an index from 0',
    );
    await expect(read(text, { columns: { source: 1 } as object })).rejects.toThrow(
      'for columns, got "source"',
    );
  });

  test('what pandas writes: a first column without a name, \\r\\n, a byte order mark, compressed', async () => {
    const text = '\ufeff,src,dst,time,w\r\n0,4,5,1.5,2\r\n1,5,4,2.5,3\r\n';
    const data = await read(gzipSync(text), {}, 'p.csv.gz');
    expect(data).toMatchObject({ name: 'p', numNodes: 2, featureNames: ['w'] });
    const bare = await read('\ufeff0,1,2\r\n1,0,3', {}, 'b.csv');
    expect([list(bare.events.src), list(bare.events.time)]).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test('quotes between tabs and blanks are taken where they are around a whole field', async () => {
    const tabs = await read('src\tdst\ttime\n"a b"\t"c"@en\t1\n5" disk\ta b\t"2"\n');
    expect(tabs.names).toEqual(['a b', '"c"@en', '5" disk']);
    expect(list(tabs.events.time)).toEqual([1, 2]);
    expect((await read('"src" "dst" "time"\n"a" "b" 1\n')).names).toEqual(['a', 'b']);
  });

  test('a plain header is named after its file, wherever it is', async () => {
    expect((await read('src,dst,time\n0,1,2\n', {}, 'num.csv')).name).toBe('num');
    expect((await readTemporal(makeFolder({ 'calls.tsv': 'src\tdst\ttime\n0\t1\t2\n' }))).name).toBe('calls');
  });
});

describe('ids and times', () => {
  test('words are numbered by appearance', async () => {
    const { events, nodes, names } = await read('alice,bob,1700000000\n"bob, jr.",alice,1700000001\n');
    expect(names).toEqual(['alice', 'bob', 'bob, jr.']);
    expect([list(events.src), list(events.dst)]).toEqual([
      [0, 2],
      [1, 0],
    ]);
    expect([nodes.idOf('bob, jr.'), nodes.nameOf(1), nodes.idOf('eve')]).toEqual([2, 'bob', undefined]);
  });

  test('a word after numbers, and numbers too large for a node', async () => {
    const mixed = await read('1,2,3\n2,x,4\n');
    expect([mixed.names, mixed.nodes.idOf(2)]).toEqual([['1', '2', 'x'], 1]);
    const large = await read('src,dst,time\n9007199254740993,9007199254740992,1\n');
    expect(large.names).toEqual(['9007199254740993', '9007199254740992']);
  });

  test('numbers with gaps', async () => {
    const { nodes, numNodes } = await read('src,dst,time\n1000,2000,1\n2000,3000,2\n');
    expect([numNodes, nodes.kind, nodes.idOf(3000), nodes.nameOf(0)]).toEqual([3, 'ids', 2, '1000']);
  });

  test('users and items have ids of their own', async () => {
    const numbers = await read('user,item,ts,rating\n1,1,5,4.5\n2,1,6,3\n');
    expect(numbers).toMatchObject({ numNodes: 3, bipartite: true, featureNames: ['rating'] });
    expect([numbers.nodes.idOf(1, 'src'), numbers.nodes.idOf(1, 'dst')]).toEqual([0, 2]);
    const words = await read('user_id,item_id,timestamp\nann,x,5\nx,x,6\n', { numNodes: 5 });
    expect([list(words.events.src), list(words.events.dst)]).toEqual([
      [0, 1],
      [2, 2],
    ]);
    expect([words.nodes.idOf('x', 'src'), words.nodes.idOf('x', 'dst'), words.nodes.nameOf(4)]).toEqual([
      1,
      2,
      '#2',
    ]);
  });

  test('dates of ISO 8601, UTC where they do not say', async () => {
    const times = [
      '2023-11-14',
      '2023-11-14T22:13',
      '2023-11-14 22:13:20',
      '2023-11-14T22:13:20.250Z',
      '2023-11-14T22:13:21+00:00',
      '2023-11-15T00:43:22+0230',
    ];
    const { events } = await read(`a,b,${times.join('\na,b,')}\n`);
    expect(list(events.time)).toEqual([
      1699920000, 1699999980, 1700000000, 1700000000.25, 1700000001, 1700000002,
    ]);
  });

  test('events out of order are counted when they are sorted', async () => {
    const text = 'src,dst,time,w\na,b,3,1\nb,c,1,2\nc,a,2,3\n';
    await expect(read(text)).rejects.toThrow(
      'own.csv:3: expected events in order of time (sort: true, or --dataset.sort=true',
    );
    const { events, stepsBack } = await read(text, { sort: true });
    expect([list(events.time), list(events.features), list(events.ids), stepsBack]).toEqual([
      [1, 2, 3],
      [2, 3, 1],
      [1, 2, 0],
      1,
    ]);
  });

  test('no events', async () => {
    expect(await read('src,dst,time\n')).toMatchObject({ numNodes: 0 });
    expect(await read('', { format: 'csv' })).toMatchObject({ numNodes: 0 });
  });
});

describe('what is refused', () => {
  test.each([
    ['src,dst,time,note\n0,1,2,hi\n', ':2: expected a finite number for column "note" (or list the columns'],
    ['src,dst,time,w\n0,1,2,\n', ':2: expected a finite number for column "w"'],
    ['src,dst,time,w\n0,1,2\n', ':2: expected 4 columns, got 3. Correct the line, or remove it.'],
    ['src,dst,time\n0,1,2,3\n', ':2: expected 3 columns, got 4'],
    [
      'src,dst,time\n0,-1,2\n',
      ':2: expected a whole number from 0 to 2147483646 for the destination, got "-1"',
    ],
    ['src,dst,time\n0,0.5,2\n', ':2: expected a whole number'],
    ['src,dst,time\n0,,2\n', ':2: expected a whole number'],
    ['src,dst,time\na,,2\n', ':2: expected an id for the destination, got ""'],
    ['src,dst,time\n0,1,noon\n', ':2: expected a number or an ISO 8601 date for the time, got "noon"'],
    ['src,dst,time\n0,1,2023-02-30\n', ':2: expected a number or an ISO 8601 date'],
    ['src,dst,time\n0,1,5\n0,1,2023-02-03\n', ':3: expected a number for the time as above'],
    ['src,dst,time\n"a,b,2\n', ':2: expected a quote at the end of the field'],
    [
      'a,b,when\n0,1,5\n',
      ':1: expected a column for src (src, source, from, user, sender, head, subject, customer), got "a,b,when"',
    ],
    [
      'user,when,timestamp\n0,1,5\n',
      ':1: expected a column for dst (dst, target, dest, destination, to, item,',
    ],
    ['src,src,dst,time\n', ':1: expected different names in the header, got "src" twice'],
    ['1,2,3,0.5\n', ':1: expected the columns src, dst, time without a header, got 4 columns. Set the'],
    ['1 2 3 4 5\n', ':1: expected the columns src, dst, time without a header, got 5 columns. Set the'],
  ])('%j', async (text, message) => {
    const error = await read(text).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(FormatError);
    expect((error as FormatError).message).toContain(`own.csv${message}`);
  });

  test('columns that a format of others does not have', async () => {
    await expect(read('1 2 3 4 5\n', { format: 'snap' })).rejects.toThrow(
      'expected the columns src dst time [type], got 5',
    );
    await expect(read(',u,i,ts,label,idx,w\n0,1,2,3,0,1,9\n')).rejects.toThrow(
      'got "w". For text with more columns',
    );
  });
});
