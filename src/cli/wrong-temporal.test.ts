/** Invalid temporal runs: exit code 2, the key or the line, what was expected, the fix. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-wrong-temporal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
function write(text: string, ending: string): string {
  const path = join(folder, `f${files++}.${ending}`);
  writeFileSync(path, text);
  return path;
}

const jodieHeader = 'user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n';
const rows = Array.from({ length: 40 }, (_, i) => `${i % 5},${i % 4},${i},0,0.5,${i / 40}\n`);
const events = write(jodieHeader + rows.join(''), 'csv');

/** A good file; `lines` of it are replaced. The dataset stands on line 5, storage on line 6. */
const model = (path: string): string[] => [
  'sampling: [{ layer: 1, neighbor: [4], strategy: recent }]',
  'memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: gru, mailbox_size: 1 }]',
  'gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8 }]',
  'train: [{ epoch: 1, batch_size: 8, lr: 0.01 }]',
  `dataset: { path: ${path} }`,
  `storage: { model_dir: ${join(folder, `run${files}`)} }`,
];

const printed = captureOutput();

/** Trains a file; expects code 2, no run, and gives the message. */
async function expectFailure(
  lines: readonly string[],
  overrides: readonly string[] = [],
): Promise<[string, string]> {
  const file = write(`${lines.join('\n')}\n`, 'yaml');
  const code = await run(['train', file, ...overrides.map((text) => `--${text}`)]);
  expect({ code, out: printed.out }).toEqual({ code: 2, out: '' });
  expect(printed.err).not.toMatch(/^ {4}at /m);
  const directory = /model_dir: (.*) \}/.exec(lines.join('\n'))?.[1];
  if (directory !== undefined) expect(existsSync(directory)).toBe(false);
  return [printed.err, file];
}

/** One line of the file changed: the message names the file and this line. */
describe('in the file', () => {
  test.each<[string, number, (line: string) => string, RegExp[]]>([
    [
      'sampling: misspelt key',
      0,
      (l) => l.replace('neighbor', 'neighbour'),
      [/sampling\.neighbour/, /Did you mean sampling\.neighbor\?/],
    ],
    [
      'sampling: weights that a stream does not have',
      0,
      (l) => l.replace('recent', 'weighted'),
      [/sampling\.strategy: expected recent, uniform or identity, got weighted/, /TemporalNeighborSampler/],
    ],
    [
      'memory: misspelt key',
      1,
      (l) => l.replace('dim_time', 'dim_tme'),
      [/memory\.dim_tme/, /Did you mean memory\.dim_time\?/],
    ],
    [
      'gnn: misspelt key',
      2,
      (l) => l.replace('att_head', 'att_heads'),
      [/gnn\.att_heads/, /Did you mean gnn\.att_head\?/],
    ],
    [
      'train: misspelt key',
      3,
      (l) => l.replace('epoch', 'epochs'),
      [/train\.epochs/, /Did you mean train\.epoch\?/],
    ],
    [
      'dataset: misspelt key',
      4,
      (l) => l.replace('path', 'pth'),
      [/dataset\.pth/, /Did you mean dataset\.path\?/],
    ],
    [
      'storage: misspelt key',
      5,
      (l) => l.replace('}', ', log_levl: info }'),
      [/storage\.log_levl/, /Did you mean storage\.log_level\?/],
    ],
    [
      'misspelt section',
      5,
      () => 'evalation: { amount: 3 }',
      [/a known section, got evalation/, /Did you mean evaluation\?/],
    ],
    ['misspelt section of TGL', 3, () => 'tran: [{ epoch: 1 }]', [/got tran/, /Did you mean train\?/]],
    [
      'a word for a number',
      3,
      (l) => l.replace('8', 'many'),
      [/a whole number of at least 1 for train\.batch_size, got "many"/],
    ],
    [
      'a fraction for a whole number',
      3,
      (l) => l.replace('epoch: 1', 'epoch: 1.5'),
      [/train\.epoch/, /a whole number/],
    ],
    [
      'no epochs',
      3,
      (l) => l.replace('epoch: 1', 'epoch: 0'),
      [/expected a whole number of at least 1 for train\.epoch, got 0/],
    ],
    [
      'an invalid rate',
      3,
      (l) => l.replace('0.01', '.nan'),
      [/a number of at least 0 for train\.lr, got NaN/],
    ],
    ['dropout of all', 3, (l) => l.replace('}', ', dropout: 1.5 }'), [/train\.dropout/, /from 0 to 1/]],
    [
      'chunks that do not divide the batch',
      3,
      (l) => l.replace('}', ', reorder: 3 }'),
      [/train\.reorder: expected a divisor of batch_size 8, got 3/],
    ],
    [
      'a number for a flag',
      0,
      (l) => l.replace('}', ', prop_time: 1 }'),
      [/true or false for sampling\.prop_time, got 1/],
    ],
    [
      'an unknown strategy',
      0,
      (l) => l.replace('recent', 'newest'),
      [/sampling\.strategy/, /one of recent, uniform/],
    ],
    [
      'fan-outs that do not match layers',
      0,
      (l) => l.replace('[4]', '[4, 4]'),
      [/sampling\.neighbor: expected 1 fan-outs/],
    ],
    [
      'a fan-out of 0',
      0,
      (l) => l.replace('[4]', '[0]'),
      [/a whole number of at least 1 for sampling\.neighbor\[0\], got 0/],
    ],
    [
      'layers of model and sampling differ',
      2,
      (l) => l.replace('layer: 1', 'layer: 2'),
      [/gnn\.layer: expected 1 as in sampling\.layer, got 2/],
    ],
    [
      'heads that do not divide',
      2,
      (l) => l.replace('att_head: 2', 'att_head: 3'),
      [/gnn\.att_head: expected a divisor of dim_out 8, got 3/],
    ],
    [
      'an unknown architecture',
      2,
      (l) => l.replace('transformer_attention', 'gat'),
      [/gnn\.arch/, /one of transformer_attention, identity/],
    ],
    [
      'an unknown updater',
      1,
      (l) => l.replace('gru', 'lstm'),
      [/memory\.memory_update/, /one of gru, rnn, transformer, identity/],
    ],
    [
      'many mails for a GRU',
      1,
      (l) => l.replace('mailbox_size: 1', 'mailbox_size: 4'),
      [/memory\.mailbox_size: expected 1 for memory_update gru/],
    ],
    [
      'memory without width',
      1,
      (l) => l.replace('dim_out: 8, ', ''),
      [/memory\.dim_out: expected a width of at least 1/],
    ],
    [
      'two maps in a section',
      1,
      (l) => `${l.slice(0, -1)}, { type: none }]`,
      [/expected a section with keys such as type, dim_out, dim_time for memory/],
    ],
    ['a word for a section', 4, () => 'training: often', [/training/, /a section/]],
  ])('%s', async (_name, at, change, messages) => {
    const lines = model(events);
    lines[at] = change(lines[at]);
    const [message, file] = await expectFailure(lines);
    for (const part of messages) expect(message).toMatch(part);
    // What is missing has no line of its own.
    if (!message.includes('memory.dim_out')) expect(message).toContain(`${file}:${at + 1}: `);
  });
});

describe('by overrides', () => {
  test.each<[string, string[], RegExp[]]>([
    [
      'training: misspelt key',
      ['training.patients=3'],
      [/training\.patients/, /Did you mean training\.patience\?/],
    ],
    [
      'evaluation: misspelt key',
      ['evaluation.amout=3'],
      [/evaluation\.amout/, /Did you mean evaluation\.amount\?/],
    ],
    [
      'checkpoint: misspelt key',
      ['training.checkpoint.minute=3'],
      [/training\.checkpoint\.minute\b/, /Did you mean training\.checkpoint\.minutes\?/],
    ],
    ['a share above 1', ['dataset.train_share=1.5'], [/dataset\.train_share/, /got 1\.5/]],
    [
      'shares of more than all',
      ['dataset.train_share=0.9', 'dataset.validation_share=0.3'],
      [/dataset\.validation_share/, /at most 0\.1/, /got 0\.3/],
    ],
    ['an unknown format', ['dataset.format=xls'], [/dataset\.format/, /jodie, tgn, tgl, snap|jodie/]],
    ['unknown negatives', ['evaluation.negatives=hard'], [/evaluation\.negatives/, /historical/]],
    ['a negative seed', ['training.random_seed=-1'], [/training\.random_seed/, /got -1/]],
    ['no negatives', ['training.negatives=0'], [/training\.negatives/, /at least 1/]],
    [
      'name and path of a dataset',
      ['dataset.name=wikipedia'],
      [/expected a name, a path or a query for dataset, got several/, /Write dataset: wikipedia/],
    ],
    [
      'neither name nor path',
      ["dataset.path=''"],
      [/expected a name, a path or a query for dataset, got none/],
    ],
    ['an unknown dataset', ["dataset.path=''", 'dataset.name=wikipedai'], [/wikipedai/, /wikipedia/]],
    [
      'no run to resume',
      ['storage.model_dir=null', 'training.resume_training=true'],
      [/storage\.model_dir/, /name the directory of the run/],
    ],
    ['nothing to train on', ['dataset.new_node_share=0.99'], [/train_share|events to train on/]],
  ])('%s', async (_name, overrides, messages) => {
    const [message] = await expectFailure(model(events), overrides);
    for (const part of messages) expect(message).toMatch(part);
  });
});

test('all problems are reported together', async () => {
  const lines = model(events);
  lines[0] = lines[0].replace('neighbor', 'neighbour');
  lines[3] = lines[3].replace('epoch', 'epochs');
  lines[4] = lines[4].replace('path', 'pth');
  const [message, file] = await expectFailure(lines);
  expect(message).toMatch(/\d problems/);
  for (const line of [1, 4, 5]) expect(message).toContain(`${file}:${line}: `);
});

describe('events', () => {
  const broken = (row: number, text: string): string => jodieHeader + rows.with(row, text).join('');
  test.each<[string, string, string, RegExp]>([
    ['times that go back', broken(20, '0,0,3,0,0.5,1\n'), 'csv', /:22: .*(time 3 after 19|order)/],
    ['a time that is not a number', broken(20, '0,0,nan,0,0.5,1\n'), 'csv', /:22: .*nan/],
    ['a time without end', broken(20, '0,0,inf,0,0.5,1\n'), 'csv', /:22: .*inf/],
    ['no time', broken(20, '0,0,,0,0.5,1\n'), 'csv', /:22: /],
    ['too many features', broken(20, '0,0,20,0,0.5,1,7\n'), 'csv', /:22: .*(2|4|6)/],
    ['too few features', broken(20, '0,0,20,0,0.5\n'), 'csv', /:22: /],
    ['a feature that is not a number', broken(20, '0,0,20,0,x,1\n'), 'csv', /:22: .*x/],
    ['a negative id', broken(20, '-1,0,20,0,0.5,1\n'), 'csv', /:22: .*-1/],
    ['a fractional id', broken(20, '1.5,0,20,0,0.5,1\n'), 'csv', /:22: .*1\.5/],
    ['an id beyond 32 bits', broken(20, '99999999999,0,20,0,0.5,1\n'), 'csv', /:22: .*99999999999/],
    ['a row that ends early', broken(20, '1,2\n'), 'csv', /:22: /],
    ['SNAP: a missing time', '0 1 1\n1 2\n2 0 3\n', 'txt', /:2: /],
    ['SNAP: times that go back', '0 1 5\n1 2 4\n2 0 6\n', 'txt', /:2: .*time 4 after 5/],
  ])('%s', async (_name, text, ending, message) => {
    const path = write(text, ending);
    const [told] = await expectFailure(model(path));
    expect(told).toContain(path);
    expect(told).toMatch(message);
  });

  test('a missing file, and an empty one', async () => {
    const [missing] = await expectFailure(model(join(folder, 'nothing.csv')));
    expect(missing).toContain('nothing.csv');
    printed.err = '';
    const empty = write('', 'csv');
    const [told] = await expectFailure(model(empty));
    expect(told).toContain(empty);
  });

  test('a header alone is not a stream to train on', async () => {
    const [told] = await expectFailure(model(write(jodieHeader, 'csv')));
    expect(told).toMatch(/events/);
  });

  test('unsorted times are sorted on request; times before 0 are as good as others', async () => {
    const back = rows
      .toReversed()
      .map((row) => row.replace(/^(\d+),(\d+),(\d+)/, (_, u, i, t) => `${u},${i},${t - 20}`));
    const file = write(`${model(write(jodieHeader + back.join(''), 'csv')).join('\n')}\n`, 'yaml');
    expect(await run(['train', file])).toBe(2);
    expect(printed.err).toMatch(/sort/);
    expect(await run(['train', file, '--dataset.sort=true', '--dataset.new_node_share=0'])).toBe(0);
  });
});
