/**
 * A stream of events as a sequence of graphs, for models in discrete time: one per window of equal length, in order. A
 * window is [from, to); the last one also has the events at its end. Events of one pair stay several edges.
 */
import { Graph, type TemporalGraph } from '../../graph/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export interface SnapshotsOptions {
  /** Length of a window in the time unit of the events. Either this or `count`. */
  readonly duration?: number;
  /** Windows to cut the stream into. */
  readonly count?: number;
  /** Keep the edges of earlier windows. Default false. */
  readonly cumulative?: boolean;
}

export interface Snapshot {
  /** All nodes of the stream; an undirected stream gives both directions of every event. */
  readonly graph: Graph;
  readonly from: number;
  readonly to: number;
  /** Events of the graph: rows firstRow … endRow − 1 of the stream. */
  readonly firstRow: number;
  readonly endRow: number;
}

/**
 * @example
 * const snapshots = snapshotsOf(stream, { count: 20 });
 * const h = model.forward(snapshots.map((s) => s.graph), features);
 */
export function snapshotsOf(stream: TemporalGraph, options: SnapshotsOptions): Snapshot[] {
  checkOptionNames('snapshotsOf', options, { duration: true, count: true, cumulative: true });
  const { cumulative = false } = options;
  const { numEvents, time } = stream;
  if ((options.duration === undefined) === (options.count === undefined))
    throw new ValueError(
      expected('snapshotsOf', 'either duration or count', 'options', Object.keys(options).join(', ')),
    );
  if (numEvents === 0) return [];
  const start = time[0];
  const length = time[numEvents - 1] - start;
  const { duration, count } = windows(options, length);
  const boundary = (i: number): number => (i === count ? start + duration * count : start + i * duration);
  const rows = Array.from({ length: count + 1 }, (_, i) =>
    i === count ? numEvents : Math.min(numEvents, stream.cutoff(boundary(i))),
  );
  return Array.from({ length: count }, (_, i) => {
    const firstRow = cumulative ? 0 : rows[i];
    const graph = graphOf(stream, firstRow, rows[i + 1]);
    return { graph, from: boundary(i), to: boundary(i + 1), firstRow, endRow: rows[i + 1] };
  });
}

function windows(options: SnapshotsOptions, length: number): { duration: number; count: number } {
  if (options.count !== undefined) {
    const count = checkInteger('snapshotsOf', 'count', options.count, 1, 2 ** 24);
    return { duration: length / count, count };
  }
  const duration = checkNumber('snapshotsOf', 'duration', options.duration, 0);
  const count = Math.max(1, Math.ceil(length / duration));
  if (!(duration > 0) || count > 2 ** 24)
    throw new ValueError(
      expected('snapshotsOf', `a length that cuts ${length} into at most 2^24 windows`, 'duration', duration),
    );
  // An event at the end of the last full window opens no window of its own.
  return { duration, count };
}

function graphOf(stream: TemporalGraph, from: number, to: number): Graph {
  return graphOfEdges(stream.src.subarray(from, to), stream.dst.subarray(from, to), stream);
}

/** The graph of some events; of an undirected stream both directions of each. */
export function graphOfEdges(
  src: Int32Array,
  dst: Int32Array,
  { directed, numNodes }: { readonly directed: boolean; readonly numNodes: number },
): Graph {
  if (directed) return Graph.fromEdges(src.slice(), dst.slice(), { numNodes });
  const loops = src.reduce((count, node, i) => count + (node === dst[i] ? 1 : 0), 0);
  const both = [new Int32Array(2 * src.length - loops), new Int32Array(2 * src.length - loops)];
  let n = 0;
  for (let i = 0; i < src.length; i++) {
    both[0][n] = src[i];
    both[1][n++] = dst[i];
    if (src[i] === dst[i]) continue;
    both[0][n] = dst[i];
    both[1][n++] = src[i];
  }
  return Graph.fromEdges(both[0], both[1], { numNodes });
}
