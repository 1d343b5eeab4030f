/**
 * How a stream is split into batches: consecutive events, in time order.
 *
 * Random chunk scheduling (Zhou et al. 2022, TGL, algorithm 2): with `chunks` r a batch consists of r equal chunks, and every epoch
 * starts with a short batch of 0 … r − 1 chunks, so that the same events do not always share a batch. With `tieGroups` a boundary
 * moves forward until the time changes, so that the order of events of one time has no effect. With `windowOf` a batch also ends at
 * the end of a time window.
 */
import { checkInteger, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';

export interface BatchRowsOptions {
  readonly batchSize: number;
  /** Chunks per batch for random chunk scheduling; 1 = batches begin at the first event. */
  readonly chunks?: number;
  /** Never split events of one time between batches (the default): otherwise the second half sees the first. */
  readonly tieGroups?: boolean;
  readonly seed?: number;
  /** Returns the number of the window of a time, for models in discrete time: no batch spans two windows. */
  readonly windowOf?: (time: number) => number;
}

/** Returns the positions at which batches begin, with the end: batch i has the rows boundaries[i] … boundaries[i + 1] − 1. */
export function batchBoundaries(
  times: (position: number) => number,
  count: number,
  options: BatchRowsOptions,
  epoch: number,
): Int32Array {
  checkOptionNames('batchBoundaries', options, {
    batchSize: true,
    chunks: true,
    tieGroups: true,
    seed: true,
    windowOf: true,
  });
  const { chunks = 1, tieGroups = true, seed = 0, windowOf } = options;
  const batchSize = checkInteger('TemporalLoader', 'batchSize', options.batchSize, 1);
  checkInteger('TemporalLoader', 'chunks', chunks, 1);
  if (batchSize % chunks !== 0)
    throw new ValueError(
      expected('TemporalLoader', `a divisor of the batch size ${batchSize}`, 'chunks', chunks),
    );
  const offset =
    chunks === 1 ? 0 : new Random(seed, chunkStream).split(epoch).nextInt(chunks) * (batchSize / chunks);
  const boundaries = [0];
  const windowEnd =
    windowOf === undefined ? null : (from: number) => endOfWindow(times, count, windowOf, from);
  let end = windowEnd?.(0) ?? count;
  let next = offset === 0 ? batchSize : offset;
  while (Math.min(next, end) < count) {
    if (tieGroups) while (next < count && times(next) === times(next - 1)) next += 1;
    next = Math.min(next, end);
    if (next >= count) break;
    boundaries.push(next);
    if (next === end) end = windowEnd?.(next) ?? count;
    next += batchSize;
  }
  if (count > 0) boundaries.push(count);
  return Int32Array.from(boundaries);
}

/** Returns the first position after `from` that is in another window. */
function endOfWindow(
  times: (position: number) => number,
  count: number,
  windowOf: (time: number) => number,
  from: number,
): number {
  let end = from;
  if (from < count)
    for (const window = windowOf(times(from)); end < count && windowOf(times(end)) === window; ) end++;
  return end;
}

/** Separates these draws from others with the same seed. */
const chunkStream = 0x63686e6b;
