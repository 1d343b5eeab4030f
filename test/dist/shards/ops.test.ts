/** Every operation of a graph spread over workers, in every mode, against one machine: results and all gradients. */
import { describe, expect, it } from 'vitest';
import { hasMpi, launch } from './launch.js';

describe.skipIf(!hasMpi)('operations on shards', () => {
  it.each([1, 2, 3, 4, 8])(
    'equal those on one machine with %i workers',
    async (ranks) => {
      const { code, lines, err } = await launch(ranks, 'ops-worker.ts');
      expect(lines.filter(({ problem }) => problem !== undefined)).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.filter(({ done }) => (done as number) > 500).length).toBe(ranks);
    },
    180_000,
  );
});
