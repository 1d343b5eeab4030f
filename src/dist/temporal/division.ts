/**
 * Who computes which events of a batch. A division cuts a batch into parts; every worker has the same number of them, and
 * any worker can tell what the others have.
 *
 * By place: consecutive chunks, always as many whatever the number of workers, so that what is computed for a chunk, and the
 * tree in which gradients of chunks are added, is the same on any number of workers. By owner: each event to the worker that
 * has most of its state; results then depend on the number of workers.
 */

import { range } from '../../temporal/batch-maker.js';
import { evenRange } from '../../util/arrays.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';

export interface Division {
  /** Number of parts of a worker. */
  readonly partsEach: number;
  /** Positions in the batch of the events of each part of a worker, ascending; a part may be empty. */
  positions(eventRows: Int32Array, worker: number): Int32Array[];
}

/** Consecutive chunks, the same number to each of `size` workers. */
export function divideByPlace(chunks: number, size: number): Division {
  checkInteger('divideByPlace', 'chunks', chunks, 1);
  if (chunks % size !== 0) {
    const advice = `Use ${divisors(chunks).join(', ')} workers, other chunks, or consistency local or stale_cache.`;
    throw new ValueError(
      expected('temporal training', `a divisor of ${chunks}`, 'the number of workers', size, advice),
    );
  }
  const partsEach = chunks / size;
  return {
    partsEach,
    positions: ({ length }, worker) =>
      Array.from({ length: partsEach }, (_, i) => {
        const chunk = worker * partsEach + i;
        const { start, end } = evenRange(length, chunk, chunks);
        return range(start, end);
      }),
  };
}

/** Each event to the worker that `ownerOf` names for its row; one part for each worker. */
export function divideByOwner(ownerOf: (eventRow: number) => number): Division {
  return {
    partsEach: 1,
    positions: (eventRows, worker) => {
      const positions = new Int32Array(eventRows.length);
      let count = 0;
      for (let i = 0; i < eventRows.length; i++) if (ownerOf(eventRows[i]) === worker) positions[count++] = i;
      return [positions.slice(0, count)];
    },
  };
}

function divisors(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);
}
