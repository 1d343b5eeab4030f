/** Custom records that do not fit are rejected when they are registered, or, if their functions misbehave, when they are used. */
import { expect, test } from 'vitest';
import { getConvType } from '../gnn/conv/conv-registry.js';
import { edgeDecoder } from '../gnn/decoders/decoders.js';
import {
  HadamardOperator,
  LossFunction,
  lossFunction,
  registerConvLayer,
  registerDecoder,
  registerLoss,
} from '../gnn/index.js';
import { registerOptimizer } from '../storage/index.js';
import { denseOptimizer, rowOptimizer } from '../storage/optimizer-types.js';
import { registerMetric } from '../train/index.js';

test('a record that does not fit is rejected', () => {
  const operator = new HadamardOperator();
  expect(() => registerDecoder({ name: 'DISTMULT', operator })).toThrow(
    'registerDecoder: expected a name that is not taken for name, got "DISTMULT"',
  );
  expect(() => registerDecoder({ name: 'two words', operator })).toThrow('a name of capital letters');
  expect(() => registerDecoder({ name: 'MINE', operator: {} as never })).toThrow('a RelationOperator');
  expect(() => registerLoss({ name: 'MINE', make: 3 as never })).toThrow('a function for make, got 3');
  expect(() => registerLoss({ name: 'MINE', made: 3 } as never)).toThrow('Did you mean make?');
  const settings = { type: { kind: 'flag', standard: true, doc: '' } } as const;
  expect(() => registerLoss({ name: 'MINE', settings, make: () => null as never })).toThrow(
    'none called type',
  );
  expect(() => registerMetric({ name: 'x', task: 'LP' as never, make: () => null as never })).toThrow(
    'LINK_PREDICTION or NODE_CLASSIFICATION for task',
  );
  for (const register of [
    registerConvLayer,
    registerDecoder,
    registerLoss,
    registerMetric,
    registerOptimizer,
  ])
    for (const nothing of [undefined, null, 'MINE'])
      expect(() => (register as (record: unknown) => void)(nothing)).toThrow(
        `${register.name}: expected a record`,
      );
  expect(() => registerConvLayer({ name: 'MINE', aliases: ['own'], settings: {} } as never)).toThrow(
    'registerConvLayer: expected a known option, got aliases',
  );
  expect(() => registerDecoder({ name: 'MINE', operator, comparator: 'toString' as never })).toThrow(
    'for comparator, got "toString"',
  );
  const metric = (name: string) => () =>
    registerMetric({ name, task: 'LINK_PREDICTION', make: () => null as never });
  for (const name of ['time', 'event', 'set', 'epoch', 'seconds', 'count', 'loss'])
    expect(metric(name)).toThrow(
      /registerMetric: expected a name that metrics\.jsonl does not use \(.*\) for name/,
    );
  expect(metric('hits10')).toThrow('It stands for hits@10; choose another.');
  expect(metric('acc')).toThrow('It stands for accuracy; choose another.');
});

test.each<[unknown, string]>([
  [3, 'for settings, got 3'],
  [['a'], 'settings by key for settings, got [a]'],
  [{ 'two words': { kind: 'flag', doc: '' } }, 'letters, digits and _ for a key of settings'],
  [{ gap: 1 }, 'a setting for settings.gap, got 1'],
  [{ gap: { kind: 'text', doc: '' } }, 'one of integer, number, flag, choice, list for settings.gap.kind'],
  [{ gap: { kind: 'flag' } }, 'a sentence for settings.gap.doc, got undefined'],
  [{ gap: { kind: 'number', doc: '', max: 'many' } }, 'a number for settings.gap.max, got "many"'],
  [{ gap: { kind: 'choice', doc: '' } }, 'a list of strings for settings.gap.values'],
  [{ gap: { kind: 'list', doc: '' } }, 'min and what for settings.gap'],
  [{ gap: { kind: 'integer', doc: '', min: 1, standard: 0 } }, 'at least 1 for settings.gap.standard, got 0'],
])('settings %j are rejected', (settings, message) => {
  const given = settings as never;
  const make = () => null as never;
  for (const register of [
    () => registerLoss({ name: 'MINE', settings: given, make }),
    () => registerDecoder({ name: 'MINE', settings: given, operator: new HadamardOperator() }),
    () => registerOptimizer({ name: 'MINE', settings: given, dense: make }),
    () => registerConvLayer({ name: 'MINE', settings: given, make, run: make }),
  ])
    expect(register).toThrow(message);
});

test('results of the functions of a record are checked, and errors name the record', () => {
  class Empty extends LossFunction {
    declare forward: LossFunction['forward'];
  }
  const removed = [
    registerLoss({ name: 'EMPTY', make: () => new Empty() }),
    registerDecoder({ name: 'NOTHING', operator: new HadamardOperator(), make: () => 3 as never }),
    registerOptimizer({
      name: 'IDLE',
      dense: () => ({}) as never,
      rows: () => ({ columns() {} }) as never,
    }),
    registerConvLayer({
      ...{ name: 'STILL', settings: {}, make: () => 3 as never, run: () => 4 as never },
      ...{ hops: () => 1.5, check: () => 'no' as never },
    }),
  ];
  expect(() => lossFunction('EMPTY' as never)).toThrow(
    'registerLoss: expected a LossFunction with the method forward for the result of make() of EMPTY, got Empty',
  );
  expect(() => edgeDecoder('NOTHING' as never, { dim: 4 })).toThrow(
    'an EdgeDecoder for the result of make() of NOTHING',
  );
  const idle = { type: 'IDLE', options: {} } as never;
  expect(() => denseOptimizer([], idle)).toThrow('an Optimizer for the result of dense() of IDLE');
  expect(() => rowOptimizer(idle)).toThrow('with the method init for the result of rows() of IDLE');
  const still = getConvType('STILL');
  expect(() => still.make({}, {} as never)).toThrow('a Module for the result of make() of STILL, got 3');
  expect(() => still.run(...([] as unknown as Parameters<typeof still.run>))).toThrow(
    'a tensor for the result of run()',
  );
  expect(() => still.hops?.({})).toThrow(
    'a whole number of at least 1 for the result of hops() of STILL, got 1.5',
  );
  expect(() => still.check?.({}, 1, 1)).toThrow(
    'null, or expected and advice for the result of check() of STILL',
  );
  for (const remove of removed) remove();
});
