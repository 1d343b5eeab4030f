/** Commands on a trained run: eval, query, predict, export, and errors. A tiny graph, in this process. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';
import { nodesConfig, writeRunFiles } from './testing/run-files.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-runs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const printed = captureOutput();

type Event = Readonly<Record<string, unknown>>;

/** Runs a command that must succeed; gives its events. */
async function events(...args: string[]): Promise<Event[]> {
  printed.clear();
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  return printed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

async function last(...args: string[]): Promise<Event> {
  const all = await events(...args);
  expect(all.at(-1)?.['event']).toBe('done');
  return all.at(-1) as Event;
}

/** Runs a command that must fail; returns its error. */
async function expectFailure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  expect(printed.out).toBe('');
  return printed.err;
}

let trained: Event;
let classified: Event;
let trainedBuffered: Event;
beforeAll(async () => {
  await writeRunFiles(folder);
  trained = await last('train', at('links.yaml'));
  trainedBuffered = await last('train', at('buffered.yaml'));
  classified = await last('train', at('nodes.yaml'), `--storage.model_dir=${at('classes')}`);
}, 240_000);

it('train writes what a memory budget decided into the log too', async () => {
  const given = [`--storage.model_dir=${at('planned')}`, '--training.num_epochs=1'];
  expect(await expectFailure('train', at('links.yaml'), ...given, '--storage.memory_budget=100M')).toMatch(
    /storage\.memory_budget: expected at least \d+M, got 100 MiB\. /,
  );
  await last('train', at('links.yaml'), ...given, '--storage.memory_budget=300M');
  expect(readFileSync(at('planned/log.txt'), 'utf8')).toMatch(
    /^\S+ info +table .* rows of .* bytes\n +everything fits in memory: .*\n +memory .* of 300 MiB: /m,
  );
});

it('train prints no more than a line of an epoch per second, and logs all', async () => {
  printed.clear();
  const given = [
    `--storage.model_dir=${at('quick')}`,
    '--training.num_epochs=30',
    '--training.logs_per_epoch=0',
  ];
  expect(await run(['train', at('links.yaml'), ...given, '--evaluation.epochs_per_eval=10'])).toBe(0);
  const epochs = (text: string): number[] =>
    Array.from(text.matchAll(/\bepoch (\d+) {2}loss/g), ([, number]) => Number(number));
  const shown = epochs(printed.out);
  expect(shown).toEqual(expect.arrayContaining([1, 10, 20, 30]));
  expect(shown.length).toBeLessThan(15);
  expect(printed.out).toMatch(/epoch 10 .*\nvalidation .*\n[\s\S]*epoch 30 .*\nvalidation .*\ntest /);
  expect(epochs(readFileSync(at('quick/log.txt'), 'utf8'))).toHaveLength(30);
});

it('train resumes a run by its directory, also one that started from a checkpoint', async () => {
  const from = [`--training.resume_from_checkpoint=${at('run')}`, '--training.num_epochs=1'];
  await last('train', at('links.yaml'), `--storage.model_dir=${at('more')}`, ...from);
  const resume = ['--training.resume_training=true', '--training.num_epochs=2'];
  expect(await last('train', at('more'), ...resume)).toMatchObject({ directory: at('more'), epochs: 6 });
  expect(readFileSync(join(at('more'), 'config.yaml'), 'utf8')).toBe(readFileSync(at('links.yaml'), 'utf8'));
  expect(await expectFailure('train', at('more'))).toMatch(/which has a finished run/);
});

describe('eval', () => {
  it('gives what training gave, from the run and from the configuration', async () => {
    const done = await last('eval', at('run'));
    expect(done['test']).toEqual(trained['test']);
    expect(done['test.mrr']).toBe(trained['test.mrr']);
    expect((await last('eval', at('links.yaml')))['test']).toEqual(trained['test']);
    expect((await last('eval', at('run'), '--set', 'validation'))['validation']).toEqual(
      trained['validation'],
    );
  });

  it('evaluates a checkpoint', async () => {
    const [direct, named] = [
      await last('eval', at('run/checkpoint_2')),
      await last('eval', at('links.yaml'), '--evaluation.checkpoint_dir=checkpoint_2'),
    ];
    expect(direct).toMatchObject({ epoch: 2, test: named['test'] as object });
    expect(direct['test.mrr']).not.toBe(trained['test.mrr']);
  });

  it('groups by direction and relation', async () => {
    const done = await last('eval', at('run'), '--by-relation');
    const sides = done['by_direction'] as Record<string, { mrr: number; count: number }>;
    expect(sides['tail'].count + sides['head'].count).toBe(100);
    expect((sides['tail'].mrr + sides['head'].mrr) / 2).toBeCloseTo(done['test.mrr'] as number, 12);
    const groups = Object.entries(done['by_relation'] as Record<string, { count: number }>);
    expect(groups.every(([name]) => /^r\d$/.test(name))).toBe(true);
    expect(groups.reduce((sum, [, { count }]) => sum + count, 0)).toBe(100);
  });

  it('rejects a path that is not a run, a damaged run, and an unknown split', async () => {
    expect(await expectFailure('eval', at('nothing'))).toMatch(
      /expected the directory of a run.*does not exist/,
    );
    expect(await expectFailure('eval', at('graph'))).toMatch(/no full_config\.yaml/);
    expect(await expectFailure('eval', at('run'), '--set', 'train')).toMatch(/expected test, validation/);
    mkdirSync(at('broken'));
    copyFileSync(at('run/full_config.yaml'), at('broken/full_config.yaml'));
    expect(await expectFailure('eval', at('broken'))).toMatch(/expected a model in/);
    const bytes = readFileSync(at('run/model.safetensors'));
    bytes[bytes.length - 5] ^= 1;
    writeFileSync(at('broken/model.safetensors'), bytes);
    expect(await expectFailure('eval', at('broken'))).toMatch(/broken\/model\.safetensors.*checksum/s);
    copyFileSync(at('run/model.safetensors'), at('broken/model.safetensors'));
    expect(await expectFailure('eval', at('broken'))).toMatch(/broken\/table/);
    cpSync(at('run/table'), at('broken/table'), { recursive: true });
    const partition = readdirSync(at('broken/table'))
      .filter((name) => name.startsWith('writable'))
      .sort()
      .at(-1);
    const path = at(`broken/table/${partition}`);
    const table = readFileSync(path);
    table[200] ^= 1;
    writeFileSync(path, table);
    expect(await expectFailure('eval', at('broken'))).toMatch(/checksum .*broken\/table\/writable/);
  });
});

interface Answer {
  readonly name: string;
  readonly score: number;
  readonly known?: boolean;
}

describe('query', () => {
  const answers = async (...args: string[]): Promise<Answer[]> =>
    (await last('query', ...args))['answers'] as Answer[];

  it('gives the best tails and heads, without known edges', async () => {
    const known = readFileSync(at('edges.tsv'), 'utf8').split('\n');
    const tails = await answers(at('run'), '--head', 'e5', '--relation', 'r2', '--top', '7');
    expect(tails.length).toBe(7);
    expect(tails.map(({ score }) => score)).toEqual(
      [...tails.map(({ score }) => score)].sort((a, b) => b - a),
    );
    for (const { name } of tails) expect(known).not.toContain(`e5\tr2\t${name}`);
    const question = ['--tail', 'e5', '--relation', 'r2', '--top', '200'];
    const heads = await answers(at('run'), ...question, '--all-candidates');
    for (const { name } of heads) expect(known).not.toContain(`${name}\tr2\te5`);
    const all = await answers(at('run'), ...question, '--include-known', '--all-candidates');
    expect(all.length).toBe(100);
    expect(all.filter((one) => !one.known && one.name !== 'e5').map((one) => one.name)).toEqual(
      heads.map((one) => one.name),
    );
    for (const one of all) expect(one.known).toBe(known.includes(`${one.name}\tr2\te5`));
    // Without the option: sources of training edges of the relation, in the same order.
    const seen = await answers(at('run'), ...question);
    expect(seen.length).toBeLessThan(heads.length);
    const names = seen.map(({ name }) => name);
    expect(heads.map(({ name }) => name).filter((name) => names.includes(name))).toEqual(names);
  });

  it('agrees with what the exported rows say', async () => {
    await last('export', at('run'), '--output-dir', at('tables'));
    const read = (name: string): Map<string, number[]> =>
      new Map(
        readFileSync(at(`tables/${name}.csv`), 'utf8')
          .trim()
          .split('\n')
          .slice(1)
          .map((line) => [line.split(',')[0], line.split(',').slice(1).map(Number)]),
      );
    const [nodes, inverse] = [read('embeddings'), read('inverse_relation_embeddings')];
    const score = (a: readonly number[], b: readonly number[]): number =>
      a.reduce((sum, x, j) => sum + x * b[j], 0);
    const row = (name: string): number[] => nodes.get(name) as number[];
    const query = row('e7').map((x, j) => x * (inverse.get('r1') as number[])[j]);
    const [head] = await answers(
      at('run'),
      '--tail',
      'e7',
      '--relation',
      'r1',
      '--top',
      '1',
      '--include-known',
    );
    const best = [...nodes].sort(([, a], [, b]) => score(query, b) - score(query, a))[0];
    expect(head.name).toBe(best[0]);
    expect(head.score).toBeCloseTo(score(query, best[1]), 4);
    const [near] = await answers(at('run'), '--neighbors', 'e7', '--top', '1');
    const cosine = (name: string): number =>
      score(row('e7'), row(name)) / Math.hypot(...row('e7')) / Math.hypot(...row(name));
    const others = [...nodes.keys()].filter((name) => name !== 'e7');
    expect(near.name).toBe(others.sort((a, b) => cosine(b) - cosine(a))[0]);
    expect(near.score).toBeCloseTo(cosine(near.name), 5);
  });

  it('reads a partitioned table partition by partition, to the same answers', async () => {
    const [first] = await answers(at('buffered'), '--head', 'e1', '--relation', 'r0', '--top', '1');
    await last('export', at('buffered'), '--output-dir', at('tables-p4'));
    expect(first.name).toMatch(/^e\d+$/);
    expect((await last('eval', at('buffered')))['test']).toEqual(trainedBuffered['test']);
  });

  it('names what it does not know, with the nearest names', async () => {
    expect(await expectFailure('query', at('run'), '--head', 'E12', '--relation', 'r2')).toMatch(
      /an entity of the graph for --head, got "E12"\. Did you mean e12/,
    );
    expect(await expectFailure('query', at('run'), '--head', 'e1', '--relation', 'x9')).toMatch(
      /a relation.*r9/,
    );
    expect(await expectFailure('query', at('run'), '--head', 'e1')).toMatch(/There are 10, for example r0/);
    expect(await expectFailure('query', at('run'))).toMatch(
      /one of --head, --tail, --neighbors, --classify and --questions, got none/,
    );
    expect(await expectFailure('query', at('run'), '--neighbors', 'e1', '--top', '0')).toMatch(/--top/);
  });
});

/** Rows of a CSV file, the titles first. */
function csv(path: string): string[][] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
}

describe('predict', () => {
  it('writes ranks and scores of the test set in both directions', async () => {
    const saved = ['--save-scores', '--save-ranks', '--output-dir', at('predicted')];
    const done = await last('predict', at('run'), ...saved, '--metrics', 'mrr', 'hits10', 'mean_rank');
    expect(done).toMatchObject({ items: 100, 'test.mrr': trained['test.mrr'] });
    const [titles, ...rows] = csv(at('predicted/scores.csv'));
    expect(titles).toEqual(['src', 'rel', 'dst', 'rank', 'score', 'direction']);
    expect(rows.length).toBe(100);
    const edges = readFileSync(at('edges.tsv'), 'utf8').split('\n');
    for (const row of rows) expect(edges).toContain(row.slice(0, 3).join('\t'));
    expect(rows.filter((row) => row[5] === 'tail').length).toBe(50);
    const mrr = rows.reduce((sum, row) => sum + 1 / Number(row[3]), 0) / 100;
    expect(mrr).toBeCloseTo(trained['test.mrr'] as number, 10);
    const text = readFileSync(at('predicted/metrics.txt'), 'utf8');
    expect(text).toMatch(/^mrr: [\d.]+\nhits@10: [\d.]+\nmr: [\d.]+\nitems evaluated: 100\n$/);
    expect(await expectFailure('predict', at('run'), '--metrics', 'foo')).toMatch(
      /predict: expected .*mrr.* for --metrics, got foo\./,
    );
  });

  it('scores new edges of a file by raw ids', async () => {
    writeFileSync(at('new.csv'), 'to,from,kind\ne1,e2,r3\ne50,e7,r0\n');
    const columns = ['--columns', 'from', 'kind', 'to', '--header-length', '1', '--output-dir', at('new')];
    const done = await last('predict', at('run'), '--input-file', at('new.csv'), ...columns, '--save-scores');
    // Candidates have one score and no metrics.
    expect(done['items']).toBe(2);
    expect(done).not.toHaveProperty('test.mrr');
    const rows = csv(at('new/scores.csv'));
    expect(rows[0].slice(0, 4)).toEqual(['src', 'rel', 'dst', 'score']);
    expect(rows.slice(1).map((row) => row.slice(0, 3).join(' '))).toEqual(['e2 r3 e1', 'e7 r0 e50']);
    const answers = (
      await last('query', at('run'), '--head', 'e7', '--relation', 'r0', '--top', '100', '--all-candidates')
    )['answers'] as Answer[];
    expect(Number(rows[2][3])).toBeCloseTo(answers.find(({ name }) => name === 'e50')?.score as number, 5);
    writeFileSync(at('wrong.tsv'), 'e1\tr1\te2\ne1\tr1\tmissing\nnone\tr1\te2\n');
    expect(await expectFailure('predict', at('run'), '--input-file', at('wrong.tsv'))).toMatch(
      /wrong\.tsv:2: expected an entity of the graph for the destination, got "missing"\.\n.*:3: .*"none"/,
    );
    const skipping = ['--input-file', at('wrong.tsv'), '--skip-unknown', '--output-dir', at('known')];
    expect(await last('predict', at('run'), ...skipping)).toMatchObject({ items: 1, skipped: 2 });
    expect(csv(at('known/scores.csv')).length).toBe(2);
    // Ranks are asked for, so the edges are taken as true.
    expect(await last('predict', at('run'), ...skipping, '--save-ranks')).toMatchObject({
      items: 2,
      'test.mrr': expect.any(Number),
    });
  });

  it('takes numbers of the prepared graph, and sampled negatives', async () => {
    writeFileSync(at('ids.bin'), new Uint8Array(Int32Array.of(1, 2, 3, 4, 5, 6).buffer));
    const file = ['--input-file', at('ids.bin'), '--input-format', 'binary', '--output-dir', at('ids')];
    expect(
      (await last('predict', at('run'), ...file, '--num-negs', '7', '--metrics', 'mr'))['test.mr'],
    ).toBeLessThan(8.1);
    writeFileSync(at('ids.bin'), new Uint8Array(Int32Array.of(1, 10, 3).buffer));
    expect(await expectFailure('predict', at('run'), ...file)).toMatch(/10 relations\), got 10 in row 0/);
  });

  it('writes labels of nodes by raw ids and classes', async () => {
    const done = await last('predict', at('classes'), '--save-labels', '--metrics', 'acc');
    expect(done['test.accuracy']).toBe(classified['test.accuracy']);
    const [titles, ...rows] = csv(at('classes/labels.csv'));
    expect(titles).toEqual(['id', 'y_pred', 'y_true', 'probability']);
    expect(rows.length).toBe(30);
    const right = new Map(csv(at('labels.csv')).map(([id, name]) => [id, name]));
    for (const [id, , label] of rows) expect(label).toBe(right.get(id));
    const hits = rows.filter(([, guess, label]) => guess === label).length;
    expect(hits / 30).toBeCloseTo(done['test.accuracy'] as number, 12);
    writeFileSync(at('some.txt'), 'n7\nn8\nn7\n');
    const some = ['--input-file', at('some.txt'), '--save-labels', '--output-dir', at('some')];
    expect((await last('predict', at('classes'), ...some))['items']).toBe(2);
    writeFileSync(at('some.txt'), 'n7\nnobody\n');
    expect(await last('predict', at('classes'), ...some, '--skip-unknown')).toMatchObject({ items: 1 });
  });

  it('classifies all nodes, with the probability of each class', async () => {
    const all = ['--nodes', 'all', '--save-probabilities', '--output-dir', at('all-nodes')];
    expect((await last('predict', at('classes'), ...all))['items']).toBe(100);
    const [titles, ...rows] = csv(at('all-nodes/labels.csv'));
    expect(titles.slice(4).sort()).toEqual(['p:blue', 'p:green', 'p:red']);
    for (const [, guess, , probability, ...each] of rows) {
      expect(each.reduce((sum, value) => sum + Number(value), 0)).toBeCloseTo(1, 4);
      expect(Math.max(...each.map(Number))).toBe(Number(probability));
      expect(Number(each[titles.indexOf(`p:${guess}`) - 4])).toBe(Number(probability));
    }
    expect(await expectFailure('predict', at('classes'), '--nodes', 'unlabelled')).toMatch(
      /nodes without a class for --nodes unlabelled, got none of 100/,
    );
    expect(await expectFailure('predict', at('classes'), '--nodes', 'some')).toMatch(/all or unlabelled/);
    expect(await expectFailure('predict', at('run'), '--nodes', 'all')).toMatch(
      /NODE_CLASSIFICATION for --nodes/,
    );
  });

  it('classifies nodes that were not there in training', async () => {
    // Copies of two nodes, with their features and edges: what holds for them holds for the copies.
    const edges = csv(at('node-edges.csv'));
    const copy = (id: string): string => (id === 'n4' || id === 'n5' ? `copy of ${id}` : id);
    const touched = edges.filter((edge) => edge.some((id) => copy(id) !== id));
    writeFileSync(at('copy-edges.csv'), touched.map((edge) => `${edge.map(copy).join(',')}\n`).join(''));
    const rows = csv(at('features.csv')).filter(([id]) => copy(id) !== id);
    const features = `id,a,b,c,d\n${rows.map(([id, ...x]) => `${[copy(id), ...x].join(',')}\n`).join('')}`;
    writeFileSync(at('copies.csv'), features);
    const added = ['--new-nodes', at('copies.csv'), '--new-edges', at('copy-edges.csv')];
    await last('predict', at('classes'), ...added, '--output-dir', at('copies'));
    writeFileSync(at('both.txt'), 'n4\nn5\n');
    await last(
      'predict',
      at('classes'),
      '--input-file',
      at('both.txt'),
      '--save-labels',
      '--output-dir',
      at('copies'),
    );
    const guessed = (name: string): string[][] =>
      csv(at(`copies/${name}`))
        .slice(1)
        .map(([id, guess]) => [id, guess]);
    expect(guessed('new_labels.csv')).toEqual(guessed('labels.csv').map(([id, guess]) => [copy(id), guess]));
    expect(await expectFailure('predict', at('run'), ...added)).toMatch(/trained embeddings of width 16/);
    expect(await expectFailure('predict', at('classes'), '--new-edges', at('copy-edges.csv'))).toMatch(
      /--new-nodes/,
    );
    writeFileSync(at('short.csv'), 'x,1,2\n');
    expect(await expectFailure('predict', at('classes'), '--new-nodes', at('short.csv'))).toMatch(
      /short\.csv:1: expected an id and 4 numbers/,
    );
    writeFileSync(at('short.csv'), 'n4,1,2,3,4\n');
    expect(await expectFailure('predict', at('classes'), '--new-nodes', at('short.csv'))).toMatch(
      /"n4" which the graph has/,
    );
  });
});

describe('encoded nodes', () => {
  it('are saved with the run, and computed on request', async () => {
    const saved = await events('export', at('classes'), '--what', 'encoded', '--output-dir', at('encoded-1'));
    expect(saved.at(-2)).toMatchObject({ table: 'encoded_nodes', rows: 100, width: 3 });
    rmSync(at('classes/encoded_nodes.bin'));
    await last('export', at('classes'), '--what', 'encoded', '--output-dir', at('encoded-2'));
    const text = readFileSync(at('encoded-1/encoded_nodes.csv'), 'utf8');
    expect(readFileSync(at('encoded-2/encoded_nodes.csv'), 'utf8')).toBe(text);
    expect(text).toMatch(/^n\d+,/m);
    expect(await expectFailure('export', at('classes'), '--what', 'encodings')).toMatch(
      /embeddings, encoded/,
    );
  });

  it('are given for new nodes of a link prediction model', async () => {
    writeFileSync(at('dot.yaml'), nodesConfig(folder, 'LINK_PREDICTION', 'DOT', 6));
    await last('train', at('dot.yaml'), `--storage.model_dir=${at('dot')}`, '--training.num_epochs=1');
    const added = ['--new-nodes', at('copies.csv'), '--new-edges', at('copy-edges.csv')];
    await last('predict', at('dot'), ...added, '--output-dir', at('copies'));
    await last('export', at('dot'), '--what', 'encoded');
    const encoded = new Map(csv(at('dot/encoded_nodes.csv')).map(([id, ...row]) => [id, row]));
    const rows = csv(at('copies/new_encoded_nodes.csv')).slice(1);
    expect(rows.map(([id]) => id)).toEqual(['copy of n4', 'copy of n5']);
    for (const [id, ...row] of rows)
      for (const [j, value] of row.entries())
        expect(Number(value)).toBeCloseTo(Number(encoded.get(id.slice(8))?.[j]), 5);
    // Edges of a copy score as those of the node that it copies; here by the product of the rows.
    writeFileSync(at('asked.csv'), 'copy of n4,n9\nn9,copy of n5\ncopy of n4,copy of n5\nn4,n9\n');
    const asked = ['--input-file', at('asked.csv'), '--output-dir', at('asked')];
    expect((await last('predict', at('dot'), ...added, ...asked))['items']).toBe(4);
    const scores = csv(at('asked/scores.csv')).slice(1);
    for (const [src, dst, score] of scores) {
      const [a, b] = [src, dst].map((id) => encoded.get(id.replace('copy of ', '')) as string[]);
      const product = a.reduce((sum, value, j) => sum + Number(value) * Number(b[j]), 0);
      expect(Number(score)).toBeCloseTo(product, 4);
    }
    expect(await expectFailure('predict', at('dot'), ...asked)).toMatch(/asked\.csv:1: .*"copy of n4"/);
    const near = await last('query', at('dot'), '--neighbors', 'n4', '--top', '3');
    expect((near['answers'] as Answer[]).length).toBe(3);
  });
});

it('recommend checks the model before the file', async () => {
  writeFileSync(at('taken.csv'), '');
  const refused = await expectFailure('recommend', at('classes'), '--output', at('taken.csv'));
  expect(refused).toMatch(/expected a run over links or events, got the run of nodes/);
  expect(await expectFailure('recommend', at('run'), '--output', at('taken.csv'))).toMatch(/--overwrite/);
});

it('train and search name a file that is not a configuration, and how to prepare data', async () => {
  writeFileSync(at('facts.csv'), `head,relation,tail\n${'ana,works in,data\n'.repeat(500)}`);
  for (const args of [['train'], ['search', '--space', 'kg']]) {
    const [command, ...more] = args;
    const refused = await expectFailure(command, at('facts.csv'), ...more);
    expect(refused).toMatch(
      /got a string in .*facts\.csv\. Prepare data with .* preprocess --edges .*facts\.csv /,
    );
    expect(refused.length).toBeLessThan(600);
  }
});

it('names a file that is neither a run nor a configuration', async () => {
  writeFileSync(at('facts.csv'), 'a,b\n');
  for (const command of ['query', 'eval'])
    expect(
      await expectFailure(command, at('facts.csv'), ...(command === 'query' ? ['--head', 'a'] : [])),
    ).toMatch(
      /: expected the directory of a run, a packed model \(\.tgz\) or a configuration \(\.yaml\), got the file .*facts\.csv\./,
    );
});
