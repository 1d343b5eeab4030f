/** Errors of `preprocess`: each with the file, the line or row where there is one, and nothing left behind. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PreprocessOptions, preprocess } from 'skein/data';
import { FormatError, type SkeinError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-rejected-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Kind = new (...args: never[]) => SkeinError;

/** Files by name, then options with these names as paths. */
async function expectFailure(
  files: Readonly<Record<string, string>>,
  options: Omit<PreprocessOptions, 'outputDir'>,
  kind: Kind,
  message: RegExp,
): Promise<void> {
  const place = await mkdtemp(join(folder, 'case-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(place, name), content);
  const path = (value: unknown): unknown =>
    typeof value === 'string' && value in files
      ? join(place, value)
      : Array.isArray(value)
        ? value.map(path)
        : value;
  const resolved = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, path(value)]));
  const error = await preprocess({ inProcess: true, ...resolved, outputDir: join(place, 'out') }).catch(
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(kind);
  expect((error as Error).message).toMatch(message);
  // No half-made directory stays.
  expect((await readdir(place)).sort()).toEqual(Object.keys(files).sort());
}

const one = (content: string, options: object, kind: Kind, message: RegExp) => () =>
  expectFailure({ 'e.csv': content }, { edges: 'e.csv', ...options }, kind, message);

describe('edges', () => {
  test(
    'a ragged row has its line',
    one('a,b\nc,d\ne,f,g\n', {}, FormatError, /e\.csv:3: expected 2 columns, got 3/),
  );
  test(
    'an empty id has its line',
    one('a,b\n,d\n', {}, FormatError, /e\.csv:2: expected a name for the source id/),
  );
  test('an empty file', one('', {}, FormatError, /e\.csv: expected at least one edge, got none/));
  test('a header and nothing else', one('s,d\n', { header: true }, FormatError, /at least one edge/));
  test(
    'a column that is not there, with those that are',
    one(
      'from,to\na,b\n',
      { source: 'from', target: 'dst' },
      ValueError,
      /the columns from, to for target \(--dst-column\), got "dst"/,
    ),
  );
  test(
    'a place beyond the last column',
    one('a,b\n', { source: 0, target: 2 }, ValueError, /2 columns without a header/),
  );
  test(
    'four columns and no names',
    one(
      'a,b,c,d\n',
      {},
      ValueError,
      /for the target of an edge, got 4 columns without a header\. Set them with --src-column/,
    ),
  );
  test(
    'a source alone',
    one(
      'a,b\n',
      { source: 0 },
      ValueError,
      /expected a column for target \(--dst-column\) too, got none\. There are 2 columns/,
    ),
  );
  test(
    'one column for both ends',
    one(
      'from,to\na,b\n',
      { source: 'from', target: 0 },
      ValueError,
      /a column other than that of sources for target/,
    ),
  );
  test(
    'a column of nodes as the type',
    one('a,b\n', { source: 0, target: 1, edgeType: 1 }, ValueError, /a column other than those of nodes/),
  );
  test(
    'two names for one end',
    one('source,source,target\na,b,c\n', {}, ValueError, /got .*source, source, target/),
  );
  test(
    'a name that two columns have',
    one(
      'source,source,target\na,b,c\n',
      { source: 'source', target: 'target' },
      ValueError,
      /the name of one column for source \(--src-column\), got "source"\. Several columns have that name; give the index/,
    ),
  );
  test(
    'a weight that is not a number',
    one(
      'a,b,1\nb,c,x\n',
      { source: 0, target: 1, edgeWeight: 2 },
      FormatError,
      /e\.csv:2: expected a finite number for the weight/,
    ),
  );
  test(
    'words where ids stay',
    one('1,2\n3,x\n', { noRemapIds: true }, FormatError, /e\.csv:2: expected a whole number .*"x"/),
  );
  test(
    'negative ids where they stay',
    one('1,2\n-3,4\n', { noRemapIds: true }, FormatError, /e\.csv:2: .*got "-3"/),
  );
  test(
    'ids beyond the number of nodes',
    one(
      '1,2\n3,4\n',
      { noRemapIds: true, numNodes: 4 },
      FormatError,
      /e\.csv:2: expected a number from 0 to 3/,
    ),
  );
  test(
    'relations that are words where ids stay',
    one(
      '0,1,0\n1,x,0\n',
      { noRemapIds: true },
      FormatError,
      /e\.csv:2: expected a whole number for the type/,
    ),
  );
  test('no file', () =>
    expectFailure({}, { edges: 'nowhere.tsv' }, StorageError, /nowhere\.tsv, which does not exist/));
  test('a file that is not Parquet', () =>
    expectFailure(
      { 'x.parquet': 'no' },
      { edges: 'x.parquet' },
      FormatError,
      /x\.parquet: expected a table/,
    ));
  test('a null in a table has its row', () =>
    expectFailure(
      {},
      { query: "SELECT * FROM (VALUES ('a', 'b'), ('c', NULL)) t(s, d)" },
      FormatError,
      /query 1, row 2: expected a name for the target id, got ""/,
    ));
  test('an infinite weight in a table', () =>
    expectFailure(
      {},
      { query: "SELECT 'a' AS s, 'b' AS d, 'inf'::DOUBLE AS w", source: 's', target: 'd', edgeWeight: 'w' },
      FormatError,
      /query 1, row 1: expected a finite number for the weight, got "inf"/,
    ));
  test('SQL that does not run', () =>
    expectFailure({}, { query: 'SELEC 1' }, ValueError, /a query that DuckDB runs for query 1/));
  test('the second split at fault', () =>
    expectFailure(
      { 'a.csv': 'a,b\n', 'b.csv': 'c,d\ne\n' },
      { edges: ['a.csv', 'b.csv'] },
      FormatError,
      /b\.csv:2: expected 2 columns/,
    ));
  test(
    'more partitions than nodes',
    one('a,b\n', { partitions: 3 }, ValueError, /at most one partition per node \(2\)/),
  );
});

describe('options', () => {
  const cases: [string, object, RegExp][] = [
    ['shares that do not add up', { split: [0.9, 0.2] }, /add up to 1 for split, got "0.9 \+ 0.2 = 1.1/],
    ['one share', { split: [1] }, /2 or 3 fractions/],
    ['a negative share', { split: [1.5, -0.5] }, /a fraction of split/],
    ['shares of several files', { edges: ['e.csv', 'e.csv'], split: [0.5, 0.5] }, /one edge file to split/],
    ['four files', { edges: ['e.csv', 'e.csv', 'e.csv', 'e.csv'] }, /1, 2 or 3 entries/],
    ['no input', { edges: undefined }, /either files or queries/],
    ['both inputs', { query: 'SELECT 1' }, /either files or queries/],
    ['no partitions', { partitions: 0 }, /from 1 to 32768 for partitions/],
    ['an unknown option', { partition: 2 }, /one of outputDir, .* for an option, got "partition"/],
    ['too little memory', { memoryLimit: 1000 }, /of at least 268435456 for memoryLimit/],
    [
      'training nodes first of ids that stay',
      { noRemapIds: true, sequentialTrainNodes: true },
      /sequentialTrainNodes/,
    ],
    ['parts of nodes and of edges', { split: [0.5, 0.5], trainNodes: 'e.csv' }, /all edges in training/],
    ['validation nodes alone', { validNodes: 'e.csv' }, /a file for trainNodes/],
  ];
  test.each(cases)('%s', async (_, options, message) => {
    await expectFailure({ 'e.csv': 'a,b\n' }, { edges: 'e.csv', ...options }, ValueError, message);
  });
});

describe('nodes', () => {
  const files = { 'e.csv': 'a,b\nb,c\n' };
  const cases: [string, string, object, RegExp][] = [
    ['a node without features', 'a,1\nb,2\n', { nodeFeatures: 'n.csv' }, /none for 1 of 3, such as "c"/],
    ['features twice', 'a,1\nb,2\na,3\nc,4\n', { nodeFeatures: 'n.csv' }, /each node once, got "a" twice/],
    [
      'a feature that is not a number',
      'a,1\nb,x\nc,1\n',
      { nodeFeatures: 'n.csv' },
      /n\.csv:2: expected a finite number in column 1, got "x"/,
    ],
    ['ragged features', 'a,1\nb,1,2\n', { nodeFeatures: 'n.csv' }, /n\.csv:2: expected 2 columns, got 3/],
    ['classes without a class', 'a\n', { nodeLabels: 'n.csv' }, /an id and a class/],
    ['a node with two classes', 'a,1\na,2\n', { nodeLabels: 'n.csv' }, /each node once/],
    ['a node in two parts', 'a\n', { trainNodes: 'n.csv', testNodes: 'n.csv' }, /each node in one split/],
    ['an empty list', '', { nodes: 'n.csv' }, /an empty file/],
  ];
  test.each(cases)('%s', async (_, content, options, message) => {
    await expectFailure({ ...files, 'n.csv': content }, { edges: 'e.csv', ...options }, FormatError, message);
  });
});

describe('the child process', () => {
  test('errors come back as what they are, and the target is untouched', async () => {
    const path = join(folder, 'ragged.csv');
    await writeFile(path, 'a,b\nc\n');
    const outputDir = join(folder, 'child');
    const error = await preprocess({ edges: path, outputDir }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FormatError);
    expect((error as SkeinError).details).toMatchObject({ path, line: 2 });
    await mkdir(join(outputDir, 'edges'), { recursive: true });
    await expect(preprocess({ edges: path, outputDir })).rejects.toThrow(StorageError);
  });

  test('stopped by a signal: no answer, nothing left', async () => {
    const place = await mkdtemp(join(folder, 'stopped-'));
    const path = join(folder, 'many.csv');
    await writeFile(path, Array.from({ length: 200_000 }, (_, i) => `${i},${i * 2}\n`).join(''));
    const controller = new AbortController();
    const running = preprocess({ edges: path, outputDir: join(place, 'out') }, () => controller.abort(), {
      signal: controller.signal,
    });
    await expect(running).rejects.toThrow(/cancelled/);
    expect(await readdir(place)).toEqual([]);
  });
});
