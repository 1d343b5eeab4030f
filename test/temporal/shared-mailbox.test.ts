import { TemporalHop } from 'skein/sample';
import { SharedMailBox } from 'skein/temporal';
import { fromTypedArray } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import type { StateDelta } from '#internal/temporal/mailbox/rows.js';
import { boxOf, D, delta, first, ints, param, type Row, rowsOf, times } from './mailbox-rows.js';

describe('SharedMailBox: wrong use', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['type none', () => boxOf(4, { type: 'none' }), /memoryParam\.type/],
    ['no width', () => boxOf(4, { dim_out: 0 }), /memoryParam\.dim_out/],
    ['no slots', () => boxOf(4, { mailbox_size: 0 }), /memoryParam\.mailbox_size/],
    ['an unknown receiver', () => boxOf(4, { deliver_to: 'all' as 'self' }), /memoryParam\.deliver_to/],
    ['an unknown mean', () => boxOf(4, { mail_combine: 'sum' as 'mean' }), /memoryParam\.mail_combine/],
    ['nodes', () => new SharedMailBox({ numNodes: -1, memoryParam: param }), /numNodes/],
    ['read beyond', () => boxOf().read(ints(0, 6)), /ids\[1\], got 6/],
    ['read below', () => boxOf().getMail([-1]), /-1 at position 0/],
  ])('rejects %s', (_, run, message) => {
    expect(run).toThrow(message);
  });
});

describe('a refused commit', () => {
  const start = delta(
    [
      [0, 1, 10, 0],
      [1, 2, 10, 0],
    ],
    [
      [0, 3, 10, 0],
      [1, 4, 10, 0],
    ],
  );
  const good: Row = [2, 5, 11, 1];
  const cases: [string, () => StateDelta, RegExp][] = [
    ['NaN in memory', () => delta([good, [3, Number.NaN, 11, 1]], [good]), /memory of node 3, got NaN/],
    ['infinity in mail', () => delta([good], [good, [4, Infinity, 11, 1]]), /mail of node 4, got Infinity/],
    [
      'time travel of memory',
      () => delta([good, [1, 5, 9.5, 1]], [good]),
      /at least 10 for the memory of node 1, got 9.5/,
    ],
    [
      'time travel of mail',
      () => delta([good], [good, [1, 5, 9, 1]]),
      /at least 10 for the mail of node 1, got 9/,
    ],
    [
      'time travel in a row that would not count',
      () =>
        delta([
          [1, 5, 9, 1],
          [1, 5, 12, 2],
        ]),
      /at least 10 for the memory of node 1, got 9/,
    ],
    ['a node beyond', () => delta([good, [6, 1, 11, 1]], [good]), /nodes\[1\], got 6/],
    ['a mail node below', () => delta([good], [[-1, 1, 11, 1]]), /mailNodes\[0\], got -1/],
    [
      'a width',
      () => ({ ...delta([good], [good]), memory: rowsOf([1], 4) }),
      /shape \[1, 3\] for memory, got "\[1, 4\]"/,
    ],
    ['a mail width', () => ({ ...delta([good], [good]), mail: rowsOf([1], 5) }), /shape \[1, 6\] for mail/],
    ['too few times', () => ({ ...delta([good]), memoryTime: times() }), /memoryTime/],
    ['NaN as a time', () => delta([good], [[2, 1, Number.NaN, 1]]), /mailTime\[0\], got NaN/],
    ['mail of no event', () => delta([good], [[2, 1, 11, -1]]), /mailEvents\[0\], got -1/],
    [
      'another dtype',
      () => ({ ...delta([good]), memory: fromTypedArray(new Float64Array(3), [1, 3]) }),
      /dtype f32 for memory, got "f64"/,
    ],
    ['nothing', () => null as unknown as StateDelta, /StateDelta/],
  ];
  it.each(cases)('%s changes nothing, also in the queue', (_, make, message) => {
    const box = boxOf();
    box.commit(start);
    box.setMemoryAsync(ints(5), rowsOf([8]), times(20));
    const before = box.snapshot();
    expect(() => box.commit(make())).toThrow(message);
    expect(box.snapshot()).toEqual(before);
    expect(box.version).toBe(1);
    // And it still works.
    box.commit(delta([good], [good]));
    expect(first(box.read(ints(2)).memory, D)).toEqual([5]);
  });

  it('mail of an event whose features are not there yet', () => {
    const box = new SharedMailBox({
      numNodes: 3,
      memoryParam: param,
      dimEdgeFeat: 2,
      edgeFeatures: () => new Float32Array(4),
    });
    expect(() => box.commit(delta([], [[0, 1, 1, 2]]))).toThrow(/events below 2 for mailEvents\[0\], got 2/);
    box.commit(delta([], [[0, 1, 1, 1]]));
    expect(box.version).toBe(1);
  });

  it('at drain leaves store and queue as they were', () => {
    const box = boxOf();
    box.setMailboxAsync(ints(0), rowsOf([1], 6), times(5), ints(0));
    box.commit(delta([], [[0, 2, 7, 3]]));
    const before = box.snapshot();
    expect(() => box.drain()).toThrow(/drain: expected a time of at least 7 for the mail of node 0, got 5/);
    expect(box.snapshot()).toEqual(before);
    box.discardPending();
    box.drain();
    expect(box.version).toBe(1);
  });
});

describe('check 4: SharedMailBox', () => {
  it('check 4: reset zeroes memory, mail, their times, and the cursors', () => {
    const box = boxOf(4, { mailbox_size: 3 });
    const empty = box.snapshot();
    box.commit(
      delta(
        [[1, 5, 2, 0]],
        [
          [1, 5, 2, 0],
          [2, 6, 2, 0],
        ],
      ),
    );
    box.setMailboxAsync(ints(3), rowsOf([1], 6), times(5), ints(1));
    expect(box.snapshot().arrays).not.toEqual(empty.arrays);
    box.reset();
    expect(box.snapshot().arrays).toEqual(empty.arrays);
    for (const name of ['memory', 'memoryTime', 'mail', 'mailTime', 'cursor', 'count']) {
      expect(box.snapshot().arrays[name].every((value) => value === 0)).toBe(true);
    }
    expect(box.numPending).toBe(0);
  });

  it('check 4: one slot is overwritten', () => {
    const box = boxOf();
    box.commit(delta([], [[2, 1, 1, 0]]));
    box.commit(delta([], [[2, 2, 3, 1]]));
    const { mail, mailTime, mailEvents, mailCount } = box.read(ints(2));
    expect([...mail.dataSync()]).toEqual(new Array(6).fill(2));
    expect([mailTime[0], mailEvents[0], mailCount[0]]).toEqual([3, 1, 1]);
  });

  it('check 4: three slots are a ring', () => {
    const box = boxOf(6, { mailbox_size: 3 });
    for (let i = 0; i < 5; i++) box.commit(delta([], [[2, 10 + i, i, i]]));
    const { mail, mailTime, mailEvents, mailCount } = box.read(ints(0, 2));
    expect(first(mail, 2 * D)).toEqual([0, 0, 0, 13, 14, 12]);
    expect([...mailTime]).toEqual([0, 0, 0, 3, 4, 2]);
    expect([...mailEvents]).toEqual([-1, -1, -1, 3, 4, 2]);
    expect([...mailCount]).toEqual([0, 3]);
  });

  it('check 4: of duplicates in one commit the greatest (time, event) counts', () => {
    const rows: Row[] = [
      [1, 1, 5, 3],
      [1, 2, 5, 9],
      [1, 3, 4, 12],
      [2, 4, 1, 0],
      [1, 5, 5, 4],
    ];
    const box = boxOf();
    box.commit(delta(rows, rows));
    const state = box.read(ints(1, 2));
    expect(first(state.memory, D)).toEqual([2, 4]);
    expect(first(state.mail, 2 * D)).toEqual([2, 4]);
    expect([...state.mailEvents]).toEqual([9, 0]);
    const update = box.getUpdateMemory(
      ints(1, 1, 1, 2, 1),
      rowsOf([1, 2, 3, 4, 5]),
      times(5, 5, 4, 1, 5),
      ints(3, 9, 12, 0, 4),
    );
    expect([...update.nodes]).toEqual([1, 2]);
    expect(first(update.memory, D)).toEqual([2, 4]);
    expect([...update.memoryTime]).toEqual([5, 1]);
    expect([...update.memoryEvents]).toEqual([9, 0]);
  });

  it('check 4: mails of the two ends have their halves swapped, and each its own time', () => {
    const box = boxOf();
    const made = box.getUpdateMail({
      src: ints(0, 2),
      dst: ints(1, 3),
      times: times(5, 7.5),
      eventRows: ints(10, 11),
      memory: rowsOf([100, 102, 101, 103]),
    });
    expect([...made.mailNodes]).toEqual([0, 1, 2, 3]);
    expect([...made.mailTime]).toEqual([5, 5, 7.5, 7.5]);
    expect([...made.mailEvents]).toEqual([10, 10, 11, 11]);
    expect(first(made.mail, D)).toEqual([100, 101, 101, 100, 102, 103, 103, 102]);
    box.commit({ ...delta([]), ...made });
    expect([...box.read(ints(3, 0)).mailTime]).toEqual([7.5, 5]);
  });

  it('check 4: memory and embedding rows of the ends are found by their rows; either half may be an embedding', () => {
    const box = boxOf();
    const events = {
      src: ints(0, 0),
      dst: ints(1, 0),
      times: times(5, 6),
      eventRows: ints(0, 1),
      memory: rowsOf([10, 11, 12]),
      srcRows: ints(2, 2),
      dstRows: ints(0, 2),
      embeddings: rowsOf([70, 71, 72, 73]),
      srcRoots: ints(0, 2),
      dstRoots: ints(1, 2),
    };
    // Node 0's latest mail is the event with itself.
    expect(first(box.getUpdateMail(events).mail, D)).toEqual([12, 12, 10, 12]);
    expect(first(box.getUpdateMail({ ...events, useSrcEmb: true }).mail, D)).toEqual([72, 12, 71, 12]);
    expect(first(box.getUpdateMail({ ...events, useDstEmb: true }).mail, D)).toEqual([12, 72, 10, 70]);
    const both = box.getUpdateMail({ ...events, useSrcEmb: true, useDstEmb: true });
    expect(first(both.mail, D)).toEqual([72, 72, 71, 70]);
    expect(() => box.getUpdateMail({ ...events, embeddings: null, useDstEmb: true })).toThrow(/embeddings/);
    expect(() => box.getUpdateMail({ ...events, srcRows: ints(0, 3) })).toThrow(/rows below 3/);
    expect(() => box.getUpdateMail({ ...events, memory: rowsOf([1, 2, 3], 4) })).toThrow(/shape \[rows, 3\]/);
  });

  it('check 4: deliver_to neighbors writes to the roots and their sampled neighbours only', () => {
    const b = boxOf(10, { deliver_to: 'neighbors' });
    // Roots: 0 and 1 of event 4, a negative 2, then 0 and 3 of event 5; the neighbours of the negative are 8 and 9.
    const hop = new TemporalHop({
      dstNodes: ints(0, 1, 2, 0, 3),
      dstTimes: times(4, 4, 4, 5, 5),
      indptr: ints(0, 2, 3, 5, 6, 6),
      sources: ints(5, 6, 7, 8, 9, 5),
      eventRows: ints(0, 1, 2, 0, 3, 1),
      spans: new Float32Array(6),
      srcNodes: ints(0, 1, 2, 0, 3, 6, 7, 0, 8, 9),
      srcTimes: new Float64Array(10),
    });
    const events = {
      src: ints(0, 0),
      dst: ints(1, 3),
      times: times(4, 5),
      eventRows: ints(4, 5),
      memory: rowsOf([10, 10, 11, 13]),
      srcRoots: ints(0, 3),
      dstRoots: ints(1, 4),
    };
    const made = b.getUpdateMail({ ...events, hop });
    b.commit({ ...delta([]), ...made });
    const { mail, mailEvents, mailTime } = b.read(ints(0, 1, 3, 6, 7));
    expect([...made.mailNodes].sort()).toEqual([0, 1, 3, 6, 7]);
    expect([...mailEvents]).toEqual([5, 4, 5, 5, 4]);
    expect([...mailTime]).toEqual([5, 4, 5, 5, 4]);
    // 0 is a neighbour of 1 as well, in event 4: its own mail of event 5 is later.
    expect(first(mail, D)).toEqual([10, 13, 11, 10, 13, 10, 10, 13, 10, 11]);
    expect([...b.read(ints(2, 8, 9)).mailCount]).toEqual([0, 0, 0]);
    expect(() => b.getUpdateMail(events)).toThrow(/hop/);
  });
});

describe('check 5: clock', () => {
  it('check 5: an earlier time is refused, the same time is not, and time 0 is a beginning', () => {
    const box = boxOf();
    box.commit(delta([[0, 1, 0, 0]], [[0, 1, 0, 0]]));
    box.commit(delta([[0, 2, 4, 1]], [[0, 2, 4, 1]]));
    box.commit(delta([[0, 3, 4, 2]], [[0, 3, 4, 2]]));
    expect(() => box.commit(delta([[0, 4, 3.999, 3]]))).toThrow(/memory of node 0/);
    expect(first(box.read(ints(0)).memory, D)).toEqual([3]);
    expect(() => boxOf().commit(delta([[0, 1, -1, 0]]))).toThrow(/at least 0/);
    const early = new SharedMailBox({ numNodes: 2, memoryParam: param, startTime: -5 });
    early.commit(delta([[0, 1, -1, 0]]));
    expect([...early.read(ints(0, 1)).memoryTime]).toEqual([-1, -5]);
  });

  it('check 5: sources and destinations may be the same nodes, even in one event', () => {
    const box = boxOf();
    const made = box.getUpdateMail({
      src: ints(0, 1, 1),
      dst: ints(1, 0, 1),
      times: times(1, 2, 2),
      eventRows: ints(0, 1, 2),
      memory: rowsOf([20, 21, 21, 21, 20, 21]),
    });
    box.commit({ ...delta([]), ...made });
    expect(first(box.read(ints(0, 1)).mail, D)).toEqual([20, 21, 21, 21]);
    expect([...box.read(ints(0, 1)).mailEvents]).toEqual([1, 2]);
  });
});

describe('check 14: merging', () => {
  const parts: Row[][] = [
    [
      [0, 1, 5, 0],
      [1, 2, 7, 4],
    ],
    [
      [1, 3, 7, 5],
      [2, 4, 6, 2],
    ],
    [
      [0, 5, 5, 3],
      [2, 6, 7.5, 6],
      [1, 7, 3, 1],
    ],
  ];
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];

  it.each(['last', 'mean'] as const)(
    'check 14: %s: changes of several workers give one result in any order',
    (combine) => {
      const states = orders.map((order) => {
        const box = new SharedMailBox({
          numNodes: 3,
          memoryParam: { ...param, mailbox_size: 2, mail_combine: combine },
          dimEdgeFeat: 1,
          edgeFeatures: () => Float32Array.from({ length: 8 }, (_, i) => 1 / (i + 3)),
        });
        for (const part of order) box.commitAsync(delta(parts[part], parts[part]));
        expect(box.version).toBe(0);
        box.drain();
        expect([box.version, box.numPending]).toEqual([1, 0]);
        return box.snapshot();
      });
      for (const state of states) expect(state).toEqual(states[0]);
      expect([...states[0].arrays.memoryTime]).toEqual([5, 7, 7.5]);
      expect([...states[0].arrays.memoryEvents]).toEqual([3, 5, 6]);
    },
  );

  it('check 14: commits of one time also merge by event, whichever comes first', () => {
    const late = delta([[0, 2, 5, 9]], [[0, 2, 5, 9]]);
    const early = delta([[0, 1, 5, 8]], [[0, 1, 5, 8]]);
    for (const order of [
      [late, early],
      [early, late],
    ]) {
      const box = boxOf();
      for (const part of order) box.commit(part);
      const { memory, mail, mailEvents } = box.read(ints(0));
      expect([memory.dataSync()[0], mail.dataSync()[0], mailEvents[0]]).toEqual([2, 2, 9]);
    }
  });
});
