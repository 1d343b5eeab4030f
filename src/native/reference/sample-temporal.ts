/** Sampling from a stream of events as plain loops: the definition of `sampleTemporalHop` (see kernels.ts). */
import type { Kernels } from '../kernels.js';
import {
  cutoffOf,
  type EntryRange,
  findCandidates,
  pickEntries,
  RowWords,
  takenOf,
} from './temporal-draws.js';

export const temporalSampleTwins = {
  sampleTemporalHop(args) {
    const { starts, neighbors, rows, time, limit, weights, nodes, times, cutoffs, numDst, strategy } = args;
    const { fanout, from, to, propTime, unique, key, step, tag, indptr, sources, eventRows, spans } = args;
    const { capacity } = args;
    const stream = { starts, rows, time, limit, weights };
    const rule = { strategy, fanout, from, to };
    const words = new RowWords(key, step, tag);
    const ranges: EntryRange[] = [];
    indptr[0] = 0;
    for (let i = 0; i < numDst; i++) {
      cutoffs[i] = cutoffOf(stream, cutoffs[i], times[i]);
      ranges.push(findCandidates(stream, rule, nodes[i], times[i], cutoffs[i]));
      indptr[i + 1] = takenOf(stream, rule, ranges[i]);
    }
    let edges = 0;
    for (let i = 0; i < numDst; i++) edges += indptr[i + 1];
    if (edges > capacity) return -1 - edges;
    const rowsOfTime = new Map<number, Map<number, number>>();
    let count = 0;
    /** The row of a pair: the one that has it, or the next free one. */
    const rowOf = (node: number, t: number): number => {
      const known = rowsOfTime.get(t) ?? new Map<number, number>();
      if (known.size === 0) rowsOfTime.set(t, known);
      const row = known.get(node) ?? count;
      if (row === count) known.set(node, row);
      return row;
    };
    for (; count < numDst; count++) if (unique) rowOf(nodes[count], times[count]);
    for (let i = 0; i < numDst; i++) {
      const begin = indptr[i];
      const end = begin + indptr[i + 1];
      indptr[i + 1] = end;
      words.restart(nodes[i], cutoffs[i]);
      pickEntries(stream, rule, ranges[i], words, eventRows.subarray(begin, end));
      for (let e = begin; e < end; e++) {
        const node = neighbors[eventRows[e]];
        const event = rows[eventRows[e]];
        eventRows[e] = event;
        spans[e] = times[i] - time[event];
        const t = propTime ? times[i] : time[event];
        sources[e] = unique ? rowOf(node, t) : count;
        if (sources[e] !== count) continue;
        nodes[count] = node;
        times[count] = t;
        cutoffs[count++] = propTime ? cutoffs[i] : -2 - event;
      }
    }
    return count;
  },
} satisfies Partial<Kernels>;
