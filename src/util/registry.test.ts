import { expect, it } from 'vitest';
import { Registry } from './registry.js';

interface Thing {
  readonly name: string;
  readonly aliases?: readonly string[];
  make(): number;
}

const makeRegistry = () =>
  new Registry<Thing>({
    key: 'model.thing.type',
    builtIn: [{ name: 'PLAIN', aliases: ['simple'], make: () => 1 }],
    taken: ['NONE'],
  });
const custom = (name: string): Thing => ({ name, make: () => 2 });

it.each(['PLAIN', 'SIMPLE', 'NONE'])('%s cannot be registered: it means something already', (name) => {
  expect(() => makeRegistry().register('registerThing', custom(name), ['make'])).toThrow(
    /registerThing: expected a name that is not taken for name/,
  );
});

it('a record is found until it is removed', () => {
  const things = makeRegistry();
  const remove = things.register('registerThing', custom('MINE'), ['make']);
  expect(things.get('MINE').make()).toBe(2);
  expect(() => things.register('registerThing', custom('MINE'), ['make'])).toThrow(/not taken/);
  remove();
  expect(things.find('MINE')).toBeUndefined();
});
