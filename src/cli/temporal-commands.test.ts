/** The commands on temporal runs: config, train, info, eval, predict, export, and errors. A small stream, in this process. */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { resumeCommand } from '../train/run/resume-advice.js';
import { Random } from '../util/philox.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-temporal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const [users, items, count] = [12, 8, 600];

/** A user mostly comes back to two of its items. */
function writeStream(path: string): void {
  const random = new Random(3);
  const lines = ['user_id,item_id,timestamp,state_label,comma_separated_list_of_features'];
  for (let i = 0; i < count; i++) {
    const user = random.nextInt(users);
    const item = random.nextFloat() < 0.9 ? (user + random.nextInt(2)) % items : random.nextInt(items);
    lines.push(`${user},${item},${(i * 1.5).toFixed(1)},${i % 2},${random.nextFloat().toFixed(3)}`);
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
}

const config = (memory: string): string => `
dataset: { path: ${at('events.csv')} }
sampling: [{ layer: 1, neighbor: [5], strategy: recent }]
memory: [{ ${memory} }]
gnn: [{ arch: transformer_attention, variant: tgn, layer: 1, att_head: 2, dim_time: 8, dim_out: 8, pair_depth: 16 }]
train: [{ epoch: 3, batch_size: 10, lr: 0.02 }]
`;

const printed = captureOutput();

async function last(...args: string[]): Promise<Readonly<Record<string, unknown>>> {
  printed.clear();
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  const event = JSON.parse(printed.out.trim().split('\n').at(-1) as string);
  expect(event.event).toBe('done');
  return event;
}

async function expectFailure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  return printed.err;
}

let trained: Readonly<Record<string, unknown>>;
beforeAll(async () => {
  writeStream(at('events.csv'));
  writeFileSync(at('tgn.yaml'), config('type: node, dim_out: 8, dim_time: 8'));
  writeFileSync(at('tgat.yaml'), config('type: none'));
  trained = await last('train', at('tgn.yaml'), `--storage.model_dir=${at('tgn')}`);
  await last('train', at('tgat.yaml'), `--storage.model_dir=${at('tgat')}`, '--train.epoch=1');
});

it('eval gives what training gave, bit for bit, by run and by configuration', async () => {
  for (const path of [at('tgn'), join(at('tgn'), 'best')]) {
    const evaluated = await last('eval', path);
    expect(evaluated['test']).toEqual(trained['test']);
    expect(evaluated['replayed']).toBe(false);
    expect(evaluated['test.ap']).toBeGreaterThan(0.6);
  }
  const named = await last('eval', at('tgn.yaml'), `--storage.model_dir=${at('tgn')}`);
  expect(named['test']).toEqual(trained['test']);
});

it('eval goes through earlier events when the state does not stand before the part', async () => {
  const evaluated = await last('eval', at('tgn'), '--set', 'validation');
  expect(evaluated['replayed']).toBe(true);
  expect(evaluated['validation.ap']).toBeGreaterThan(0.6);
  expect((await last('eval', join(at('tgn'), 'best'), '--set', 'validation'))['validation']).toEqual(
    evaluated['validation'],
  );
  expect((await last('eval', at('tgat'), '--set', 'validation'))['replayed']).toBe(false);
});

it('text for people counts in whole numbers, and ranks only among more than two', async () => {
  printed.out = '';
  expect(await run(['eval', at('tgn')])).toBe(0);
  expect(printed.out).toMatch(/^events \d+ {2}ap 0\.\d{4}/m);
  expect(printed.out).not.toMatch(/mrr|hits/);
  printed.out = '';
  expect(await run(['eval', at('tgn'), '--evaluation.amount=5'])).toBe(0);
  expect(printed.out).toMatch(/mrr 0\.\d+ .*hits@1 0\.\d+/);
  writeFileSync(at('one.csv'), '0,0,2000\n');
  printed.out = '';
  expect(await run(['predict', at('tgn'), '--input-file', at('one.csv'), '--output-dir', at('one')])).toBe(0);
  expect(printed.out).toMatch(/^1 pair scored, wrote/);
});

it('train warns of what has no effect and of parts without events', async () => {
  const warned = async (text: string, ...overrides: string[]): Promise<string> => {
    writeFileSync(at('few.txt'), text);
    const options = [`--dataset.path=${at('few.txt')}`, '--dataset.new_node_share=0', '--train.epoch=1'];
    const directory = join(folder, `few${Math.random()}`);
    printed.err = '';
    const code = await run([
      'train',
      at('tgn.yaml'),
      ...options,
      `--storage.model_dir=${directory}`,
      ...overrides,
    ]);
    expect(code).toBe(text.split('\n').length > 2 ? 0 : 2);
    return printed.err;
  };
  const idle = ['--memory.combine_node_feature=true', '--evaluation.negatives=all', '--evaluation.amount=4'];
  const warnings = await warned('0 1 1\n1 2 2\n2 0 3\n', ...idle);
  expect(warnings).toMatch(/memory\.combine_node_feature: has no effect, nodes have no features/);
  expect(warnings).toMatch(/evaluation\.amount: has no effect, evaluation\.negatives is all/);
  expect(await warned('0 1 1\n1 2 2\n')).toMatch(/none of the 2 events is in the validation split/);
  expect(await warned('0 1 1\n')).toMatch(/expected at least 2 events, .*got 1 in .*few\.txt/);
  expect(await warned('')).toMatch(/few\.txt/);
});

it('eval ranks against other negatives', async () => {
  const evaluated = await last(
    'eval',
    at('tgn'),
    '--evaluation.negatives=historical',
    '--evaluation.amount=3',
  );
  expect(evaluated).toMatchObject({ negatives: 'historical', amount: 3 });
  expect(evaluated['test.ap']).not.toBe(trained['test.ap']);
  expect(await expectFailure('eval', at('tgn'), '--evaluation.negatives=easy')).toMatch(/historical.*easy/);
});

it('info says what a run and a checkpoint are', async () => {
  const about = await last('info', at('tgn'));
  expect(about).toMatchObject({ kind: 'run', finished: true, epochs: 3, plannedEpochs: 3, nodes: 20 });
  expect(about['model']).toBe(
    'memory 8 (gru) → attention 8 over 5 recent neighbours → pairs of the last 16 events',
  );
  expect(about['metrics']).toMatchObject({ test: { ap: trained['test.ap'] } });
  expect(await last('info', join(at('tgn'), 'best'))).toMatchObject({ kind: 'checkpoint', name: 'best' });
});

it('predict scores pairs after the end of the stream', async () => {
  writeFileSync(at('pairs.csv'), '0,0,1000\n0,5,1000\n3,3,2000.5\n');
  const done = await last(
    'predict',
    at('tgn'),
    '--input-file',
    at('pairs.csv'),
    '--output-dir',
    at('scores'),
  );
  expect(done['items']).toBe(3);
  const rows = readFileSync(join(at('scores'), 'scores.csv'), 'utf8')
    .trim()
    .split('\n');
  expect(rows[0]).toBe('src,dst,time,score,logit');
  expect(rows[3]).toMatch(/^3,3,2000\.5,0\.\d+,/);
  // User 0 comes back to items 0 and 1.
  expect(Number(rows[1].split(',')[3])).toBeGreaterThan(Number(rows[2].split(',')[3]));
  writeFileSync(at('now.csv'), '0 0\n');
  await last('predict', at('tgn'), '--input-file', at('now.csv'), '--output-dir', at('now'));
  expect(readFileSync(join(at('now'), 'scores.csv'), 'utf8')).toMatch(/^src,dst,score,logit\n0,0,/);
});

it('predict names what it cannot score', async () => {
  const scored = (text: string): Promise<string> => {
    writeFileSync(at('bad.csv'), text);
    return expectFailure('predict', at('tgn'), '--input-file', at('bad.csv'), '--output-dir', at('bad'));
  };
  expect(await scored('0,0,5\n')).toMatch(/score: expected a time after 898.5/);
  expect(await scored('0,0,2000\n0,12,2000\n')).toMatch(
    /bad\.csv:2: expected a destination of the event file \(20 nodes, such as "0"\), got "12"/,
  );
  expect(await scored('0,0,soon\n')).toMatch(/bad\.csv:1: expected a time, got "soon"/);
  expect(existsSync(join(at('bad'), 'scores.csv'))).toBe(false);
  expect(await expectFailure('predict', at('tgn'))).toMatch(/expected --input-file.*skein eval/);
  writeFileSync(at('bad.csv'), '0,0,2000\n');
  expect(await expectFailure('predict', join(at('tgn'), 'best'), '--input-file', at('bad.csv'))).toMatch(
    /predict: expected the final state of a finished run/,
  );
});

it('train resumes a run by its directory, with its configuration', async () => {
  const directory = join(folder, 'a run');
  const small = ['--train.epoch=1', '--train.lr=0.01', `--storage.model_dir=${directory}`];
  await last('train', at('tgat.yaml'), ...small);
  const moved = join(folder, 'moved run');
  renameSync(directory, moved);
  const done = await last('train', moved, '--training.resume_training=true', '--train.epoch=2');
  expect(done).toMatchObject({ directory: moved, epochs: 2 });
  expect(readFileSync(join(moved, 'full_config.yaml'), 'utf8')).toMatch(/lr: 0\.01/);
  expect(readFileSync(join(moved, 'config.yaml'), 'utf8')).toBe(readFileSync(at('tgat.yaml'), 'utf8'));
  expect(await expectFailure('train', moved)).toMatch(/which has a finished run.*resume_training: true/);
  expect(await expectFailure('train', folder)).toMatch(/a configuration file or the directory of a run/);
  expect(resumeCommand(moved)).toBe(`npx skein train '${moved}' --training.resume_training=true`);
  expect(resumeCommand('/runs/a-1')).toBe('npx skein train /runs/a-1 --training.resume_training=true');
});

it('export writes the memory of every node; query says what to use', async () => {
  const done = await last('export', at('tgn'), '--output-dir', at('vectors'));
  expect(done['files']).toEqual([join(at('vectors'), 'memory.csv')]);
  expect(
    readFileSync(join(at('vectors'), 'memory.csv'), 'utf8')
      .trim()
      .split('\n').length,
  ).toBeGreaterThanOrEqual(20);
  const ids = readFileSync(join(at('vectors'), 'memory.csv'), 'utf8').match(/^(src|dst):\d+/gm);
  expect([ids?.length, ids?.[0], ids?.[12], ids?.at(-1)]).toEqual([20, 'src:0', 'dst:0', 'dst:7']);
  expect(await expectFailure('export', at('tgat'))).toMatch(/with memory.*memory\.type is set to none/);
  for (const [option, name] of [
    ['--what', 'encoded'],
    ['--tables', 'embeddings'],
  ])
    expect(await expectFailure('export', at('tgn'), option, name)).toMatch(
      new RegExp(
        `^.*export: expected memory for ${option}, got ${name}\\. The temporal run .* has no other table`,
      ),
    );
});

it('train and eval tell labels of events where asked to', async () => {
  const directory = at('labels');
  const options = ['--labels.epochs=2', '--train.epoch=1', `--storage.model_dir=${directory}`];
  const done = await last('train', at('tgat.yaml'), ...options);
  expect(done['test.label_auc']).toEqual(expect.any(Number));
  expect((await last('eval', directory))['test.label_auc']).toBe(done['test.label_auc']);
});

it('config prints a file that trains, and checks one', async () => {
  expect(await run(['config', at('events.csv')])).toBe(0);
  writeFileSync(at('template.yaml'), printed.out);
  expect(printed.out).toMatch(/# Skein configuration for a stream of events/);
  const small = ['--train.epoch=1', '--train.batch_size=50'];
  const done = await last('train', at('template.yaml'), ...small, `--storage.model_dir=${at('template')}`);
  expect(done['test.ap']).toBeGreaterThan(0.5);
  printed.out = '';
  expect(await run(['config', 'wikipedia'])).toBe(0);
  expect(printed.out).toMatch(/^ {2}name: wikipedia$/m);
  // A key of a temporal graph network chooses TGN's template; other kinds have the defaults of their record.
  for (const [key, kind] of [
    ['--gnn.dim_out=8', 'general'],
    ['--labels.epochs=2', 'general'],
    ['--model.kind=general', 'general'],
    ['--model.kind=graph_mixer', 'graph_mixer'],
  ]) {
    printed.out = '';
    expect(await run(['config', at('events.csv'), key])).toBe(0);
    const { model, train } = parse(printed.out);
    expect([model?.kind ?? model, train?.lr]).toEqual([kind, kind === 'general' ? 0.001 : undefined]);
  }
  printed.out = '';
  expect(await run(['config', at('tgn.yaml'), '--train.epoch=7'])).toBe(0);
  expect(printed.out).toMatch(/epoch: 7/);
  expect(printed.out).toMatch(/random_seed: 1/);
});
