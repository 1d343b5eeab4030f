/** The cache against a plain model of SIEVE, and lists of ids against plain maps. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdRows } from '../sampling/id-rows.js';
import { OwnerRanges } from './owner-routes.js';
import { RowCache } from './row-cache.js';

/** SIEVE as its paper describes it: a queue, newest first, and a hand that walks towards the newest. */
class Model {
  readonly queue: { id: number; seen: boolean }[] = [];
  hand: { id: number; seen: boolean } | null = null;

  constructor(readonly capacity: number) {}

  use(id: number): boolean {
    const entry = this.queue.find((other) => other.id === id);
    if (entry !== undefined) {
      entry.seen = true;
      return true;
    }
    if (this.queue.length === this.capacity) this.evict();
    this.queue.unshift({ id, seen: false });
    return false;
  }

  evict(): void {
    let at = this.hand === null ? this.queue.length - 1 : this.queue.indexOf(this.hand);
    while (this.queue[at].seen) {
      this.queue[at].seen = false;
      at = at === 0 ? this.queue.length - 1 : at - 1;
    }
    this.hand = at === 0 ? null : this.queue[at - 1];
    this.queue.splice(at, 1);
  }

  drop(id: number): void {
    const at = this.queue.findIndex((other) => other.id === id);
    if (at < 0) return;
    if (this.hand === this.queue[at]) this.hand = at === 0 ? null : this.queue[at - 1];
    this.queue.splice(at, 1);
  }
}

describe('RowCache', () => {
  it('finds and evicts the same rows as SIEVE', () => {
    const steps = fc.array(fc.tuple(fc.nat(11), fc.nat(9)), { maxLength: 80 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 6 }), (list, capacity) => {
        const cache = new RowCache('f32', capacity, 2);
        const model = new Model(capacity);
        const out = new Float32Array(2);
        for (const [id, action] of list) {
          if (action === 0) {
            cache.drop(Int32Array.of(id));
            model.drop(id);
            continue;
          }
          const hit = cache.take(id, out, 0);
          expect(hit).toBe(model.use(id));
          if (hit) expect([...out]).toEqual([id, id + 0.5]);
          else cache.keep(id, Float32Array.of(id, id + 0.5), 0);
          expect(cache.size).toBe(model.queue.length);
        }
      }),
    );
  });

  it('is empty after clear and can be used again', () => {
    const cache = new RowCache('i32', 2, 1);
    for (const id of [1, 2, 3]) cache.keep(id, Int32Array.of(id), 0);
    cache.clear();
    expect(cache.size).toBe(0);
    for (const id of [4, 5, 6]) cache.keep(id, Int32Array.of(id), 0);
    expect([4, 5, 6].filter((id) => cache.has(id)).length).toBe(2);
  });
});

it('IdRows numbers ids by first appearance, also when it grows', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(3000), { maxLength: 900 }), { maxLength: 4 }), (lists) => {
      const rows = new IdRows();
      const known = new Map<number, number>();
      for (const list of lists) {
        const want = list.map((id) => {
          if (!known.has(id)) known.set(id, known.size);
          return known.get(id);
        });
        expect([...rows.add(Int32Array.from(list))]).toEqual(want);
      }
      expect([...rows.from(0)]).toEqual([...known.keys()]);
    }),
  );
});

it('OwnerRanges splits ids by owner and keeps their positions, also with empty ranges', () => {
  const sizes = fc.array(fc.nat(7), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(1000), { maxLength: 30 }), (list, picks) => {
      let end = 0;
      const ranges = list.map((size) => {
        end += size;
        return { start: end - size, end };
      });
      fc.pre(end > 0);
      const owners = new OwnerRanges('test', ranges);
      const ids = Int32Array.from(picks, (pick) => pick % end);
      const back = new Int32Array(ids.length).fill(-1);
      for (const { owner, rows, positions } of owners.split(ids))
        rows.forEach((row, i) => {
          expect(row).toBeLessThan(list[owner]);
          back[positions[i]] = ranges[owner].start + row;
        });
      expect(back).toEqual(ids);
    }),
  );
});
