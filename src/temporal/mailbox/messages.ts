/**
 * The mail of a batch of events. An event i between u and v at time t sends two mails: [m_u ‖ m_v] to u and
 * [m_v ‖ m_u] to v, both of time t and event i; the features of the event are found by its row and not copied. An event
 * of a node with itself is one mail. With a hop, every sampled neighbour of an end gets that end's mail as well; a node's
 * own mail of an event takes precedence over one that it gets as a neighbour.
 */
import { kernels } from '../../native/index.js';
import type { TemporalHop } from '../../sample/temporal-hop.js';
import { Tensor } from '../../tensor/index.js';
import { DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkNodes, type MailDelta } from './check-delta.js';
import type { LatestFinder } from './merge.js';
import type { StateSizes } from './state.js';

export interface MailEvents {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly times: Float64Array;
  readonly eventRows: Int32Array;
  /** Memory after the update [R, D]. */
  readonly memory: Tensor;
  /** Row of `memory` of every event's ends; without them row i is the source of event i and row B + i its destination. */
  readonly srcRows?: Int32Array;
  readonly dstRows?: Int32Array;
  /** Embeddings of the roots [numRoots, D], needed for the two flags below. */
  readonly embeddings?: Tensor | null;
  /** Row of `embeddings`, and destination row of `hop`, of every event's ends; the default is that of `srcRows`. */
  readonly srcRoots?: Int32Array;
  readonly dstRoots?: Int32Array;
  /** A mail's own half is the embedding instead of the memory. */
  readonly useSrcEmb?: boolean;
  /** The other end's half is the embedding instead of the memory. */
  readonly useDstEmb?: boolean;
  /** Sampled neighbours of the roots, for delivery to neighbours. */
  readonly hop?: TemporalHop | null;
}

/** Mail 2i goes to the source of event i, mail 2i + 1 to its destination; `mails` is the mail of each candidate. */
interface Candidates {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
  readonly events: Int32Array;
  readonly mails: Int32Array;
}

interface EventRoots {
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** Returns the mail of a batch. @param finder null: all mails stay, for a mailbox that takes their mean. */
export function makeMail(
  events: MailEvents,
  sizes: StateSizes,
  toNeighbors: boolean,
  finder: LatestFinder | null,
): MailDelta {
  const where = 'getUpdateMail';
  checkEvents(where, events, sizes.numNodes);
  const memoryRows = endRows(where, 'memory', events, events.memory.shape[0]);
  const roots = rootRows(where, events, toNeighbors);
  let found = candidates(events, toNeighbors ? roots : null);
  if (finder !== null) {
    const { rows } = finder.find(found.nodes, found.times, found.events);
    found = take(found, rows);
  }
  const { nodes: mailNodes, times: mailTime, events: mailEvents, mails } = found;
  if (toNeighbors) checkNodes(where, 'hop', mailNodes, sizes.numNodes);
  return { mailNodes, mail: mailRows(where, events, sizes, memoryRows, roots, mails), mailTime, mailEvents };
}

function checkEvents(where: string, events: MailEvents, numNodes: number): void {
  const { src, dst, times, eventRows } = events;
  const n = src.length;
  for (const [name, list] of Object.entries({ dst, times, eventRows })) {
    if (list.length !== n) throw new ShapeError(expected(where, `${n} elements`, name, list.length));
  }
  checkNodes(where, 'src', src, numNodes);
  checkNodes(where, 'dst', dst, numNodes);
}

function endRows(where: string, name: 'memory' | 'root', events: MailEvents, count: number): EventRoots {
  const n = events.src.length;
  const given = name === 'memory' ? [events.srcRows, events.dstRows] : [events.srcRoots, events.dstRoots];
  const [src, dst] = given.map((rows, end) => rows ?? Int32Array.from({ length: n }, (_, i) => end * n + i));
  for (const rows of [src, dst]) {
    const bad = kernels().findOutOfRange(rows, rows.length, 0, count);
    if (rows.length !== n || bad >= 0) {
      const got = rows.length !== n ? `${rows.length} rows` : rows[bad];
      throw new ValueError(expected(where, `${n} rows below ${count}`, `the ${name} rows of events`, got));
    }
  }
  return { src, dst };
}

function rootRows(where: string, events: MailEvents, toNeighbors: boolean): EventRoots | null {
  const { hop = null, embeddings = null, useSrcEmb = false, useDstEmb = false } = events;
  if (toNeighbors && hop === null) {
    const advice = 'Pass the hop next to the roots.';
    throw new ValueError(expected(where, 'sampled neighbours', 'hop', hop, advice));
  }
  const needed = useSrcEmb || useDstEmb;
  if (needed && embeddings === null) {
    throw new ValueError(
      expected(where, 'embeddings', 'embeddings', null, 'Or leave useSrcEmb and useDstEmb.'),
    );
  }
  if (!toNeighbors && !needed) return null;
  const counts = [toNeighbors ? hop?.numDst : undefined, needed ? embeddings?.shape[0] : undefined];
  return endRows(where, 'root', events, Math.min(...counts.filter((count) => count !== undefined)));
}

function candidates(events: MailEvents, roots: EventRoots | null): Candidates {
  const { src, dst, times, eventRows, hop = null } = events;
  const capacity = 2 * src.length + numDeliveries(hop, roots);
  const nodes = new Int32Array(capacity);
  const mails = new Int32Array(capacity);
  let count = 0;
  for (let i = 0; i < src.length; i++) {
    const ends = src[i] === dst[i] ? 1 : 2;
    for (let end = 0; end < ends && hop !== null && roots !== null; end++) {
      const root = end === 0 ? roots.src[i] : roots.dst[i];
      for (let e = hop.indptr[root]; e < hop.indptr[root + 1]; e++) {
        nodes[count] = hop.srcNodes[hop.sources[e]];
        mails[count++] = 2 * i + end;
      }
    }
    for (let end = 0; end < ends; end++) {
      nodes[count] = end === 0 ? src[i] : dst[i];
      mails[count++] = 2 * i + end;
    }
  }
  const found = { times: new Float64Array(count), events: new Int32Array(count) };
  for (let c = 0; c < count; c++) {
    found.times[c] = times[mails[c] >> 1];
    found.events[c] = eventRows[mails[c] >> 1];
  }
  return { ...found, nodes: nodes.subarray(0, count), mails: mails.subarray(0, count) };
}

/** Returns the maximum number of mails to neighbours. */
function numDeliveries(hop: TemporalHop | null, roots: EventRoots | null): number {
  if (hop === null || roots === null) return 0;
  let sum = 0;
  for (const list of [roots.src, roots.dst]) {
    for (let i = 0; i < list.length; i++) sum += hop.indptr[list[i] + 1] - hop.indptr[list[i]];
  }
  return sum;
}

function take({ nodes, times, events, mails }: Candidates, rows: Int32Array): Candidates {
  const n = rows.length;
  const taken = {
    nodes: new Int32Array(n),
    times: new Float64Array(n),
    events: new Int32Array(n),
    mails: new Int32Array(n),
  };
  for (let i = 0; i < n; i++) {
    taken.nodes[i] = nodes[rows[i]];
    taken.times[i] = times[rows[i]];
    taken.events[i] = events[rows[i]];
    taken.mails[i] = mails[rows[i]];
  }
  return taken;
}

/** [mails, 2D]: seen as [2 · mails, D] the own halves are the even rows, those of the other end the odd ones. */
function mailRows(
  where: string,
  events: MailEvents,
  sizes: StateSizes,
  memoryRows: EventRoots,
  roots: EventRoots | null,
  mails: Int32Array,
): Tensor {
  const n = mails.length;
  const { width } = sizes;
  const out = Tensor.allocate(sizes.dtype, [n, 2 * width]);
  const rowBytes = width * out.floats.BYTES_PER_ELEMENT;
  const flags = [events.useSrcEmb === true, events.useDstEmb === true];
  const source = (embedded: boolean): Tensor => (embedded ? (events.embeddings as Tensor) : events.memory);
  // When both halves come from one tensor, one gather does it.
  const together = flags[0] === flags[1];
  const ids = new Int32Array(2 * n);
  for (let half = 0; half < 2; half++) {
    const { src, dst } = flags[half] ? (roots as EventRoots) : memoryRows;
    for (let i = 0; i < n; i++) {
      const toSource = (mails[i] & 1) === half;
      ids[2 * i + half] = (toSource ? src : dst)[mails[i] >> 1];
    }
  }
  if (together) {
    const rows = checkWidth(where, source(flags[0]), sizes);
    kernels().gatherRows(rows.dataSync(), ids, out.floats, 2 * n, rowBytes);
    return out;
  }
  for (let half = 0; half < 2; half++) {
    const rows = checkWidth(where, source(flags[half]), sizes);
    const picked = ids.filter((_, i) => i % 2 === half);
    const part = Tensor.allocate(sizes.dtype, [n, width]);
    kernels().gatherRows(rows.dataSync(), picked, part.floats, n, rowBytes);
    const places = Int32Array.from({ length: n }, (_, i) => 2 * i + half);
    kernels().putRows(part.floats, places, out.floats, n, rowBytes);
  }
  return out;
}

function checkWidth(where: string, rows: Tensor, { width, dtype }: StateSizes): Tensor {
  if (rows.dtype !== dtype)
    throw new DTypeError(expected(where, `dtype ${dtype}`, 'memory and embeddings', rows.dtype));
  if (rows.rank !== 2 || rows.shape[1] !== width) {
    const got = `[${rows.shape.join(', ')}]`;
    throw new ShapeError(expected(where, `shape [rows, ${width}]`, 'memory and embeddings', got));
  }
  return rows;
}
