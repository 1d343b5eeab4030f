/**
 * The rows that workers need from each other: the fixed component of every exchange of a graph. Made once, with one
 * exchange of ids; afterwards only rows are sent, in the order of these lists.
 *
 * Rows that a worker uses are numbered: its own first, then those of each other worker in rank order (its *halo*). The
 * link also counts traffic, and numbers operations so that messages of two operations are never confused.
 */
import type { Communicator } from '../comm/communicator.js';
import { InputCache } from './input-cache.js';
import { RowCodec } from './row-codec.js';

export interface Traffic {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Messages sent. */
  readonly messages: number;
  /** Steps in which rows or gradients were exchanged; a one-shot exchange is one. */
  readonly rounds: number;
}

interface Counters {
  operations: number;
  bytesSent: number;
  bytesReceived: number;
  messages: number;
  rounds: number;
}

/** Lower tags are free for programs. */
const firstTag = 2 ** 40;

/** By communicator, not by graph: all graphs of a program share its message tags. */
const counters = new WeakMap<Communicator, Counters>();

function countersOf(comm: Communicator): Counters {
  let found = counters.get(comm);
  if (found === undefined) {
    found = { operations: 0, bytesSent: 0, bytesReceived: 0, messages: 0, rounds: 0 };
    counters.set(comm, found);
  }
  return found;
}

/** Returns what graphs on `comm` have exchanged so far. */
export function trafficOf(comm: Communicator): Traffic {
  const { bytesSent, bytesReceived, messages, rounds } = countersOf(comm);
  return { bytesSent, bytesReceived, messages, rounds };
}

export class RowLink {
  readonly comm: Communicator;
  /** Source rows this worker owns. */
  readonly numOwn: number;
  /** For each worker, the rows of this worker that it needs; ascending, none for this worker itself. */
  readonly indicesRequiredFromMe: readonly Int32Array[];
  /** Number of rows fetched from each worker. */
  readonly sizesExpectedFromOthers: readonly number[];
  /** Index of the first row of each worker among those used here; 0 for this worker. */
  readonly starts: readonly number[];
  /** Own rows and halo. */
  readonly numUsed: number;
  /** Encodes rows in messages; null: no encoding. */
  codec: RowCodec | null = null;
  /** Cached rows of other workers. */
  readonly inputs = new InputCache();
  readonly #counters: Counters;

  constructor(
    comm: Communicator,
    numOwn: number,
    indicesRequiredFromMe: readonly Int32Array[],
    sizesExpectedFromOthers: readonly number[],
  ) {
    this.comm = comm;
    this.numOwn = numOwn;
    this.indicesRequiredFromMe = indicesRequiredFromMe;
    this.sizesExpectedFromOthers = sizesExpectedFromOthers;
    let used = numOwn;
    this.starts = sizesExpectedFromOthers.map((count, worker) => {
      if (worker === comm.rank) return 0;
      used += count;
      return used - count;
    });
    this.numUsed = used;
    this.#counters = countersOf(comm);
  }

  /**
   * Collective. `needed[q]` are the ids needed from worker q, ascending and unique; `rowOf` maps an id to an own row.
   */
  static connect(
    comm: Communicator,
    numOwn: number,
    needed: readonly Int32Array[],
    rowOf: (id: number) => number,
  ): RowLink {
    const asked = comm.allToAllv(
      needed.map((ids, worker) => (worker === comm.rank ? new Int32Array(0) : ids)),
    );
    return new RowLink(
      comm,
      numOwn,
      asked.map((ids) => ids.map(rowOf)),
      needed.map((ids, worker) => (worker === comm.rank ? 0 : ids.length)),
    );
  }

  /** Returns a link of these rows with another communicator. */
  withComm(comm: Communicator): RowLink {
    const link = new RowLink(comm, this.numOwn, this.indicesRequiredFromMe, this.sizesExpectedFromOthers);
    // Rounding errors belong to the messages of one communicator.
    link.codec = this.codec === null ? null : new RowCodec(this.codec.kind);
    return link;
  }

  /** Returns the tag of the next operation, the same on all workers; the next higher tag is reserved for it too. */
  nextTag(): number {
    return firstTag + 2 * this.#counters.operations++;
  }

  countRound(): void {
    this.#counters.rounds++;
  }

  countSent(bytes: number): void {
    this.#counters.bytesSent += bytes;
    this.#counters.messages++;
  }

  countReceived(bytes: number): void {
    this.#counters.bytesReceived += bytes;
  }
}

/**
 * Joins several links to one, with the own rows of each in turn. `positions` maps the rows used by each to those used
 * by all. No exchange: both ends join their lists in the same way.
 */
export function joinLinks(links: readonly RowLink[]): { link: RowLink; positions: Int32Array[] } {
  const { comm } = links[0];
  const ownStarts: number[] = [];
  let numOwn = 0;
  for (const each of links) {
    ownStarts.push(numOwn);
    numOwn += each.numOwn;
  }
  const workers = links[0].sizesExpectedFromOthers.map((_, q) => q);
  const required = workers.map((q) => {
    const rows = new Int32Array(links.reduce((sum, each) => sum + each.indicesRequiredFromMe[q].length, 0));
    let at = 0;
    for (const [i, each] of links.entries())
      for (const row of each.indicesRequiredFromMe[q]) rows[at++] = row + ownStarts[i];
    return rows;
  });
  const sizes = workers.map((q) => links.reduce((sum, each) => sum + each.sizesExpectedFromOthers[q], 0));
  const link = new RowLink(comm, numOwn, required, sizes);
  link.codec = links[0].codec;
  const next = [...link.starts];
  const positions = links.map((each, i) => {
    const rows = new Int32Array(each.numUsed);
    for (let row = 0; row < each.numOwn; row++) rows[row] = ownStarts[i] + row;
    for (const q of workers) {
      if (q === comm.rank) continue;
      for (let k = 0; k < each.sizesExpectedFromOthers[q]; k++) rows[each.starts[q] + k] = next[q]++;
    }
    return rows;
  });
  return { link, positions };
}
