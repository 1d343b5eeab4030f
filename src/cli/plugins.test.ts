/**
 * A model of a user's own on the command line: trained, resumed, evaluated and asked with `--plugin`; without it, or with
 * another file, rejected with an error that names it; never imported because a file or a run names it.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { openModel } from '../predict/index.js';
import { registerTemporalModel } from '../temporal/index.js';
import { findTemporalModel } from '../temporal/models/registry.js';
import { loadPlugins, openRun } from '../train/index.js';
import { loadRunConfig } from '../train/load-run-config.js';
import { readRecord } from '../train/run/run-record.js';
import { commands } from './commands/index.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const example = fileURLToPath(new URL('../../examples/temporal-plugin/taste.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'skein-plugins-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const events = join(folder, 'events.csv');
writeFileSync(
  events,
  `user,item,time\n${Array.from({ length: 120 }, (_, i) => `u${i % 7},i${(i * i) % 5},${i}\n`).join('')}`,
);

const printed = captureOutput();

/** The example under a separate name, with another kind, so that tests do not share a registry entry. */
function plugin(kind: string): { readonly module: string; readonly config: string; readonly at: string } {
  const [module, config, at] = [`${kind}.mjs`, `${kind}.yaml`, `runs-${kind}`].map((name) =>
    join(folder, name),
  );
  writeFileSync(module, readFileSync(example, 'utf8').replace("'taste'", `'${kind}'`));
  writeFileSync(
    config,
    `dataset: { path: ${events} }\nmodel: { kind: ${kind}, dim_out: 4 }\ntrain: { epoch: 2, batch_size: 10, lr: 0.05 }\nstorage: { model_dir: ${at} }\n`,
  );
  return { module, config, at };
}

/** Forgets what a plugin registered, as another process would not know it. */
async function forget(module: string): Promise<void> {
  const text = readFileSync(module, 'utf8');
  writeFileSync(module, 'export default () => {};');
  await expect(loadPlugins([module])).rejects.toThrow(/registers none/);
  writeFileSync(module, text);
}

test('a plugin is trained, resumed, evaluated, described and asked', async () => {
  const { module, config, at } = plugin('taste_one');
  expect(await run(['train', config, '--plugin', module, '--train.epoch=1'])).toBe(0);
  const resumed = ['train', config, '--plugin', module, '--training.resume_training=true', '--json'];
  expect(await run(resumed)).toBe(0);
  const done = JSON.parse(printed.out.trim().split('\n').at(-1) as string) as Record<string, unknown>;
  expect(done).toMatchObject({ event: 'done', epochs: 2 });
  const { identity } = await readRecord(at);
  expect(identity).toMatchObject({
    plugins: [{ path: module, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  });
  expect(JSON.parse(identity['model'] as string)).toEqual({ model: { kind: 'taste_one', dim_out: 4 } });

  await forget(module);
  expect(findTemporalModel('taste_one')).toBeUndefined();
  printed.clear();
  expect(await run(['info', at])).toBe(0);
  expect(printed.out).toContain('taste_one, dim_out 4');
  for (const command of [
    ['eval', at],
    ['train', at, '--training.resume_training=true'],
    ['serve', at],
  ]) {
    printed.err = '';
    expect(await run(command)).not.toBe(0);
    expect(printed.err).toMatch(
      new RegExp(
        `${command[0]}: expected --plugin ${module} \\(sha256 [0-9a-f]{64}\\) for model.kind taste_one`,
      ),
    );
  }
  expect(findTemporalModel('taste_one')).toBeUndefined();

  printed.out = '';
  expect(await run(['eval', at, '--plugin', module, '--json'])).toBe(0);
  const evaluated = JSON.parse(printed.out.trim().split('\n').at(-1) as string) as Record<string, unknown>;
  expect(evaluated['test.ap']).toBe(done['test.ap']);
  const model = await openModel(at, { plugins: [module] });
  const [best] = await model.rank([{ head: 'u3' }], { k: 2 });
  expect(best).toHaveLength(2);
  await model.append([{ head: 'u3', tail: 'i4', time: 500 }]);
  const pairs = join(folder, 'pairs.csv');
  writeFileSync(pairs, 'u1,i1\nu2,i4\n');
  expect(await run(['predict', at, '--plugin', module, '--input-file', pairs, '--output-dir', folder])).toBe(
    0,
  );
  expect(readFileSync(join(folder, 'scores.csv'), 'utf8').split('\n')).toHaveLength(4);
});

test('a plugin does not decide how a command ends', async () => {
  const { module, config } = plugin('taste_seven');
  writeFileSync(module, `${readFileSync(module, 'utf8')}process.exitCode = 7;\n`);
  expect(await run(['train', config, '--plugin', module, '--train.epoch=1'])).toBe(0);
  expect(process.exitCode).toBeUndefined();
  await forget(module);
});

test('another file under the same name is rejected, and a copy elsewhere is as good', async () => {
  const { module, config, at } = plugin('taste_two');
  expect(await run(['train', config, '--plugin', module, '--train.epoch=1'])).toBe(0);
  await forget(module);
  const copy = join(folder, 'copy.mjs');
  copyFileSync(module, copy);
  await (await openRun(at, { plugins: [copy] })).close();
  await forget(copy);
  writeFileSync(module, `${readFileSync(module, 'utf8')}// changed\n`);
  await expect(openRun(at, { plugins: [module], command: 'eval' })).rejects.toThrow(
    /eval: expected the plugin that the run was trained with \(.*taste_two\.mjs, sha256 [0-9a-f]{64}\), got .* train a new run/,
  );
  // By the directory of the run, and by a file that says nothing of plugins.
  for (const target of [at, config]) {
    printed.err = '';
    expect(await run(['train', target, '--plugin', module, '--training.resume_training=true'])).not.toBe(0);
    expect(printed.err).toContain('expected the plugin that the run was trained with');
  }
});

describe('rejected:', () => {
  const started = async (text: string, message: RegExp): Promise<void> => {
    const { config, at } = plugin('taste_three');
    const module = join(folder, `wrong-${Math.abs(text.length)}.mjs`);
    writeFileSync(module, text);
    expect(await run(['train', config, '--plugin', module])).toBe(2);
    expect(printed.err).toMatch(message);
    expect(existsSync(at)).toBe(false);
  };
  test.each<[string, string, RegExp]>([
    [
      'a module that registers nothing',
      'export default () => undefined;',
      /registers a type or a kind of model, got .* registers none/,
    ],
    [
      'a default export that is not a function',
      'export default 3;',
      /a function for the default export of .*, got 3/,
    ],
    ['text that is not a module', 'export default (', /expected a module for --plugin, got .*\.mjs: /],
    [
      'a kind that is built in',
      "export default ({ registerTemporalModel }) => registerTemporalModel({ kind: 'tgcn', doc: 'taken', settings: {}, make() {} });",
      /a name that is not taken for kind, got "tgcn"/,
    ],
    [
      'a name with another spelling',
      "export default ({ registerTemporalModel }) => registerTemporalModel({ kind: 'My model' });",
      /a name of small letters, digits and _ for kind/,
    ],
    [
      'a default export that throws',
      "export default () => {\n  throw new TypeError('no such thing');\n};",
      /^skein: train: expected a plugin that runs, got .*\.mjs, which fails in line 2: no such thing\n$/,
    ],
    [
      'a default export that rejects with something other than an error',
      "export default () => Promise.reject('no luck');",
      /^skein: train: expected a plugin that runs, got .*\.mjs, which fails: no luck\n$/,
    ],
  ])('%s', async (_, text, message) => started(text, message));

  test('a file that is not there', async () => {
    const { config } = plugin('taste_four');
    expect(await run(['train', config, '--plugin', join(folder, 'nowhere.mjs')])).toBe(2);
    expect(printed.err).toMatch(/expected a readable module for --plugin, got .*nowhere\.mjs \(ENOENT\)/);
  });

  test('a configuration whose kind nothing registered, whatever it says of plugins', async () => {
    const { module, config } = plugin('quite_other');
    expect(await run(['train', config])).toBe(2);
    expect(printed.err).toContain('with --plugin, or with registerTemporalModel');
    writeFileSync(config, `${readFileSync(config, 'utf8')}plugins: [{ path: ${module}, sha256: abc }]\n`);
    printed.err = '';
    expect(await run(['train', config])).not.toBe(0);
    expect(printed.err).toMatch(
      /train: expected --plugin .*quite_other\.mjs \(sha256 abc\) for model\.kind quite_other/,
    );
    expect(findTemporalModel('quite_other')).toBeUndefined();
  });
});

test('a program registers a kind without a module', async () => {
  const base = findTemporalModel('edge_bank');
  const remove = registerTemporalModel({ ...(base as NonNullable<typeof base>), kind: 'own_bank' });
  const file = join(folder, 'own.yaml');
  writeFileSync(
    file,
    `dataset: { path: ${events} }\nmodel: own_bank\nstorage: { model_dir: ${join(folder, 'own')} }\n`,
  );
  expect(await run(['train', file])).toBe(0);
  expect(loadRunConfig(join(folder, 'own', 'full_config.yaml')).config).toMatchObject({ plugins: [] });
  remove();
  await expect(openRun(join(folder, 'own'))).rejects.toThrow(/model\.kind, got "own_bank"/);
});

test('docs/extending.md lists the commands that take --plugin', () => {
  const program = new Command().enablePositionalOptions();
  for (const register of commands) register(program);
  const takers = program.commands
    .filter(({ options }) => options.some(({ long }) => long === '--plugin'))
    .map((command) => command.name());
  const page = readFileSync(new URL('../../docs/extending.md', import.meta.url), 'utf8');
  const sentence = /^`config`, (?:[^.]|\.\S)*?take\s+`--plugin`/m.exec(page)?.[0] ?? '';
  const listed = [...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(listed.sort()).toEqual(takers.sort());
});
