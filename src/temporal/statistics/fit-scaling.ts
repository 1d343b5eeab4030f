/** Fits how numbers of pairs are standardised: mean and deviation over candidates of training events. */
import { pairNumbers } from '../../native/event-kernels.js';
import type { EventStream } from '../event-stream.js';
import { type EventStatistics, type Scaling, sliceEvents } from './event-statistics.js';
import type { TrainingCandidates } from './training-candidates.js';

/** Events whose candidates are described; more change the third digit. */
const sampled = 4000;
/** Events at the beginning, as a fraction, that have too little past to be typical. */
const skipped = 0.1;
const perCall = 500;
/** The kernel limits results to ±6; numbers of pairs are logarithms and fractions, below 6 times this. */
const reach = 64;

/**
 * Returns shift and scale by a pass over training events.
 *
 * @param statistics without events; all of `rows` are observed.
 * @param uses whether a number is used, by its position.
 */
export function fitScaling(
  statistics: EventStatistics,
  stream: EventStream,
  rows: Int32Array,
  candidates: TrainingCandidates,
  uses: (position: number) => boolean,
): Scaling {
  const { width } = statistics;
  const raw = { shift: new Float32Array(width), scale: new Float32Array(width).fill(1 / reach) };
  const [sums, squares, present] = Array.from({ length: 3 }, () => new Float64Array(width));
  let count = 0;
  const from = Math.floor(skipped * rows.length);
  const every = Math.max(1, Math.floor((rows.length - from) / sampled));
  const all = {
    src: rows.map((row) => stream.src[row]),
    dst: rows.map((row) => stream.dst[row]),
    times: Float64Array.from(rows, (row) => stream.time[row]),
  };
  for (let begin = 0; begin < rows.length; begin += perCall) {
    const events = sliceEvents(all, begin, Math.min(rows.length, begin + perCall));
    const queries = candidates.draw(
      statistics,
      events,
      rows[begin],
      begin,
      (i) => begin + i >= from && (begin + i) % every === 0,
    );
    const out = new Float32Array(queries.candidates.length * width);
    statistics.observe(events, queries, 'moment', { scaling: raw, out });
    for (let at = 0; at < out.length; at += width) {
      for (let f = 0; f < width; f++) {
        const number = out[at + f] * reach;
        sums[f] += number;
        squares[f] += number * number;
        if (number !== 0) present[f]++;
      }
    }
    count += queries.candidates.length;
  }
  return scalingOf({ sums, squares, present }, count, uses);
}

/** Sums over candidates by number. */
interface Sums {
  readonly sums: Float64Array;
  readonly squares: Float64Array;
  /** Candidates whose number is not 0. */
  readonly present: Float64Array;
}

function scalingOf(
  { sums, squares, present }: Sums,
  count: number,
  uses: (position: number) => boolean,
): Scaling {
  const shift = new Float32Array(sums.length);
  const scale = new Float32Array(sums.length);
  for (let f = 0; f < sums.length && count > 0; f++) {
    // Most candidates never met the source. The deviation of all would put those that did beyond the limit of inputs.
    const isRare = present[f] < count / 2;
    const mean = isRare ? 0 : sums[f] / count;
    const square = squares[f] / (isRare ? Math.max(1, present[f]) : count);
    const deviation = Math.sqrt(Math.max(0, square - mean * mean));
    shift[f] = mean;
    // A number that never changes has nothing to say.
    scale[f] = uses(f) && deviation > 1e-4 ? 1 / deviation : 0;
  }
  return { shift, scale };
}

/** The groups of numbers, which settings can switch off. */
export type NumberGroup = Exclude<keyof typeof pairNumbers, 'all'>;

/** Returns the group of a number by its position. */
export function groupOf(position: number): NumberGroup {
  const groups = Object.entries(pairNumbers).filter(([, begin]) => begin <= position);
  return groups[groups.length - 1][0] as NumberGroup;
}
