import { SharedMailBox } from 'skein/temporal';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels, withKernels } from '#internal/native/index.js';
import { boxOf, D, delta, first, ints, param, type Row, rowsOf, times } from './mailbox-rows.js';

describe('SharedMailBox: mean, features, growth, snapshots', () => {
  const features = Float32Array.from({ length: 20 }, (_, i) => i);
  const box = (combine: 'last' | 'mean') =>
    new SharedMailBox({
      numNodes: 4,
      memoryParam: { ...param, mailbox_size: 2, mail_combine: combine },
      dimEdgeFeat: 2,
      edgeFeatures: () => features,
    });
  const rows: Row[] = [
    [1, 1, 5, 3],
    [0, 9, 5, 4],
    [1, 5, 6, 7],
  ];

  it('last: features are those of the event; empty slots have zeros', () => {
    const b = box('last');
    b.commit(delta([], rows));
    const { mail, count } = b.getMail([1, 2]);
    expect(mail.shape).toEqual([2, 2, 2 * D + 2]);
    expect([...mail.dataSync()].slice(0, 8)).toEqual([5, 5, 5, 5, 5, 5, 14, 15]);
    expect([...mail.dataSync()].slice(8).every((value) => value === 0)).toBe(true);
    expect([...count]).toEqual([1, 0]);
  });

  it('mean: mail and features are means, time and event those of the latest', () => {
    const b = box('mean');
    b.commit(delta([], rows));
    const { mail, time, events } = b.getMail([1]);
    expect([...mail.dataSync()].slice(0, 8)).toEqual([3, 3, 3, 3, 3, 3, 10, 11]);
    expect([time[0], events[0]]).toEqual([6, 7]);
    const made = b.getUpdateMail({
      src: ints(0, 0),
      dst: ints(1, 2),
      times: times(7, 8),
      eventRows: ints(8, 9),
      memory: rowsOf([1, 2, 3, 4]),
    });
    expect([...made.mailNodes]).toEqual([0, 1, 0, 2]);
    const blind = new SharedMailBox({
      numNodes: 4,
      memoryParam: { ...param, mail_combine: 'mean' },
      dimEdgeFeat: 2,
    });
    expect(() => blind.commit(delta([], rows))).toThrow(/edgeFeatures/);
  });

  it('rows that were read do not change, and later ones are new', () => {
    const b = boxOf();
    const before = b.read(ints(1));
    const { version } = b;
    b.commit(delta([[1, 3, 1, 0]], [[1, 3, 1, 0]]));
    expect(before.memory.dataSync()[0]).toBe(0);
    expect(b.version).toBe(version + 1);
    expect([...b.getMemory([1]).time]).toEqual([1]);
  });

  it('grows with new nodes, which start empty', () => {
    const b = boxOf(2, { mailbox_size: 2 });
    b.commit(delta([[1, 3, 1, 0]], [[1, 3, 1, 0]]));
    b.grow(3);
    b.grow(9);
    b.commit(delta([[8, 4, 1, 1]], [[8, 4, 1, 1]]));
    expect(first(b.read(ints(1, 2, 8)).memory, D)).toEqual([3, 0, 4]);
    expect([...b.read(ints(1, 2, 8)).mailEvents]).toEqual([0, -1, -1, -1, 1, -1]);
    expect(() => b.grow(3)).toThrow(/numNodes/);
  });

  it('a snapshot has all state, and continuing from it gives the same results', () => {
    const b = box('mean');
    b.commit(delta(rows, rows));
    b.commit(delta([[2, 2, 7, 8]], [[1, 2, 7, 8]]));
    b.setMemoryAsync(ints(3), rowsOf([4]), times(9), ints(9));
    b.setMailboxAsync(ints(1), rowsOf([4], 6), times(9), ints(9));
    const saved = b.snapshot();
    const other = box('mean');
    other.restore(saved);
    expect(other.snapshot()).toEqual(saved);
    expect([other.version, other.numPending]).toEqual([2, 2]);
    for (const each of [b, other]) {
      each.drain();
      each.commit(delta([[1, 1, 10, 9]], [[1, 1, 10, 9]]));
    }
    expect(other.snapshot()).toEqual(b.snapshot());
    expect(other.snapshot()).not.toEqual(saved);
  });

  it('a snapshot that does not fit is rejected with an error and changes nothing', () => {
    const b = box('last');
    b.commit(delta(rows, rows));
    const saved = b.snapshot();
    const { mail: _, ...withoutMail } = saved.arrays;
    const short = { ...saved.arrays, cursor: ints(1) };
    const queue = { ...saved.arrays, 'pending.nodes': ints(1) };
    for (const [snapshot, message] of [
      [{ ...saved, arrays: withoutMail }, /array mail of the snapshot/],
      [{ ...saved, arrays: short }, /array cursor/],
      [{ ...saved, arrays: queue }, /array pending\.memory/],
      [{ ...saved, numNodes: 5 }, /numNodes of the snapshot, got 5/],
      [{ ...saved, version: -1 }, /version/],
      [null as never, /snapshot/],
    ] as const) {
      expect(() => b.restore(snapshot)).toThrow(message);
      expect(b.snapshot()).toEqual(saved);
    }
  });

  it.skipIf(nativeKernels === null)('native and reference kernels agree', () => {
    const states = [nativeKernels as Kernels, referenceKernels].map((kernels) =>
      withKernels(kernels, () => {
        const b = box('mean');
        b.commit(delta(rows, rows));
        return [b.snapshot(), [...b.getMail([0, 1, 2]).mail.dataSync()]];
      }),
    );
    expect(states[1]).toEqual(states[0]);
  });
});
