/** Tables about nodes: categories, dates, missing values and classes, and new nodes encoded as those before. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset, type PreprocessOptions, preprocess } from 'skein/data';
import { FormatError, ValueError } from 'skein/util';
import { afterAll, describe, expect, test } from 'vitest';
import { readNewNodes } from '#internal/data/prepare/new-nodes.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-node-table-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function put(text: string): string {
  const path = join(folder, `${count++}.csv`);
  writeFileSync(path, text);
  return path;
}

const edges = put('source,target\na,b\nb,c\nc,d\nd,a\n');

async function prepare(
  table: string,
  options: Partial<PreprocessOptions> = {},
  notes: string[] = [],
): Promise<PreparedDataset> {
  const outputDir = join(folder, `out${count++}`);
  await preprocess({ inProcess: true, edges, nodeTable: put(table), ...options, outputDir }, undefined, {
    onNote: (note) => notes.push(note),
  });
  return PreparedDataset.open(outputDir, { verify: true });
}

/** Features of nodes by name. */
async function rows(data: PreparedDataset): Promise<Record<string, number[]>> {
  const names = await data.nodeNames();
  const file = data.featuresFile();
  const bytes = readFileSync(file?.path as string);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const width = file?.width ?? 0;
  return Object.fromEntries(
    Array.from({ length: names.size }, (_, id) => [
      names.nameOf(id),
      Array.from(values.subarray(id * width, (id + 1) * width), (value) => Math.round(value * 1e5) / 1e5),
    ]),
  );
}

const table = [
  'id,age,country,since,member,segment',
  'a,10,US,2020-01-01,yes,gold',
  'b,30,DE,2020-01-03,no,',
  'c,,US,2020-01-02,,basic',
  'd,20,,2020-01-02,yes,NA',
  '',
].join('\n');

describe('encoding', () => {
  test('numbers, categories, dates, booleans, missing values and classes', async () => {
    const notes: string[] = [];
    const data = await prepare(table, { labelColumn: 'segment' }, notes);
    // age is 20 ± 8.165, since day 2 ± 0.70711
    const [low, high] = [-1.22474, 1.22474];
    const [early, late] = [-1.41421, 1.41421];
    expect(await rows(data)).toEqual({
      a: [low, 0, 1, 0, 0, early, 1, 0],
      b: [high, 0, 0, 1, 0, late, 0, 0],
      c: [0, 1, 1, 0, 0, 0, 0, 1],
      d: [0, 0, 0, 0, 1, 0, 1, 0],
    });
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    expect(['a', 'b', 'c', 'd'].map((name) => labels[names.idOf(name) as number])).toEqual([0, -1, 1, -1]);
    expect((await data.classNames()).nameOf(1)).toBe('basic');
    expect(data.stats).toMatchObject({ node_feature_dim: 8, num_classes: 2 });
    expect(data.hasNodeSplits).toBe(true);
    expect(notes.join('\n')).toMatch(/nodes with a class are split .*--node-split/);
    expect(notes.join('\n')).toMatch(
      /8 features of age \(number \+ missing\), country \(2 values \+ missing\), since \(date\)/,
    );
  });

  test('the column of ids by its name, columns that are ignored, nodes without a row', async () => {
    const data = await prepare('note,x,node_id\nhello,1,a\nworld,3,b\n', { ignoreColumns: ['note'] });
    // Nodes c and d have no row: everything is missing, and x is missing nowhere in the table.
    expect(await rows(data)).toEqual({ a: [-1], b: [1], c: [0], d: [0] });
  });

  test('values that are all the same, and columns without a value', async () => {
    const data = await prepare('id,x,empty,word\na,5,,w\nb,5,,w\nc,5,,w\nd,5,,w\n');
    expect(Object.values(await rows(data))).toEqual(Array.from({ length: 4 }, () => [0, 1]));
  });

  test('numbers near the end of f32, and infinity as a word among words', async () => {
    const data = await prepare('id,x,word\na,3e38,inf\nb,-3e38,fan\n');
    expect(await rows(data)).toMatchObject({ a: [1, 1, 0], b: [-1, 0, 1] });
  });

  test('columns of one name are distinguished by their indices, in new tables too', async () => {
    const notes: string[] = [];
    const data = await prepare('id,x,x,x\na,,1,no\nb,,3,yes\n', { header: true }, notes);
    expect(await rows(data)).toEqual({ a: [-1, 0], b: [1, 1], c: [0, 0], d: [0, 0] });
    expect(notes.join('\n')).toContain('2 features of x (2) (number), x (3) (boolean)');
    const { features } = await readNewNodes(
      { features: put('id,x,x,x\ne,9,3,yes\n'), width: 2, header: true, encoding: await data.nodeEncoding() },
      { nodes: await data.nodeNames(), relations: null },
    );
    expect(Array.from(features)).toEqual([1, 1]);
  });

  test('without a class column nodes are not split, and nothing else changes', async () => {
    const data = await prepare(table, { ignoreColumns: ['segment'], split: [0.5, 0.5] });
    expect([data.hasNodeSplits, data.stats.num_test]).toEqual([false, 2]);
  });
});

describe('classes of a table', () => {
  const classes = async (cells: readonly string[], notes: string[] = []) => {
    const lines = ['a', 'b', 'c', 'd'].map((name, i) => `${name},${i},${cells[i]}`);
    const data = await prepare(`id,x,y\n${lines.join('\n')}\n`, { labelColumn: 'y' }, notes);
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    const called = await data.classNames();
    return {
      labels: ['a', 'b', 'c', 'd'].map((name) => labels[names.idOf(name) as number]),
      names: Array.from({ length: data.stats.num_classes }, (_, c) => called.nameOf(c)),
      mapped: existsSync(join(data.directory, 'nodes/label_mapping.txt')),
    };
  };

  test.each<[string, string[], number[], string[]]>([
    ['-1 and 1', ['1', '-1', '-1', '1'], [1, 0, 0, 1], ['-1', '1']],
    ['-1 and +1', ['+1', '-1', '', '1'], [1, 0, -1, 1], ['-1', '1']],
    ['large numbers', ['99998', '10115', '80331', '10115'], [2, 0, 1, 0], ['10115', '80331', '99998']],
    ['a number that is left out', ['0', '3', '1', '3'], [0, 2, 1, 2], ['0', '1', '3']],
    ['leading zeros', ['01067', '1067', '', '01067'], [0, 1, -1, 0], ['01067', '1067']],
    ['beyond 32 bits', ['5000000000', '7', '7', '7'], [1, 0, 0, 0], ['7', '5000000000']],
  ])('%s', async (_, cells, labels, names) => {
    expect(await classes(cells)).toEqual({ labels, names, mapped: true });
  });

  test('0 … C − 1 stay what they are; nodes without a class are counted', async () => {
    const notes: string[] = [];
    const found = await classes(['2', '0', '', '1'], notes);
    expect(found).toEqual({ labels: [2, 0, -1, 1], names: ['0', '1', '2'], mapped: false });
    expect(notes.join('\n')).toMatch(/\d\.csv: 1 of 4 nodes have no class/);
  });

  test('a file of labels keeps its numbers, -1 means no class there, and a note states that', async () => {
    const notes: string[] = [];
    const nodeLabels = put('a,-1\nb,1\nc,3\nd,-1\n');
    const data = await prepare('', { nodeTable: undefined as never, nodeLabels }, notes);
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    expect(['a', 'b', 'c', 'd'].map((name) => labels[names.idOf(name) as number])).toEqual([-1, 1, 3, -1]);
    expect(data.stats.num_classes).toBe(4);
    expect(notes).toContain(`${nodeLabels}: 2 of 4 nodes have no class (-1, an empty field or no row)`);
  });
});

describe('new nodes', () => {
  const read = async (text: string, newEdges?: string) => {
    const data = await prepare(table, { labelColumn: 'segment' });
    const notes: string[] = [];
    const found = await readNewNodes(
      {
        ...{ features: put(text), width: data.stats.node_feature_dim, encoding: await data.nodeEncoding() },
        ...{
          onNote: (note: string) => notes.push(note),
          ...(newEdges === undefined ? {} : { edges: put(newEdges) }),
        },
      },
      { nodes: await data.nodeNames(), relations: null },
    );
    return { ...found, data, notes };
  };

  test('are encoded as those of the table, in whatever order the columns are', async () => {
    const { features, names, data } = await read(
      'country,id,member,extra,since,age\nUS,a2,yes,?,2020-01-01,10\n,d2,yes,?,2020-01-02,20\n',
    );
    expect(names).toEqual(['a2', 'd2']);
    const bytes = readFileSync(data.featuresFile()?.path as string);
    const all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const nodes = await data.nodeNames();
    for (const [i, name] of ['a', 'd'].entries()) {
      const id = nodes.idOf(name) as number;
      expect(features.subarray(8 * i, 8 * i + 8)).toEqual(all.subarray(8 * id, 8 * id + 8));
    }
  });

  test('a value that was not there is all zeros, and is said; edges may have a header', async () => {
    const {
      features,
      edges: rowsOfEdges,
      notes,
    } = await read('id,age,country,since,member\nx,,FR,,\n', 'source,target\nx,a\nb,x\n');
    expect(Array.from(features)).toEqual([0, 1, 0, 0, 0, 0, 0, 1]);
    expect(rowsOfEdges.length).toBe(4);
    expect(notes.join('\n')).toMatch(/values of country .*: FR/);
  });

  test.each([
    [
      'columns that are missing are named',
      'id,age,member\nx,1,yes\n',
      /got none for country, since\. There are id, age, member/,
    ],
    [
      'a word where numbers were',
      'id,age,country,since,member\nx,old,US,,\n',
      /:2: expected a number in column "age".*got "old"/,
    ],
    [
      'an invalid date',
      'id,age,country,since,member\nx,1,US,soon,\n',
      /:2: expected an ISO 8601 date in column "since"/,
    ],
    [
      'a number that f32 does not hold',
      'id,age,country,since,member\nx,1,US,,\ny,1e300,US,,\n',
      /:3: expected a finite number within the range of f32 in column "age".*got "1e300"/,
    ],
    ['no nodes', 'id,age,country,since,member\n', /at least one node/],
    ['no id', 'id,age,country,since,member\n,1,US,,\n', /:2: expected an id in column "id"/],
  ])('%s', async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(FormatError);
    await expect(read(text)).rejects.toThrow(message);
  });

  test('plain features of new nodes are finite too', async () => {
    const data = await prepare('', {
      nodeTable: undefined as never,
      nodeFeatures: put('a,1\nb,2\nc,3\nd,4\n'),
    });
    const names = { nodes: await data.nodeNames(), relations: null };
    await expect(readNewNodes({ features: put('e,1\nf,1e300\n'), width: 1 }, names)).rejects.toThrow(
      /:2: expected an id and 1 numbers.*got "f,1e300"/,
    );
  });

  test('an encoding that was changed is rejected', async () => {
    const data = await prepare(table);
    const path = join(data.directory, 'nodes/encoding.json');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"US"', '"UK"'));
    await expect(PreparedDataset.open(data.directory).then((one) => one.nodeEncoding())).rejects.toThrow(
      /checksum/,
    );
  });
});

describe('errors and their advice', () => {
  const many = Array.from({ length: 300 }, (_, i) => `n${i},text ${i}`).join('\n');
  test.each<[string, string, Partial<PreprocessOptions>, RegExp]>([
    [
      'too many categories',
      `id,text\n${many}\n`,
      {},
      /at most 256 different values .* "text" .*--ignore-columns text/,
    ],
    [
      'a class column that is not there',
      table,
      { labelColumn: 'class' },
      /the columns id, age, .*--label-column\), got "class"/,
    ],
    [
      'a class column without a class',
      'id,x,y\na,1,\nb,2,\n',
      { labelColumn: 'y' },
      /expected classes in column "y", got empty cells only\. Set the class column/,
    ],
    ...['1e300', '-4e38', '1e400', '-inf'].map(
      (cell): [string, string, Partial<PreprocessOptions>, RegExp] => [
        `the number ${cell}`,
        `id,x,age\na,1,7\nb,2,\nc,3,${cell}\n`,
        {},
        new RegExp(`:4: expected a finite number within the range of f32 in column "age", got "${cell}"`),
      ],
    ),
    ['a node twice', 'id,x\na,1\na,2\n', {}, /:3: expected each node once, got "a" twice/],
    ['an empty id', 'id,x\na,1\n,2\n', {}, /:3: expected an id/],
  ])('%s', async (_, text, options, message) => {
    await expect(prepare(text, options)).rejects.toThrow(message);
  });

  test('options that need a table, or contradict it', async () => {
    const run = (options: Partial<PreprocessOptions>) =>
      preprocess({ edges, outputDir: join(folder, 'none'), inProcess: true, ...options });
    await expect(run({ labelColumn: 'x' })).rejects.toThrow(ValueError);
    await expect(run({ nodeTable: edges, nodeFeatures: edges })).rejects.toThrow(
      /either a table or features/,
    );
  });

  test('plain features say where tables go; plain classes may be missing', async () => {
    const run = (options: Partial<PreprocessOptions>) =>
      prepare('id,x\na,1\n', { nodeTable: undefined as never, ...options });
    for (const text of ['id,x,c\na,1,US\nb,2,DE\nc,3,US\nd,4,DE\n', 'id,x\na,1\nb,\nc,3\nd,4\n'])
      await expect(run({ nodeFeatures: put(text) })).rejects.toThrow(
        /:\d: expected a finite number .* use --node-table/,
      );
    const data = await run({ nodeLabels: put('id,segment\na,gold\nb,\nc,basic\n') });
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    expect(names.idOf('id')).toBeUndefined();
    expect(['a', 'b', 'c', 'd'].map((name) => labels[names.idOf(name) as number])).toEqual([0, -1, 1, -1]);
  });
});

describe('the type of the nodes of a table, where the graph has two', () => {
  const orders = put('customer,product\n0,0\n1,0\n2,1\n0,2\n');
  const people = 'id,age,segment\n0,20,a\n1,30,b\n2,40,a\n';

  function called(name: string, text: string): string {
    const directory = join(folder, String(count++));
    mkdirSync(directory);
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  }

  const open = (nodeTable: string, options: Partial<PreprocessOptions> = {}, notes: string[] = []) =>
    prepare('', { edges: orders, nodeTable, labelColumn: 'segment', ...options }, notes);

  async function classes(data: PreparedDataset): Promise<(string | null)[]> {
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    const known = await data.classNames();
    return ['customer:0', 'customer:1', 'customer:2', 'product:0', 'product:1', 'product:2'].map((name) => {
      const label = labels[names.idOf(name) as number];
      return label < 0 ? null : known.nameOf(label);
    });
  }

  test.each(['customers.csv', 'Customer.csv', 'dim_CUSTOMERS.2024.csv'])(
    'the name of the file %s decides',
    async (name) => {
      const notes: string[] = [];
      const path = called(name, people);
      expect(await classes(await open(path, {}, notes))).toEqual(['a', 'b', 'a', null, null, null]);
      expect(notes).toContain(
        `${path}: node type customer (detected from the file name; --node-table product=${path} to override)`,
      );
    },
  );

  test('a given type decides, whatever the names', async () => {
    const data = await open(called('customers.csv', people), { nodeTableType: 'product' });
    expect(await classes(data)).toEqual([null, null, null, 'a', 'b', 'a']);
    const wrong = open(called('customers.csv', people), { nodeTableType: 'shop' });
    await expect(wrong).rejects.toThrow(/expected customer or product for nodeTableType .*got "shop"/);
    await expect(prepare(people, { nodeTableType: 'customer' })).rejects.toThrow(
      /a graph with two node types/,
    );
  });

  test('ids that say their type, and a column after the other type, are taken as they are', async () => {
    const typed = await open(called('customers.csv', people.replaceAll(/^\d/gm, 'customer:$&')));
    expect(await classes(typed)).toEqual(['a', 'b', 'a', null, null, null]);
    const favourite = await open(called('customers.csv', 'product,id,segment\n9,0,a\n8,1,b\n'));
    expect(await classes(favourite)).toEqual(['a', 'b', null, null, null, null]);
  });

  test('nothing is guessed from other names, and both ways out are named', async () => {
    for (const name of ['people.csv', 'customer-products.csv'])
      await expect(open(called(name, people))).rejects.toThrow(
        /:2: expected the node type .* --node-table customer=.*\.csv, name the id column after one of them, or write/,
      );
  });

  test('new nodes are of the type of the table', async () => {
    const data = await open(called('customers.csv', people));
    const { names } = await readNewNodes(
      {
        features: put('id,age\n7,20\n'),
        width: data.stats.node_feature_dim,
        encoding: await data.nodeEncoding(),
      },
      { nodes: await data.nodeNames(), relations: null },
    );
    expect(names).toEqual(['customer:7']);
  });
});
