/** Model files of TGL: what is read, what is warned about, what is refused. */

import { readFileSync } from 'node:fs';
import { ConfigError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseTemporalConfig } from '#internal/temporal/config/parse.js';

type Document = Record<string, Record<string, unknown>[]>;

/** The characteristic settings of each model. */
const wanted: Readonly<Record<string, Record<string, unknown>>> = {
  tgn: {
    sampling: { layer: 1, neighbor: [10], strategy: 'recent' },
    memory: { type: 'node', memory_update: 'gru', mailbox_size: 1, time_input: 'mail', empty_mail: 'keep' },
    gnn: { arch: 'transformer_attention', dim_out: 100, variant: 'tgl', dyrep: false },
  },
  tgat: {
    sampling: { layer: 2, neighbor: [10, 10], strategy: 'uniform' },
    memory: { type: 'none', dim_out: 0 },
    gnn: { layer: 2, dim_time: 100 },
  },
  jodie: {
    sampling: { layer: 0, neighbor: [], strategy: 'identity' },
    memory: { memory_update: 'rnn' },
    gnn: { arch: 'identity', time_transform: 'JODIE' },
  },
  apan: {
    sampling: { layer: 1 },
    memory: { deliver_to: 'neighbors', mailbox_size: 10, memory_update: 'transformer' },
    gnn: { arch: 'identity', dim_out: 100 },
  },
  dyrep: { gnn: { dyrep: true, use_dst_emb: true, use_src_emb: false }, memory: { memory_update: 'rnn' } },
  dysat: { sampling: { history: 3, duration: 10000, prop_time: true }, gnn: { combine: 'rnn', dim_time: 0 } },
};
const names = Object.keys(wanted);

function example(name: string): Document {
  return parse(readFileSync(new URL(`../../examples/temporal/${name}.yml`, import.meta.url), 'utf8'));
}

/** The TGN file with some keys changed; undefined removes one. */
function changed(section: string, keys: Record<string, unknown>, name = 'tgn'): Document {
  const document = example(name);
  document[section] = [{ ...document[section][0], ...keys }];
  return document;
}

function problemsOf(document: unknown): string {
  try {
    parseTemporalConfig(document);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('check 20: every key is used, warned about or refused', () => {
  test.each(names)('%s.yml is read without warnings', (name) => {
    const { config, warnings } = parseTemporalConfig(example(name));
    expect(warnings).toEqual([]);
    expect(config).toMatchObject(wanted[name]);
  });

  test.each([
    ['sampling', 'neighbour', 'Did you mean sampling.neighbor?'],
    ['memory', 'mail_box_size', 'Did you mean memory.mailbox_size?'],
    ['memory', 'dim_tiem', 'Did you mean memory.dim_time?'],
    ['gnn', 'att_heads', 'Did you mean gnn.att_head?'],
    ['train', 'epochs', 'Did you mean train.epoch?'],
    ['train', 'momentum', 'Known keys here: epoch, batch_size'],
  ])('%s.%s is refused: %s', (section, key, advice) => {
    expect(problemsOf(changed(section, { [key]: 1 }))).toContain(
      `expected a known key, got ${section}.${key}. ${advice}`,
    );
  });

  test('an unknown section is refused with the nearest', () => {
    expect(problemsOf({ ...example('tgn'), samplng: [{}] })).toContain(
      'expected a known key, got samplng. Did you mean sampling?',
    );
  });

  test.each([
    ['sampling', { num_thread: 32 }],
    ['sampling', { no_neg: true }],
    ['memory', { async: true }],
    ['memory', { historical_fix: true }],
    ['memory', { historical: true }],
    ['memory', { mode: 'historical' }],
    ['train', { all_on_gpu: true }],
    ['train', { combine_neighs: true }],
  ])('%s %o has no effect here and says so', (section, keys) => {
    const { warnings } = parseTemporalConfig(changed(section, keys));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`${section}.${Object.keys(keys)[0]}: has no effect, `);
  });

  test.each<[string, string, Record<string, unknown>, string]>([
    ['tgn', 'memory', { attention_head: 4 }, 'a gru updater has no heads'],
    ['tgat', 'memory', { mailbox_size: 10 }, 'memory.type is set to none'],
    ['tgat', 'memory', { memory_update: 'rnn' }, 'memory.type is set to none'],
    ['jodie', 'gnn', { att_head: 4 }, 'arch identity has no attention'],
    ['jodie', 'train', { dropout: 0.1 }, 'nothing in this model is dropped'],
    ['jodie', 'sampling', { neighbor: [10] }, 'nothing is sampled'],
    ['apan', 'memory', { deliver_to: 'self' }, 'neighbours are not used'],
  ])('%s with %s %o warns: %s', (name, section, keys, reason) => {
    const { warnings } = parseTemporalConfig(changed(section, keys, name));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(reason);
  });

  test('all that is wrong is said at once', () => {
    const document = {
      ...changed('memory', { dim_out: -1, memory_update: 'lstm' }),
      train: [{ lr: 'fast' }],
    };
    const message = problemsOf(document);
    expect(message).toContain('expected a whole number of at least 0 for memory.dim_out, got -1');
    expect(message).toContain(
      'expected one of gru, rnn, transformer, identity for memory.memory_update, got "lstm"',
    );
    expect(message).toContain('expected a number of at least 0 for train.lr, got "fast"');
  });
});

describe('what must fit together', () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    ['tgn', 'sampling', { layer: 2 }, 'sampling.neighbor: expected 2 fan-outs'],
    ['tgn', 'gnn', { layer: 2 }, 'gnn.layer: expected 1'],
    ['tgn', 'gnn', { att_head: 3 }, 'gnn.att_head: expected a divisor of dim_out 100'],
    ['tgn', 'memory', { mailbox_size: 10 }, 'memory.mailbox_size: expected 1'],
    ['tgn', 'memory', { dim_time: 0 }, 'memory.dim_time'],
    [
      'tgn',
      'sampling',
      { no_sample: true, strategy: undefined },
      'sampling.strategy: expected recent or uniform',
    ],
    ['tgn', 'sampling', { history: 3 }, 'sampling.duration'],
    ['tgn', 'gnn', { combine: 'rnn' }, 'sampling.history'],
    ['tgn', 'gnn', { time_transform: 'JODIE' }, 'gnn.time_transform'],
    ['tgat', 'gnn', { dyrep: true }, 'gnn.dyrep: expected false without memory'],
    ['tgat', 'gnn', { arch: 'identity' }, 'gnn.arch: expected transformer_attention without memory'],
    ['jodie', 'memory', { deliver_to: 'neighbors' }, 'memory.deliver_to'],
    ['jodie', 'gnn', { dim_out: 64 }, 'gnn.dim_out: expected memory.dim_out 100'],
    ['apan', 'sampling', { history: 2, duration: 5 }, 'sampling.history: expected 1 for arch identity'],
    ['apan', 'memory', { attention_head: 3 }, 'memory.attention_head'],
    ['dyrep', 'gnn', { dim_out: 64 }, 'gnn.use_dst_emb'],
    ['dysat', 'gnn', { combine: 'none' }, 'gnn.combine: expected rnn'],
  ])('%s with %s %o', (name, section, keys, problem) => {
    expect(problemsOf(changed(section, keys, name))).toContain(problem);
  });

  test('sections may be plain maps; words may be in any case', () => {
    const listed = example('tgn');
    const plain = Object.fromEntries(Object.entries(listed).map(([key, [section]]) => [key, section]));
    expect(parseTemporalConfig(plain)).toEqual(parseTemporalConfig(listed));
    expect(parseTemporalConfig(changed('memory', { memory_update: 'GRU' })).config.memory.memory_update).toBe(
      'gru',
    );
  });

  test('our own keys', () => {
    const { memory } = parseTemporalConfig(
      changed('memory', { time_input: 'query', empty_mail: 'update' }),
    ).config;
    expect(memory).toMatchObject({ time_input: 'query', empty_mail: 'update' });
    expect(parseTemporalConfig(changed('gnn', { variant: 'tgn' })).config.gnn.variant).toBe('tgn');
  });

  test.each([[null], ['tgn'], [[]], [{}], [{ memory: 3 }], [{ memory: [{}, {}] }]])(
    '%o is refused',
    (document) => {
      expect(problemsOf(document)).toContain('cannot be used');
    },
  );
});
