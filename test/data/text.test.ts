/** Text files: edge lists, N-Triples, tables of facts, labelled entities. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  type EdgeListOptions,
  readEdgeList,
  readEntityClassification,
  readNTriples,
  readTripleFiles,
  relationalGraph,
} from 'skein/data';
import { FormatError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder = '';
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-text-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A file with this text; compressed when the name says so. */
async function put(text: string, name = 'file.txt'): Promise<string> {
  const path = join(folder, `${count++}-${name}`);
  await writeFile(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

const edgesOf = async (text: string, options: EdgeListOptions = {}, name?: string) =>
  readEdgeList(await put(text, name), options);

describe('edge lists', () => {
  test('SNAP: comments, tabs, blank lines, gz', async () => {
    const text = '# Nodes: 4\n# FromNodeId\tToNodeId\n0\t1\n\n2\t3\n# between\n3\t0\n';
    for (const name of ['snap.txt', 'snap.txt.gz', 'odd[1]*name.txt']) {
      const { edges, names, weight } = await edgesOf(text, {}, name);
      expect(edges).toEqual({ numNodes: 4, src: Int32Array.of(0, 2, 3), dst: Int32Array.of(1, 3, 0) });
      expect([names, weight]).toEqual([null, null]);
    }
  });

  test('columns by name, string ids in order of first appearance, quotes, types, weights, times', async () => {
    const text = 'when,to,kind,from,w\n1.5,b,x,"a, ""A""",0.5\n2,c,y,b,1\n3,"a, ""A""",x,zoë#1,2\n';
    const list = await edgesOf(text, {
      ...{ source: 'from', target: 'to', weight: 'w', time: 'when', type: 'kind', ids: 'names' },
    });
    expect(list.names).toEqual(['a, "A"', 'b', 'c', 'zoë#1']);
    expect(list.edges).toEqual({ numNodes: 4, src: Int32Array.of(0, 1, 3), dst: Int32Array.of(1, 2, 0) });
    expect(list.weight).toEqual(Float32Array.of(0.5, 1, 2));
    expect(list.time).toEqual(Float64Array.of(1.5, 2, 3));
    expect(list.type).toEqual(Int32Array.of(0, 1, 0));
    expect(list.typeNames).toEqual(['x', 'y']);
  });

  test('a header that is skipped, ids from 1, a fixed number of nodes, line ends of Windows', async () => {
    const options = { header: true, idBase: 1, numNodes: 9 } as const;
    const { edges } = await edgesOf('a;b\r\n1;2\r\n9;1\r\n', options);
    expect(edges).toEqual({ numNodes: 9, src: Int32Array.of(0, 8), dst: Int32Array.of(1, 0) });
  });

  test('a quoted line break in the header and in the first record', async () => {
    const text = '# c\n"from\nwhom","to, or\nnot"\n"a\nb",c\nc,"a\nb"\n';
    const list = await edgesOf(text, { ids: 'names', source: 'from\nwhom', target: 'to, or\nnot' });
    expect(list.names).toEqual(['a\nb', 'c']);
    expect(list.edges).toEqual({ numNodes: 2, src: Int32Array.of(0, 1), dst: Int32Array.of(1, 0) });
    const bare = await edgesOf('"x\n# y",z\nz,"x\n# y"\n', { ids: 'names', header: false });
    expect(bare.names).toEqual(['x\n# y', 'z']);
    await expect(edgesOf('"a\nb",c\nd\n', { ids: 'names' })).rejects.toThrow(/:3: expected 2 columns, got 1/);
  });

  test('blanks after commas, also before the names of the header', async () => {
    for (const text of ['1, 2\n2 , 3\n', 'src, dst\n1, 2\n2, 3\n', '"src", "dst"\n1, 2\n2, 3\n'])
      expect((await edgesOf(text)).edges, text).toEqual({
        ...{ numNodes: 4, src: Int32Array.of(1, 2), dst: Int32Array.of(2, 3) },
      });
    expect((await edgesOf('src, dst\n1, 2\n2, 3\n', { ids: 'names' })).names).toEqual(['1', '2', '3']);
    expect((await edgesOf('a, b,1\n', { ids: 'names' })).names).toEqual(['a', ' b']);
  });

  test('quotes between tabs are taken where they are around a whole field', async () => {
    const text = 'source\ttarget\n"a b"\t"c"@en\n5" disk\ta b\n';
    expect((await edgesOf(text, { ids: 'names' })).names).toEqual(['a b', '"c"@en', '5" disk']);
  });

  test('the order of the file is kept over many rows', async () => {
    const rows = Array.from({ length: 50_000 }, (_, i) => `${(i * 7919) % 50_000} ${i}`);
    const { edges } = await edgesOf(rows.join('\n'));
    expect(edges.dst.every((id, i) => id === i)).toBe(true);
    const named = await edgesOf(rows.join('\n'), { ids: 'names' });
    expect(named.names?.[named.edges.dst[31_415]]).toBe('31415');
    expect(named.edges.src.slice(0, 3)).toEqual(Int32Array.of(0, 1, 3));
  });

  test('an empty file has no edges', async () => {
    expect((await edgesOf('# nothing\n')).edges.numNodes).toBe(0);
    expect((await edgesOf('', { ids: 'names' })).names).toEqual([]);
  });

  test.each<[string, string, EdgeListOptions, RegExp]>([
    ['a ragged line', '0 1\n# c\n2\n3 4\n', {}, /:3: expected 2 columns, got 1\./],
    ['a line that is too long', '0,1\n2,3,4\n', {}, /:2: expected 2 columns, got 3\./],
    ['a word as id', '0,1\n2,x\n', {}, /:2: expected a whole number for the target id, got "x"\. Pass ids/],
    ['a fraction as id', '0,1\n1.5,2\n', {}, /:2: expected a whole number .* source id, got "1\.5"\./],
    ['a negative id', '0,1\n-1,2\n', {}, /:2: expected a whole number .* source id, got "-1"\./],
    ['no header', 'a,b\n0,1\n', { header: false }, /:1: .*header: true for a header/],
    ['an id out of range', '0,1\n\n2,5\n', { numNodes: 5 }, /:3: expected a number from 0 to 4 .*"5"/],
    ['an id below the base', '1,2\n0,1\n', { idBase: 1 }, /:2: expected a number from 1 to .*"0"/],
    ['an empty name', 'a,b\n,c\n', { ids: 'names' }, /:2: expected a name for the source id, got ""/],
    [
      'a weight that is not a number',
      '0,1,1\n1,2,x\n',
      { weight: 2 },
      /:2: expected a finite number for the weight, got "x"/,
    ],
    ['a weight that is NaN', '0,1,nan\n', { weight: 2 }, /:1: expected a finite number for the weight/],
  ])('broken: %s', async (_, text, options, message) => {
    const reading = edgesOf(text, options);
    await expect(reading).rejects.toThrow(FormatError);
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toThrow(folder);
  });

  test('a column or a file that is not there', async () => {
    await expect(edgesOf('a,b\n1,2\n', { source: 'c' })).rejects.toThrow(ValueError);
    await expect(edgesOf('1,2\n', { time: 2 })).rejects.toThrow(/2 columns without a header/);
    await expect(readEdgeList(join(folder, 'none.csv'))).rejects.toThrow(StorageError);
  });
});

describe('N-Triples', () => {
  test('IRIs, blank nodes, literals, escapes, comments', async () => {
    const text = [
      '# a comment',
      '<http://a> <http://p> <http://b> .',
      '',
      '_:x <http://p> "text \\"quoted\\" \\u00e9\\n"@EN . # behind',
      '\t<http://b>\t<http://q>\t"1"^^<http://int>\t.',
      '<http://b><http://q>"1".',
      '<http://\\u0061> <http://p> _:x.',
    ].join('\n');
    for (const name of ['a.nt', 'a.nt.gz']) {
      const triples = await readNTriples(await put(text, name));
      expect(triples.relations).toEqual(['http://p', 'http://q']);
      expect(triples.entities).toEqual([
        ...['http://a', 'http://b', '_:x', '"text "quoted" é\n"@en', '"1"^^http://int', '"1"'],
      ]);
      expect(triples.src).toEqual(Int32Array.of(0, 2, 1, 1, 0));
      expect(triples.rel).toEqual(Int32Array.of(0, 0, 1, 1, 0));
      expect(triples.dst).toEqual(Int32Array.of(1, 3, 4, 5, 2));
    }
  });

  test.each([
    ['no end', '<u:a> <u:b> <u:c>', /:2: expected " \." and the end of the line at column 18/],
    [
      'a literal as subject',
      '"a" <u:b> <u:c> .',
      /:2: expected an IRI or a blank node as subject at column 1/,
    ],
    ['a blank node as predicate', '<u:a> _:b <u:c> .', /:2: expected an IRI as predicate at column 7/],
    ['no object', '<u:a> <u:b> .', /:2: expected an IRI, blank node or literal at column 13/],
    ['a blank in an IRI', '<u:a b> <u:b> <u:c> .', /:2: expected an IRI or a blank node/],
    ['an open literal', '<u:a> <u:b> "c .', /:2: expected an IRI, blank node or literal/],
    ['an unknown escape', '<u:a> <u:b> "\\q" .', /:2: expected an IRI, blank node or literal/],
    ['no datatype', '<u:a> <u:b> "c"^^d .', /:2: expected the IRI of a datatype/],
    ['a relative IRI', '<u:a> <b> <u:c> .', /:2: expected an absolute IRI at column 7, got "<b> /],
    ['a relative datatype', '<u:a> <u:b> "1"^^<d> .', /:2: expected an absolute IRI at column 18/],
    [
      'an escape that an IRI cannot have',
      '<u:a> <u:b> <u:\\u0020> .',
      /:2: expected an absolute IRI at column 13/,
    ],
    ['a colon in a blank node', '_:a:b <u:b> <u:c> .', /:2: expected an IRI as predicate at column 4/],
    ['a colon at the start of a blank node', '_::a <u:b> <u:c> .', /:2: expected an IRI or a blank node/],
    ['two statements', '<u:a> <u:b> <u:c> . <u:d>', /:2: expected " \." and the end/],
  ])('broken: %s', async (_, line, message) => {
    const reading = readNTriples(await put(`<u:a> <u:b> <u:c> .\n${line}\n`));
    await expect(reading).rejects.toThrow(FormatError);
    await expect(reading).rejects.toThrow(message);
  });
});

describe('facts', () => {
  test('names are numbered over all splits', async () => {
    const parts = await readTripleFiles({
      train: await put('a\tr\tb\nb\ts\tc\n'),
      test: await put('c\tr\td\n', 'test.txt.gz'),
    });
    expect(parts.test.entities).toEqual(['a', 'b', 'c', 'd']);
    expect(parts.train.relations).toEqual(['r', 's']);
    expect(parts.test.src).toEqual(Int32Array.of(2));
    expect(parts.test.dst).toEqual(Int32Array.of(3));
  });

  test('a ragged line and an empty name have file and line', async () => {
    await expect(readTripleFiles({ all: await put('a\tr\tb\na\tr\n') })).rejects.toThrow(
      /:2: expected 3 tab-separated columns/,
    );
    await expect(readTripleFiles({ all: await put('a\tr\tb\n\ta\tr\n') })).rejects.toThrow(
      /:2: .*an empty name/,
    );
  });
});

describe('labelled entities', () => {
  const read = async (train: string, test = 'id\twho\tclass\n2\thttp://b\tY\n') =>
    readEntityClassification({
      triples: await put('<http://a> <http://p> <http://b> .\n<http://b> <http://p> <http://c> .\n'),
      complete: await put('who\tclass\nhttp://a\tX\nhttp://b\tY\n'),
      train: await put(train),
      test: await put(test),
      ...{ entity: 'who', label: 'class' },
    });

  test('classes and splits', async () => {
    const data = await read('who\tid\tclass\nhttp://a\t1\tX\n');
    expect(data.classNames).toEqual(['X', 'Y']);
    expect(data.labels).toEqual(Int32Array.of(0, 1, -1));
    expect([data.splits.train, data.splits.test]).toEqual([Int32Array.of(0), Int32Array.of(1)]);
  });

  test('as a graph with relations and their inverses', async () => {
    const data = await read('who\tid\tclass\nhttp://a\t1\tX\n');
    expect(relationalGraph(data).edgeType).toEqual(Int32Array.of(0, 0));
    const { graph, edgeType, numRelations } = relationalGraph(data, { inverse: true });
    expect(graph.edges()).toEqual({ src: Int32Array.of(0, 1, 1, 2), dst: Int32Array.of(1, 2, 0, 1) });
    expect(edgeType).toEqual(Int32Array.of(0, 0, 1, 1));
    expect([graph.numNodes, numRelations]).toEqual([3, 2]);
  });

  test.each([
    ['an unknown entity', 'who\tclass\nhttp://z\tX\n', /:2: expected an entity of the graph, got http:\/\/z/],
    ['an unknown class', 'who\tclass\nhttp://a\tZ\n', /:2: expected a class of the complete table/],
    ['an entity in two parts', 'who\tclass\nhttp://b\tY\n', /:2: expected each entity in one split only/],
    ['a missing column', 'who\nhttp://b\n', /:1: expected the columns who, class in the header/],
  ])('broken: %s', async (_, train, message) => {
    await expect(read(train)).rejects.toThrow(message);
  });
});
