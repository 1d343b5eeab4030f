/** Memory updaters against PyTorch and finite differences, and the rules about time and missing mail. */

import { TimeEncode } from 'skein/nn';
import {
  GRUMemoryUpdater,
  IdentityMemoryUpdater,
  type MemoryUpdater,
  type MemoryUpdaterOptions,
  RNNMemoryUpdater,
  TransformerMemoryUpdater,
} from 'skein/temporal';
import { backward, type FloatDType, fromTypedArray, sum } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import type { MailBoxRows } from '#internal/temporal/mailbox/rows.js';
import { dtypes, expectFiniteDifferences, expectRecorded, fill } from '../nn/golden.js';
import { goldenFeatures, goldenRows, queryTimes, sizes, temporalGolden } from './golden.js';

const golden = temporalGolden('updaters');
const ones = [1, 1, 1, 1, 1, 1];
const someSlots = [3, 1, 2, 3, 0, 2];
const recurrent = ['input.weightMail', 'input.weightTime', 'input.bias', 'weightHh', 'biasHh'];
const encoding = ['timeEncode.weight', 'timeEncode.bias'];
const attention = [
  ...['query.weight', 'query.bias', 'key.weightMail', 'key.weightTime', 'key.bias'],
  ...[
    'value.weightMail',
    'value.weightTime',
    'value.bias',
    'norm.weight',
    'norm.bias',
    'out.weight',
    'out.bias',
  ],
];

function optionsOf(dtype: FloatDType): MemoryUpdaterOptions {
  return { dimMemory: sizes.D, dimEdge: sizes.E, dimTime: sizes.T, dtype };
}

interface Case {
  readonly make: (dtype: FloatDType) => MemoryUpdater;
  readonly names: readonly string[];
  readonly slots: number;
  readonly counts: readonly number[];
  readonly times: Float64Array | null;
}

const cases: Readonly<Record<string, Case>> = {
  gru: {
    make: (dtype) => new GRUMemoryUpdater(optionsOf(dtype)),
    names: [...encoding, ...recurrent],
    slots: 1,
    counts: ones,
    times: null,
  },
  rnn: {
    make: (dtype) => new RNNMemoryUpdater(optionsOf(dtype)),
    names: [...encoding, ...recurrent],
    slots: 1,
    counts: ones,
    times: null,
  },
  'transformer, empty slots closed': {
    make: (dtype) => new TransformerMemoryUpdater({ ...optionsOf(dtype), heads: 2 }),
    names: [...encoding, ...attention],
    slots: 3,
    counts: someSlots,
    times: null,
  },
  'transformer, empty slots attend': {
    make: (dtype) =>
      new TransformerMemoryUpdater({ ...optionsOf(dtype), timeInput: 'query', emptyMail: 'update' }),
    names: [...encoding, ...attention],
    slots: 3,
    counts: someSlots,
    times: queryTimes,
  },
};

describe('check 8: updaters and the encoding of time', () => {
  for (const [name, { make, names, slots, counts, times }] of Object.entries(cases)) {
    for (const dtype of dtypes) {
      test(`${name} as PyTorch has it, ${dtype}`, () => {
        const updater = make(dtype);
        const leaves = fill(updater, names);
        const { memory } = updater.forward(
          goldenRows(slots, counts, dtype),
          goldenFeatures(slots, dtype),
          times,
        );
        expectRecorded(golden[`${name} ${dtype}`], memory, leaves);
      });
    }

    test(`${name}: gradients by differences`, () => {
      const updater = make('f64');
      const leaves = fill(updater, names);
      const rows = goldenRows(slots, counts, 'f64');
      const memory = rows.memory.setRequiresGrad();
      const features = goldenFeatures(slots, 'f64');
      expectFiniteDifferences(() => updater.forward(rows, features, times).memory, { ...leaves, memory });
    });
  }

  test.each(dtypes)('time encoding of spans at 1.6e9, %s', (dtype) => {
    const encode = new TimeEncode(sizes.T, { dtype });
    const [weight, bias] = Object.values(fill(encode, ['weight', 'bias']));
    const { mailTime, memoryTime } = goldenRows(1, ones, dtype);
    const spans = mailTime.map((t, i) => t - memoryTime[i]);
    const input = fromTypedArray(dtype === 'f64' ? spans : Float32Array.from(spans));
    expectRecorded(golden[`time encoding ${dtype}`], encode.forward(input), {
      'timeEncode.weight': weight,
      'timeEncode.bias': bias,
    });
  });

  test('the gates of the GRU are r, z, n: a full update gate keeps the memory', () => {
    const updater = new GRUMemoryUpdater(optionsOf('f64'));
    for (const p of updater.parameters()) p.floats.fill(0);
    updater.biasHh.floats.fill(50, sizes.D, 2 * sizes.D);
    const rows = goldenRows(1, ones, 'f64');
    const { memory } = updater.forward(rows, goldenFeatures(1, 'f64'), null);
    expect(memory.toArray()).toEqual(rows.memory.toArray());
  });
});

describe('rules', () => {
  const counts = [1, 0, 1, 0, 1, 1];

  test('no mail: the memory and its time are kept, the others change', () => {
    const updater = new GRUMemoryUpdater(optionsOf('f32'));
    const rows = goldenRows(1, counts, 'f32');
    const { memory, time } = updater.forward(rows, goldenFeatures(1, 'f32'), null);
    for (let i = 0; i < counts.length; i++) {
      const same = Array.from(memory.slice(i, i + 1).dataSync()).every(
        (v, j) => v === rows.memory.dataSync()[i * sizes.D + j],
      );
      expect(same).toBe(counts[i] === 0);
      expect(time[i]).toBe(counts[i] === 0 ? rows.memoryTime[i] : rows.mailTime[i]);
    }
  });

  test('emptyMail update: all change, as in TGL', () => {
    const updater = new GRUMemoryUpdater({ ...optionsOf('f32'), emptyMail: 'update' });
    const rows = goldenRows(1, counts, 'f32');
    const { memory } = updater.forward(rows, goldenFeatures(1, 'f32'), null);
    const old = rows.memory.dataSync();
    expect(Array.from(memory.dataSync()).every((v, i) => v !== old[i])).toBe(true);
  });

  test('before any mail nothing is computed and nothing has a gradient', () => {
    const updater = new GRUMemoryUpdater(optionsOf('f32'));
    const rows = goldenRows(1, [0, 0, 0, 0, 0, 0], 'f32');
    const { memory, time } = updater.forward(rows, goldenFeatures(1, 'f32'), null);
    expect(memory).toBe(rows.memory);
    expect(time).toBe(rows.memoryTime);
  });

  test("timeInput 'mail' does not depend on when it is asked, 'query' does and needs times", () => {
    const rows = goldenRows(1, ones, 'f64');
    const features = goldenFeatures(1, 'f64');
    const later = queryTimes.map((t) => t + 1000);
    const byMail = new GRUMemoryUpdater(optionsOf('f64'));
    expect(byMail.forward(rows, features, queryTimes).memory.toArray()).toEqual(
      byMail.forward(rows, features, later).memory.toArray(),
    );
    const byQuery = new GRUMemoryUpdater({ ...optionsOf('f64'), timeInput: 'query' });
    const [a, b] = [queryTimes, later].map((t) => byQuery.forward(rows, features, t));
    expect(a.memory.toArray()).not.toEqual(b.memory.toArray());
    expect(a.time).toEqual(queryTimes);
    expect(() => byQuery.forward(rows, features, null)).toThrow(/expected 6 times/);
  });

  test('the order of the mails in their slots does not matter to the transformer', () => {
    const updater = new TransformerMemoryUpdater(optionsOf('f64'));
    const rows = goldenRows(3, [3, 3, 3, 3, 3, 3], 'f64');
    const turned = turnSlots(rows, 3);
    const features = goldenFeatures(3, 'f64').clone();
    const turnedFeatures = features.clone();
    turnRows(features.dataSync(), turnedFeatures.dataSync(), sizes.E, 3);
    const a = updater.forward(rows, features, null).memory.dataSync();
    const b = updater.forward(turned, turnedFeatures, null).memory.dataSync();
    for (let i = 0; i < a.length; i++) expect(b[i]).toBeCloseTo(a[i], 12);
  });

  test('mails are constants: only time gets a gradient through the input', () => {
    const updater = new GRUMemoryUpdater(optionsOf('f64'));
    const rows = goldenRows(1, ones, 'f64');
    backward(sum(updater.forward(rows, goldenFeatures(1, 'f64'), null).memory));
    expect(rows.mail.grad).toBeNull();
    for (const [name, p] of updater.namedParameters())
      expect(
        p.grad?.dataSync().some((v) => v !== 0),
        name,
      ).toBe(true);
  });

  test('identity keeps everything; wrong widths and several mails are refused', () => {
    const rows = goldenRows(1, ones, 'f32');
    expect(new IdentityMemoryUpdater().forward(rows, null, null).memory).toBe(rows.memory);
    const updater = new GRUMemoryUpdater(optionsOf('f32'));
    expect(() => updater.forward(rows, null, null)).toThrow(/mails of width 11/);
    expect(() => updater.forward(goldenRows(3, ones, 'f32'), goldenFeatures(3, 'f32'), null)).toThrow(
      /one mail per node/,
    );
    expect(() => new TransformerMemoryUpdater({ ...optionsOf('f32'), heads: 3 })).toThrow(/divisor/);
  });
});

/** Slot k becomes slot (k + 1) mod K. */
function turnSlots(rows: MailBoxRows, slots: number): MailBoxRows {
  const mail = rows.mail.clone();
  turnRows(rows.mail.dataSync(), mail.dataSync(), 2 * sizes.D, slots);
  const mailTime = rows.mailTime.slice();
  turnRows(rows.mailTime, mailTime, 1, slots);
  return { ...rows, mail, mailTime };
}

function turnRows(from: ArrayLike<number>, to: { [i: number]: number }, width: number, slots: number): void {
  for (let i = 0; i < sizes.n; i++) {
    for (let k = 0; k < slots; k++) {
      for (let j = 0; j < width; j++)
        to[(i * slots + ((k + 1) % slots)) * width + j] = from[(i * slots + k) * width + j];
    }
  }
}
