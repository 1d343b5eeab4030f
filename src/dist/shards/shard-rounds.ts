/**
 * The loop over shards that all operations on a partitioned graph are made of. In round r a worker receives rows from worker
 * rank − r and sends its own to worker rank + r; round 0 is its own shard, on rows in place. What a shard contributes to the
 * gradients of its sources goes back the same way.
 *
 * At most `depth` rounds are under way beyond the one that is computed, in both directions, so the memory of rows and
 * gradients in flight is bounded. No barriers: a worker waits only for the rows it is about to use, for gradients `depth`
 * rounds old, and for room to send. Sums are in round order, so the same number of workers gives the same bits. All workers
 * run the same operations in the same order; each has a tag of its own.
 */
import { kernels } from '../../native/index.js';
import type { Tensor } from '../../tensor/index.js';
import { sizeOf } from '../../tensor/shape.js';
import type { CommHandle } from '../comm/communicator.js';
import type { GraphShard } from './graph-shard.js';
import { PackedRows } from './packed-rows.js';
import type { RowLink } from './row-link.js';

/** Shards by the worker that owns their sources. */
export interface Sharded {
  readonly link: RowLink;
  readonly shards: readonly GraphShard[];
  /** Rounds under way ahead of the one that is computed. */
  readonly pipelineDepth: number;
}

export interface ShardWork {
  /** Contiguous tensors of one dtype, a row for each source owned here; none: no rows are fetched. */
  readonly fields: readonly Tensor[];
  /** Rows of remote shards that are here already, by owner; then nothing is fetched. */
  readonly kept?: ((owner: number) => readonly Tensor[]) | undefined;
  /** Gradients of sources to fill, for own rows: what visits of remote shards give is added in round order. */
  readonly gradients?: readonly Tensor[];
  /**
   * Computes one shard: the rows of its sources for each field; `gradients` must be written completely. The rows are
   * gone afterwards unless the visit returns 'keep'.
   */
  visit(shard: GraphShard, rows: readonly Tensor[], gradients: readonly Tensor[]): 'keep' | undefined;
}

interface Pending {
  readonly handle: CommHandle;
  readonly rows: PackedRows;
}

/** Messages sent whose memory is still in use. */
class Outbox {
  readonly #link: RowLink;
  readonly #tag: number;
  readonly #limit: number;
  readonly #pending: Pending[] = [];

  constructor(link: RowLink, tag: number, limit: number) {
    this.#link = link;
    this.#tag = tag;
    this.#limit = limit;
  }

  send(to: number, make: () => PackedRows): void {
    while (this.#pending.length >= this.#limit) this.#settleOldest();
    const rows = make();
    this.#pending.push({ handle: this.#link.comm.isend(to, rows.array, this.#tag), rows });
    this.#link.countSent(rows.bytes);
  }

  finish(): void {
    while (this.#pending.length > 0) this.#settleOldest();
  }

  #settleOldest(): void {
    const { handle, rows } = this.#pending.shift() as Pending;
    handle.wait();
    rows.dispose();
  }
}

/** Messages on their way here, by round. */
class Inbox {
  readonly #link: RowLink;
  readonly #tag: number;
  readonly #pending = new Map<number, Pending>();

  constructor(link: RowLink, tag: number) {
    this.#link = link;
    this.#tag = tag;
  }

  post(round: number, from: number, rows: PackedRows): void {
    this.#pending.set(round, { handle: this.#link.comm.irecv(from, rows.array, this.#tag), rows });
    this.#link.countReceived(rows.bytes);
  }

  /** Waits; null when the round has no message. */
  take(round: number): PackedRows | null {
    const pending = this.#pending.get(round);
    if (pending === undefined) return null;
    this.#pending.delete(round);
    pending.handle.wait();
    return pending.rows;
  }
}

/** Rows of the sources, round by round. */
class Fetch {
  readonly #link: RowLink;
  readonly #fields: readonly Tensor[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  #staged = 0;

  constructor(link: RowLink, fields: readonly Tensor[], depth: number, tag: number) {
    this.#link = link;
    this.#fields = fields;
    this.#outbox = new Outbox(link, tag, depth + 1);
    this.#inbox = new Inbox(link, tag);
  }

  /** Starts all rounds up to `last`. */
  stage(last: number): void {
    const { comm, indicesRequiredFromMe, sizesExpectedFromOthers } = this.#link;
    while (this.#staged < Math.min(last, comm.size - 1)) {
      const round = ++this.#staged;
      const from = (comm.rank - round + comm.size) % comm.size;
      const to = (comm.rank + round) % comm.size;
      const count = sizesExpectedFromOthers[from];
      if (count > 0) this.#inbox.post(round, from, PackedRows.allocate(count, this.#fields));
      const wanted = indicesRequiredFromMe[to];
      if (wanted.length > 0) this.#outbox.send(to, () => PackedRows.gather(this.#fields, wanted));
      this.#link.countRound();
    }
  }

  take(round: number): PackedRows | null {
    return this.#inbox.take(round);
  }

  finish(): void {
    this.#outbox.finish();
  }
}

/** Gradients of rows that were fetched, on their way back to the owners. */
class Return {
  readonly #link: RowLink;
  readonly #into: readonly Tensor[];
  readonly #depth: number;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  #added = 0;

  constructor(link: RowLink, into: readonly Tensor[], depth: number, tag: number) {
    this.#link = link;
    this.#into = into;
    this.#depth = depth;
    this.#outbox = new Outbox(link, tag, depth + 1);
    this.#inbox = new Inbox(link, tag);
  }

  /** Sends the gradients of a round and adds what has come in from rounds `depth` before it. */
  round(round: number, rows: PackedRows | null): void {
    const { comm, indicesRequiredFromMe } = this.#link;
    const to = (comm.rank - round + comm.size) % comm.size;
    const from = (comm.rank + round) % comm.size;
    const count = indicesRequiredFromMe[from].length;
    if (count > 0) this.#inbox.post(round, from, PackedRows.allocate(count, this.#into));
    if (rows !== null) this.#outbox.send(to, () => rows);
    this.#link.countRound();
    this.#add(round - this.#depth);
  }

  finish(): void {
    this.#add(this.#link.comm.size - 1);
    this.#outbox.finish();
  }

  #add(last: number): void {
    const { comm, indicesRequiredFromMe } = this.#link;
    while (this.#added < last) {
      const round = ++this.#added;
      const rows = this.#inbox.take(round);
      if (rows === null) continue;
      const ids = indicesRequiredFromMe[(comm.rank + round) % comm.size];
      for (const [i, t] of this.#into.entries()) {
        const width = sizeOf(t.shape.slice(1));
        kernels().scatterAddRows(ids, rows.fields[i].floats, t.floats, ids.length, t.shape[0], width);
      }
      rows.dispose();
    }
  }
}

/** Visits the own shard, then those of the other workers in the order of rounds; shards without edges are left out. */
export function forEachShard({ link, shards, pipelineDepth }: Sharded, work: ShardWork): void {
  const { rank, size } = link.comm;
  const { fields, kept } = work;
  const gradients = work.gradients ?? [];
  const tag = link.nextTag();
  const fetch = fields.length > 0 && kept === undefined ? new Fetch(link, fields, pipelineDepth, tag) : null;
  const back = gradients.length > 0 ? new Return(link, gradients, pipelineDepth, tag + 1) : null;
  fetch?.stage(pipelineDepth);
  work.visit(shards[rank], fields, gradients);
  for (let round = 1; round < size; round++) {
    fetch?.stage(round + pipelineDepth);
    const shard = shards[(rank - round + size) % size];
    const rows = fetch?.take(round) ?? null;
    let sent: PackedRows | null = null;
    if (shard.numSrc > 0) {
      if (back !== null) sent = PackedRows.allocate(shard.numSrc, gradients);
      const given = rows?.fields ?? kept?.(shard.owner) ?? [];
      const keep = work.visit(shard, given, sent?.fields ?? []);
      if (keep === 'keep') rows?.disposeBlock();
      else rows?.dispose();
    }
    back?.round(round, sent);
  }
  fetch?.finish();
  back?.finish();
}
