import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { translate } from '../marius.js';
import { overrideOption, wholeNumber } from './options.js';
import { rewriteOverrides } from './rewrite-args.js';

/** Parses a line with a command that takes overrides; gives what it was called with. */
async function parse(...args: string[]): Promise<{ config: string; set: string[]; json?: boolean }> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  let got: unknown;
  const train = overrideOption(program.command('train').exitOverride().argument('<config>').option('--json'));
  train.configureOutput({ writeErr: () => undefined }).action((config, options) => {
    got = { config, ...options };
  });
  await program.parseAsync(rewriteOverrides(train, ['train', ...args]), { from: 'user' });
  return got as { config: string; set: string[] };
}

it('whole numbers are decimal', () => {
  expect(['0', '8080', '1e6', '5.0'].map(wholeNumber)).toEqual([0, 8080, 1e6, 5]);
  for (const text of ['', ' ', '0x50', '1.5', '-1', '1e-3', 'Infinity', '8 0'])
    expect(() => wholeNumber(text)).toThrow(/Expected a whole number of at least 0/);
});

describe('overrides on the command line', () => {
  it('reach the command in order, wherever they are', async () => {
    const got = await parse(
      '--training.num_epochs=5',
      'a.yaml',
      '--json',
      '--model.encoder.layers[0][0].output_dim=8',
    );
    expect(got).toMatchObject({ config: 'a.yaml', json: true });
    expect(got.set).toEqual(['training.num_epochs=5', 'model.encoder.layers[0][0].output_dim=8']);
  });

  it('may have the value apart, hold = signs, lists and spaces', async () => {
    const got = await parse(
      'a.yaml',
      '--training.batch_size',
      '10',
      '--storage.model_dir=a=b c',
      '--evaluation.metrics=[mrr, mr]',
    );
    expect(got.set).toEqual([
      'training.batch_size=10',
      'storage.model_dir=a=b c',
      'evaluation.metrics=[mrr, mr]',
    ]);
  });

  it('do not hide a misspelt option', async () => {
    await expect(parse('a.yaml', '--jsn')).rejects.toThrow(/unknown option '--jsn'/);
    await expect(parse('a.yaml', '--epochs=5')).rejects.toThrow(/unknown option '--epochs=5'/);
  });

  it('are left alone for a command without configuration', () => {
    const info = new Command('info');
    expect(rewriteOverrides(info, ['info', '--a.b=1'])).toEqual(['info', '--a.b=1']);
    expect(rewriteOverrides(undefined, ['--a.b=1'])).toEqual(['--a.b=1']);
  });
});

describe("Marius's command lines", () => {
  it.each([
    ['marius_train', ['a.yaml', '--training.num_epochs=5'], ['train', 'a.yaml', '--training.num_epochs=5']],
    ['marius_eval', ['a.yaml'], ['eval', 'a.yaml']],
    [
      'marius_preprocess',
      ['--output_directory', 'out/', '--edges', 'a_b.csv', 'c.csv', '-ds', '.9', '.1', '--no_remap_ids'],
      [
        'preprocess',
        '--output-directory',
        'out/',
        '--edges',
        'a_b.csv',
        'c.csv',
        '--dataset-split',
        '.9',
        '.1',
        '--no-remap-ids',
      ],
    ],
    [
      'marius_predict',
      ['--save_ranks', '--config', 'a.yaml', '--input_format=CSV', '--num_negs', '-1'],
      ['predict', 'a.yaml', '--save-ranks', '--input-format', 'csv', '--num-negs', '-1'],
    ],
    [
      'marius_postprocess',
      ['--model_dir=m_0/', '-f', 'PARQUET', '--overwrite'],
      ['export', 'm_0/', '--format', 'parquet', '--overwrite'],
    ],
  ] as const)('%s %j', (name, given, expected) => {
    expect(translate(name, given)).toEqual({ args: expected, notes: [] });
  });

  it('say what has no effect', () => {
    const { args, notes } = translate('marius_preprocess', ['--spark', '--dataset', 'FB15K_237']);
    expect(args).toEqual(['preprocess', '--dataset', 'FB15K_237']);
    expect(notes).toEqual(['marius_preprocess: --spark has no effect here.']);
  });
});
