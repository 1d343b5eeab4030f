/** The vocabulary of text columns, and the text columns of WordNet's synsets. */
import type { WordNet } from 'skein/data';
import { FormatError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { NodeText, splitWords, TextVocabulary } from '#internal/data/prepare/node-text.js';
import { synsetText, textColumns } from '#internal/data/wordnet-text.js';

test('words are runs of letters and digits of any script, in lower case', () => {
  expect(splitWords('Ein Süßes, 2-fach! ΑΒ ½')).toEqual(['ein', 'süßes', '2', 'fach', 'αβ', '1', '2']);
  expect(splitWords(' — ')).toEqual([]);
});

const cells = [
  ['red car', 'fast'],
  ['a red, red rose', ''],
  ['car', 'fast rose'],
];
const text = NodeText.build(['name', 'remark'], 3, (node) => cells[node]);
const wordsOf = ({ vocabulary, offsets, words }: NodeText): string[][] =>
  Array.from({ length: offsets.length - 1 }, (_, row) =>
    [...words.subarray(offsets[row], offsets[row + 1])].map((word) => vocabulary.words[word]),
  );

test('the vocabulary has the words of two nodes or more, each once per cell', () => {
  expect(text.vocabulary.words).toEqual(['red', 'car', 'fast', 'rose']);
  expect(text.vocabulary.counts).toEqual([2, 2, 2, 2]);
  expect(wordsOf(text)).toEqual([['red', 'car'], ['fast'], ['red', 'rose'], [], ['car'], ['fast', 'rose']]);
  expect(text.matrix().shape).toEqual([6, 4]);
});

test('renumbering moves the rows of a node together', () => {
  const moved = text.renumber(Int32Array.of(2, 0, 1));
  expect(wordsOf(moved)).toEqual([['red', 'rose'], [], ['car'], ['fast', 'rose'], ['red', 'car'], ['fast']]);
});

test('a saved vocabulary is the same, and a damaged one is rejected with its path', () => {
  const again = TextVocabulary.parse(text.vocabulary.toText(), 'x/text.json');
  expect(again).toEqual(text.vocabulary);
  const short = text.vocabulary.toText().replace('"fast",', '');
  for (const wrong of ['{', '{}', short]) {
    expect(() => TextVocabulary.parse(wrong, 'x/text.json')).toThrow(FormatError);
    expect(() => TextVocabulary.parse(wrong, 'x/text.json')).toThrow(/^x\/text\.json: expected .*Prepare/);
  }
});

describe('text columns of synsets', () => {
  const columnsOf = (name: string, words: readonly string[], gloss: string): Record<string, string> => {
    const wordnet = { entities: [name], words: [words], glosses: [gloss] } as unknown as WordNet;
    return Object.fromEntries(synsetText(wordnet, 0).map((column, c) => [textColumns[c], column]));
  };

  test.each([
    ['any of various large trees of the genus Quercus', 'large tree', 'tree'],
    [
      'a small, evergreen shrub (chiefly Asian) that bears berries; "it grows"',
      'small evergreen shrub',
      'shrub',
    ],
    ['strong black coffee brewed by forcing hot water', 'strong black coffee', 'coffee'],
    ['a kind of boxes', 'box', 'box'],
    ['', '', ''],
  ])('noun: %s', (gloss, genus, head) => {
    expect(columnsOf('x.n.01', ['x'], gloss)).toMatchObject({ genus, head });
  });

  test('verb', () => {
    const found = columnsOf(
      'run.v.01',
      ['run', 'move_fast'],
      "move fast by using one's feet, with one foot off the ground",
    );
    expect(found).toMatchObject({
      words: 'run move fast',
      last: 'run fast',
      genus: 'move fast by',
      head: 'move',
    });
    expect(found['gloss']).toBe('move fast using one s feet one foot off ground');
  });
});
