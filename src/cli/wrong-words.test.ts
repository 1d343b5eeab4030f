/** Words of a user's own that cannot be: refused when they are registered, or by their name when they give what does not fit. */
import { expect, test } from 'vitest';
import {
  convNamed,
  edgeDecoder,
  HadamardOperator,
  LossFunction,
  lossFunction,
  registerConvLayer,
  registerDecoder,
  registerLoss,
} from '../gnn/index.js';
import { denseOptimizer, registerOptimizer, rowOptimizer } from '../storage/index.js';
import { registerMetric } from '../train/index.js';

test('what cannot be a word is refused', () => {
  const operator = new HadamardOperator();
  expect(() => registerDecoder({ word: 'DISTMULT', operator })).toThrow(
    'registerDecoder: expected a name that is not taken for word, got "DISTMULT"',
  );
  expect(() => registerDecoder({ word: 'two words', operator })).toThrow('a word of capital letters');
  expect(() => registerDecoder({ word: 'MINE', operator: {} as never })).toThrow('a RelationOperator');
  expect(() => registerLoss({ word: 'MINE', make: 3 as never })).toThrow('a function for make, got 3');
  expect(() => registerLoss({ word: 'MINE', made: 3 } as never)).toThrow('Did you mean make?');
  const settings = { type: { kind: 'flag', standard: true, doc: '' } } as const;
  expect(() => registerLoss({ word: 'MINE', settings, make: () => null as never })).toThrow(
    'none called type',
  );
  expect(() => registerMetric({ word: 'x', task: 'LP' as never, make: () => null as never })).toThrow(
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
  expect(() => registerConvLayer({ word: 'MINE', aliases: ['own'], settings: {} } as never)).toThrow(
    'registerConvLayer: expected a known option, got aliases',
  );
  expect(() => registerDecoder({ word: 'MINE', operator, comparator: 'toString' as never })).toThrow(
    'for comparator, got "toString"',
  );
  const metric = (word: string) => () =>
    registerMetric({ word, task: 'LINK_PREDICTION', make: () => null as never });
  for (const word of ['time', 'event', 'set', 'epoch', 'seconds', 'count', 'loss'])
    expect(metric(word)).toThrow(
      /registerMetric: expected a name that metrics\.jsonl does not use \(.*\) for word/,
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
  [{ gap: { kind: 'choice', doc: '' } }, 'a list of words for settings.gap.values'],
  [{ gap: { kind: 'list', doc: '' } }, 'min and what for settings.gap'],
  [{ gap: { kind: 'integer', doc: '', min: 1, standard: 0 } }, 'at least 1 for settings.gap.standard, got 0'],
])('settings %j are refused', (settings, message) => {
  const given = settings as never;
  const make = () => null as never;
  for (const register of [
    () => registerLoss({ word: 'MINE', settings: given, make }),
    () => registerDecoder({ word: 'MINE', settings: given, operator: new HadamardOperator() }),
    () => registerOptimizer({ word: 'MINE', settings: given, dense: make }),
    () => registerConvLayer({ word: 'MINE', settings: given, make, run: make }),
  ])
    expect(register).toThrow(message);
});

test('what the functions of a word give is checked by its name', () => {
  class Empty extends LossFunction {
    declare forward: LossFunction['forward'];
  }
  const removed = [
    registerLoss({ word: 'EMPTY', make: () => new Empty() }),
    registerDecoder({ word: 'NOTHING', operator: new HadamardOperator(), make: () => 3 as never }),
    registerOptimizer({
      word: 'IDLE',
      dense: () => ({}) as never,
      rows: () => ({ columns() {} }) as never,
    }),
    registerConvLayer({
      ...{ word: 'STILL', settings: {}, make: () => 3 as never, run: () => 4 as never },
      ...{ hops: () => 1.5, check: () => 'no' as never },
    }),
  ];
  expect(() => lossFunction('EMPTY' as never)).toThrow(
    'registerLoss: expected a LossFunction with the method forward for what make() of EMPTY gives, got Empty',
  );
  expect(() => edgeDecoder('NOTHING' as never, { dim: 4 })).toThrow(
    'an EdgeDecoder for what make() of NOTHING',
  );
  const idle = { type: 'IDLE', options: {} } as never;
  expect(() => denseOptimizer([], idle)).toThrow('an Optimizer for what dense() of IDLE gives');
  expect(() => rowOptimizer(idle)).toThrow('with the method init for what rows() of IDLE gives');
  const still = convNamed('STILL');
  expect(() => still.make({}, {} as never)).toThrow('a Module for what make() of STILL gives, got 3');
  expect(() => still.run(...([] as unknown as Parameters<typeof still.run>))).toThrow(
    'a tensor for what run()',
  );
  expect(() => still.hops?.({})).toThrow(
    'a whole number of at least 1 for what hops() of STILL gives, got 1.5',
  );
  expect(() => still.check?.({}, 1, 1)).toThrow('null, or expected and advice for what check() of STILL');
  for (const remove of removed) remove();
});
