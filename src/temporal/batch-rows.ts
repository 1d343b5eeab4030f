/**
 * How a stream is cut into batches: consecutive events, in time order.
 *
 * Random chunk scheduling (Zhou et al. 2022, TGL, algorithm 2): with `chunks` r a batch consists of r equal parts, and every
 * epoch starts with a short batch of 0 … r − 1 parts, so that the same events do not always share a batch. With `tieGroups` a
 * boundary moves forward until the time changes: events of one instant are never told apart by their order.
 */
import { checkInteger, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';

export interface BatchRowsOptions {
  readonly batchSize: number;
  /** Parts of a batch for random chunk scheduling; 1 = batches begin at the first event. */
  readonly chunks?: number;
  /** Never split events of one time between batches (the default): else the second half knows of the first. */
  readonly tieGroups?: boolean;
  readonly seed?: number;
}

/** Positions at which batches begin, with the end: batch i has the rows boundaries[i] … boundaries[i + 1]. */
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
  });
  const { chunks = 1, tieGroups = true, seed = 0 } = options;
  const batchSize = checkInteger('TemporalLoader', 'batchSize', options.batchSize, 1);
  checkInteger('TemporalLoader', 'chunks', chunks, 1);
  if (batchSize % chunks !== 0)
    throw new ValueError(
      expected('TemporalLoader', `a divisor of the batch size ${batchSize}`, 'chunks', chunks),
    );
  const offset =
    chunks === 1 ? 0 : new Random(seed, chunkStream).split(epoch).nextInt(chunks) * (batchSize / chunks);
  const boundaries = [0];
  let next = offset === 0 ? batchSize : offset;
  while (next < count) {
    if (tieGroups) while (next < count && times(next) === times(next - 1)) next += 1;
    if (next >= count) break;
    boundaries.push(next);
    next += batchSize;
  }
  if (count > 0) boundaries.push(count);
  return Int32Array.from(boundaries);
}

/** Keeps these draws apart from others with the same seed. */
const chunkStream = 0x63686e6b;
