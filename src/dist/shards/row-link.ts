/**
 * Which rows workers need of each other: the fixed part of every exchange of a graph. Made once, with one exchange of ids;
 * afterwards only rows travel, in the order of these lists.
 *
 * Rows that a worker uses are numbered: its own first, then those of each other worker in rank order (its *halo*). The
 * link also counts what is sent, and numbers the operations so that messages of two operations are never taken for each other.
 */
import type { Communicator } from '../comm/communicator.js';
import { InputCache } from './input-cache.js';
import { RowCodec } from './row-codec.js';

export interface Traffic {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Messages sent. */
  readonly messages: number;
  /** Steps in which rows or gradients went round; a one-shot exchange is one. */
  readonly rounds: number;
}

interface Counters {
  operations: number;
  bytesSent: number;
  bytesReceived: number;
  messages: number;
  rounds: number;
}

/** Tags below are free for programs. */
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

/** What graphs on `comm` have exchanged so far. */
export function trafficOf(comm: Communicator): Traffic {
  const { bytesSent, bytesReceived, messages, rounds } = countersOf(comm);
  return { bytesSent, bytesReceived, messages, rounds };
}

export class RowLink {
  readonly comm: Communicator;
  /** Source rows this worker owns. */
  readonly numOwn: number;
  /** For each worker, which of this worker's rows it needs; ascending, none for this worker itself. */
  readonly indicesRequiredFromMe: readonly Int32Array[];
  /** How many rows come from each worker. */
  readonly sizesExpectedFromOthers: readonly number[];
  /** Where the rows of each worker begin among those used here; those of this worker at 0. */
  readonly starts: readonly number[];
  /** Own rows and halo. */
  readonly numUsed: number;
  /** How rows are encoded on their way; null: as they are. */
  codec: RowCodec | null = null;
  /** Rows of other workers that are kept. */
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
   * Collective. `needed[q]` are the ids wanted of worker q, ascending and unique; `rowOf` finds the own row of an id.
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

  /** A link of these rows with another communicator. */
  withComm(comm: Communicator): RowLink {
    const link = new RowLink(comm, this.numOwn, this.indicesRequiredFromMe, this.sizesExpectedFromOthers);
    // What rounding lost belongs to the messages of one communicator.
    link.codec = this.codec === null ? null : new RowCodec(this.codec.kind);
    return link;
  }

  /** The tag of the next operation, the same on all workers; the one after it is free as well. */
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
 * One link for the rows of several, own rows of each in turn. `places` says where every row used by each is among those used
 * by all. No exchange: both ends join their lists alike.
 */
export function joinLinks(links: readonly RowLink[]): { link: RowLink; places: Int32Array[] } {
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
  const places = links.map((each, i) => {
    const rows = new Int32Array(each.numUsed);
    for (let row = 0; row < each.numOwn; row++) rows[row] = ownStarts[i] + row;
    for (const q of workers) {
      if (q === comm.rank) continue;
      for (let k = 0; k < each.sizesExpectedFromOthers[q]; k++) rows[each.starts[q] + k] = next[q]++;
    }
    return rows;
  });
  return { link, places };
}
