/** UMAP keeps groups apart, is the same for the same rows, and takes rows of every kind. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../util/philox.js';
import { umap } from './umap.js';

/** Groups of rows around random directions. */
function groups(count: number, each: number, width: number): Float32Array {
  const random = new Random(3);
  const centres = Array.from({ length: count * width }, () => random.nextFloat() - 0.5);
  return Float32Array.from(
    { length: count * each * width },
    (_, i) =>
      centres[Math.floor(i / (each * width)) * width + (i % width)] + 0.1 * (random.nextFloat() - 0.5),
  );
}

describe('umap', () => {
  it('puts rows next to rows of their group', async () => {
    const [count, each] = [5, 40];
    const { x, y } = await umap(groups(count, each, 16), 16, { epochs: 200 });
    let right = 0;
    for (let i = 0; i < x.length; i++) {
      let [best, least] = [-1, Number.POSITIVE_INFINITY];
      for (let j = 0; j < x.length; j++) {
        const far = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2;
        if (j !== i && far < least) [best, least] = [j, far];
      }
      if (Math.floor(best / each) === Math.floor(i / each)) right++;
    }
    // Groups are ten times narrower than their distances.
    expect(right / x.length).toBeGreaterThan(0.98);
  });

  it('gives equal maps for equal rows and seeds, and others for other seeds', async () => {
    const rows = groups(3, 20, 8);
    const [first, again, other] = [
      await umap(rows, 8),
      await umap(rows, 8),
      await umap(rows, 8, { seed: 2 }),
    ];
    expect(again).toEqual(first);
    expect(other.x).not.toEqual(first.x);
  });

  it.each([
    ['no rows', new Float32Array(0)],
    ['one row', new Float32Array(4).fill(1)],
    ['two rows', new Float32Array(8).fill(1)],
    ['equal rows', new Float32Array(80).fill(1)],
    ['rows of zeros', new Float32Array(80)],
    [
      'rows that are not finite',
      Float32Array.from({ length: 80 }, (_, i) => (i % 9 === 0 ? Number.NaN : i % 5)),
    ],
  ])('takes %s', async (_, rows) => {
    const { x, y } = await umap(rows, 4, { epochs: 20 });
    expect(x.length).toBe(rows.length / 4);
    expect([...x, ...y].every((value) => Number.isFinite(value) || rows.some(Number.isNaN))).toBe(true);
  });

  it('reports progress while it looks for neighbours, and ends there when it is asked to', async () => {
    const rows = groups(4, 50, 4);
    const reported: number[] = [];
    await umap(rows, 4, { epochs: 5, onProgress: (done) => reported.push(done) });
    // 200 rows are four groups of at most 64; neighbours are a fifth of the work.
    expect(reported.slice(0, 4)).toEqual([64, 128, 192, 200].map((count) => 0.2 * (count / 200)));
    const ending = new AbortController();
    const seen: number[] = [];
    const map = umap(rows, 4, {
      signal: ending.signal,
      onProgress: (done) => {
        seen.push(done);
        ending.abort();
      },
    });
    await expect(map).rejects.toThrow(/abort/i);
    expect(seen).toHaveLength(1);
  });

  it('rejects settings without meaning, and ends when it is asked to', async () => {
    const rows = groups(2, 10, 4);
    await expect(umap(rows, 4, { neighbors: 1 })).rejects.toThrow('neighbors');
    await expect(umap(rows, 4, { epochs: 0 })).rejects.toThrow('epochs');
    await expect(umap(rows, 4, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });
});
