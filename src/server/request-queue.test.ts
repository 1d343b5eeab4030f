/** Requests of one model: which share a call, how long ones are cut, and whose error is whose. */
import { describe, expect, test } from 'vitest';
import { RequestQueue, SliceError } from './request-queue.js';

/** Doubles numbers, and keeps the calls. */
function doubling(calls: number[][], ms = 0) {
  return async (items: readonly unknown[]): Promise<number[]> => {
    const numbers = items as number[];
    calls.push([...numbers]);
    const end = performance.now() + ms * numbers.length;
    while (performance.now() < end);
    const wrong = numbers.findIndex((value) => value < 0);
    if (wrong >= 0) throw new Error(`names[${wrong}]`);
    return numbers.map((value) => 2 * value);
  };
}

const range = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

describe('RequestQueue', () => {
  test('requests of one tick share a call, and get their own answers in order', async () => {
    const calls: number[][] = [];
    const queue = new RequestQueue();
    const call = doubling(calls);
    const answers = await Promise.all(
      [[1], [2, 3], [4]].map((items) => queue.ask({ key: 'a', kind: 'x', items, call })),
    );
    expect(answers).toEqual([[2], [4, 6], [8]]);
    expect(calls).toEqual([[1, 2, 3, 4]]);
    expect(queue.length).toBe(0);
  });

  test('requests that ask in another way have calls of their own', async () => {
    const calls: number[][] = [];
    const queue = new RequestQueue();
    const call = doubling(calls);
    await Promise.all(['a', 'b', 'a'].map((key, i) => queue.ask({ key, kind: 'x', items: [i], call })));
    expect(calls).toEqual([[0, 2], [1]]);
  });

  test('a long request is cut into slices of about the target time, and a short one passes it', async () => {
    const calls: number[][] = [];
    const queue = new RequestQueue({ targetMs: 4 });
    const call = doubling(calls, 0.1);
    let isDone = false;
    const long = queue.ask({ key: 'a', kind: 'x', items: range(3000), call }).then((answers) => {
      isDone = true;
      return answers;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const key of ['a', 'b']) {
      expect(await queue.ask({ key, kind: 'x', items: [7], call })).toEqual([14]);
      expect(isDone).toBe(false);
    }
    expect(await long).toEqual(range(3000).map((i) => 2 * i));
    // 3,000 items of 0.1 ms in slices of 4 ms: about 75. A busy machine makes slices shorter.
    expect(calls.length).toBeGreaterThan(10);
  });

  test('an error belongs to its request alone, with the position of its slice', async () => {
    const calls: number[][] = [];
    const queue = new RequestQueue();
    const call = doubling(calls);
    const results = await Promise.allSettled(
      [[1], [2, -1], [3]].map((items) => queue.ask({ key: 'a', kind: 'x', items, call })),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[2]).toMatchObject({ value: [6] });
    const late = await queue
      .ask({ key: 'a', kind: 'x', items: [...range(20_000), -1], call })
      .catch((error) => error);
    expect(late).toBeInstanceOf(SliceError);
    expect((late as SliceError).offset).toBeGreaterThan(0);
    expect(queue.length).toBe(0);
  });

  test('a request that was aborted is dropped', async () => {
    const calls: number[][] = [];
    const queue = new RequestQueue();
    const controller = new AbortController();
    const work = { key: 'a', kind: 'x', call: doubling(calls) };
    const dropped = queue
      .ask({ ...work, items: range(5), signal: controller.signal })
      .catch((error) => error);
    const kept = queue.ask({ ...work, items: [9] });
    controller.abort('gone');
    expect(await dropped).toBe('gone');
    expect(await kept).toEqual([18]);
    expect(calls).toEqual([[9]]);
  });

  test('every call is reported', async () => {
    const reports: unknown[] = [];
    const queue = new RequestQueue({ onCall: (report) => reports.push(report) });
    await Promise.all([1, 2].map((i) => queue.ask({ key: 'a', kind: 'x', items: [i], call: doubling([]) })));
    expect(reports).toEqual([{ kind: 'x', items: 2, requests: 2, seconds: expect.any(Number) }]);
  });
});
