import { expect, it } from 'vitest';
import { WordFamily } from './words.js';

interface Thing {
  readonly word: string;
  readonly aliases?: readonly string[];
  make(): number;
}

const family = () =>
  new WordFamily<Thing>({
    key: 'model.thing.type',
    builtIn: [{ word: 'PLAIN', aliases: ['simple'], make: () => 1 }],
    taken: ['NONE'],
  });
const own = (word: string): Thing => ({ word, make: () => 2 });

it.each(['PLAIN', 'SIMPLE', 'NONE'])('%s cannot be registered: it means something already', (word) => {
  expect(() => family().register('registerThing', own(word), ['make'])).toThrow(
    /registerThing: expected a name that is not taken for word/,
  );
});

it('a word is found until it is taken out again', () => {
  const words = family();
  const remove = words.register('registerThing', own('MINE'), ['make']);
  expect(words.named('MINE').make()).toBe(2);
  expect(() => words.register('registerThing', own('MINE'), ['make'])).toThrow(/not taken/);
  remove();
  expect(words.find('MINE')).toBeUndefined();
});
