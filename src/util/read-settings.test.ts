/**
 * The small reader gives the values and messages of the validator, for right and wrong values of every kind of setting.
 */
import { describe, expect, it } from 'vitest';
import { readSections } from './read-settings.js';
import { section, settingsShape } from './schema/fields.js';
import { problemsOf } from './schema/issues.js';
import {
  choice,
  flag,
  fraction,
  integer,
  integers,
  type NumberSetting,
  number,
  positive,
  requiredChoice,
} from './settings.js';

const bounded = {
  low: { kind: 'number', below: 2, standard: 0, doc: 'below' },
  between: { kind: 'number', above: 0, below: 1, standard: 0.5, doc: 'between' },
  most: { kind: 'number', above: 0.25, max: 3, standard: 1, doc: 'above and at most' },
  few: { kind: 'integer', min: -1, max: 1, standard: 1, doc: 'few' },
  fewer: { kind: 'integer', max: 0, above: -3, standard: 0, doc: 'fewer' },
  beyond: { kind: 'integer', min: 1, below: 3, standard: 1, doc: 'beyond' },
} satisfies Readonly<Record<string, NumberSetting>>;

const sections = {
  model: {
    kind: requiredChoice(['node', 'none'], 'which'),
    width: integer(1, 8, 'width'),
    rate: number(0.5, 'rate', { min: 0, max: 1 }),
    any: number(0, 'any number'),
    step: positive(1, 'step'),
    dropped: fraction(0, 'fraction'),
    ...bounded,
    deep: flag(false, 'deep'),
    form: choice(['GRU', 'rnn'], 'rnn', 'form', { aliases: { recurrent: 'rnn' } }),
    fans: integers(1, 'one per hop', [2], 'fan-outs'),
  },
  empty: {},
};

const schema = section(
  Object.fromEntries(Object.entries(sections).map(([name, each]) => [name, section(settingsShape(each))])),
);

function byValidator(tree: object): unknown {
  const parsed = schema.safeParse({ model: {}, empty: {}, ...tree });
  return parsed.success
    ? { values: parsed.data, problems: [] }
    : { values: null, problems: problemsOf(parsed.error, tree) };
}

const values = [
  ...[undefined, null, true, 0, 1, -1, 0.5, 1.5, 3, 2 ** 60, Number.NaN, Number.POSITIVE_INFINITY],
  ...[
    'none',
    'NODE',
    ' Gru ',
    'recurrent',
    'rn',
    'constructor',
    '',
    [],
    [1, 2],
    [1, 0],
    [1.5],
    ['a'],
    {},
    { a: 1 },
  ],
];

describe('every value under every key', () => {
  it.each(Object.keys(sections.model))('%s', (key) => {
    for (const value of values) {
      const tree = { model: { kind: 'node', [key]: value } };
      expect(readSections(sections, tree)).toEqual(byValidator(tree));
    }
  });

  it.each([
    ['an empty file', {}],
    ['a section that is not a mapping', { model: 3 }],
    ['a section that is a list', { model: [1] }],
    ['an empty section with a key', { model: { kind: 'none' }, empty: { a: 1 } }],
    ['unknown keys and sections', { model: { kind: 'node', widht: 3, zzz: 1 }, modle: {} }],
    ['several wrong values', { model: { width: 'wide', deep: 1, fans: 2 } }],
  ])('%s', (_, tree) => {
    expect(readSections(sections, tree)).toEqual(byValidator(tree));
  });
});

it('defaults are filled in', () => {
  expect(readSections(sections, { model: { kind: 'Node', width: 3 } }).values).toEqual({
    model: {
      ...{
        kind: 'node',
        width: 3,
        rate: 0.5,
        any: 0,
        step: 1,
        low: 0,
        between: 0.5,
        most: 1,
        few: 1,
        fewer: 0,
        beyond: 1,
        dropped: 0,
        deep: false,
        form: 'rnn',
      },
      fans: [2],
    },
    empty: {},
  });
});
