/**
 * The loop over shards that all operations on a partitioned graph are made of: the worker's own shard first, on rows in
 * place, then those of other workers in pieces, in the order of `shard-schedule.ts`. What a piece contributes to the
 * gradients of its sources goes back the same way.
 *
 * At most `pipelineDepth` steps are under way beyond the one that is computed, in both directions, so the memory of rows and
 * gradients in flight is bounded. No barriers: a worker waits only for the rows it is about to use, for gradients
 * `pipelineDepth` steps old, and for room to send. Steps have one order on all workers, so somebody can always go on. Sums are
 * in that order too, so the same number of workers gives the same bits. All workers run the same operations in the same
 * order; each has a tag of its own.
 */
import { kernels } from '../../native/index.js';
import type { Tensor } from '../../tensor/index.js';
import { sizeOf } from '../../tensor/shape.js';
import type { CommHandle } from '../comm/communicator.js';
import type { GraphShard } from './graph-shard.js';
import { PackedRows } from './packed-rows.js';
import type { RowLink } from './row-link.js';
import type { RowsOf, Step } from './shard-schedule.js';
import { type Incoming, incoming, type Outgoing, outgoing } from './wire-rows.js';

/** Edges in pieces. */
export interface Sharded {
  readonly link: RowLink;
  /** Edges from own nodes. */
  readonly own: GraphShard;
  readonly steps: readonly Step[];
  /** Edges from other workers' nodes: one for each step that receives rows, in their order. */
  readonly pieces: readonly GraphShard[];
  /** Steps under way ahead of the one that is computed. */
  readonly pipelineDepth: number;
}

export interface ShardWork {
  /** Contiguous tensors of one dtype, a row for each source owned here; none: no rows are fetched. */
  readonly fields: readonly Tensor[];
  /** Rows of pieces that are here already; then nothing is fetched. */
  readonly kept?: ((piece: GraphShard) => readonly Tensor[]) | undefined;
  /** Gradients of sources to fill, for own rows: what visits of pieces give is added in the order of steps. */
  readonly gradients?: readonly Tensor[];
  /**
   * Computes one shard: the rows of its sources for each field; `gradients` must be written completely. The rows are
   * gone afterwards unless the visit returns 'keep'.
   */
  visit(shard: GraphShard, rows: readonly Tensor[], gradients: readonly Tensor[]): 'keep' | undefined;
}

/** Messages sent whose memory is still in use. */
class Outbox {
  readonly #link: RowLink;
  readonly #tag: number;
  readonly #pending: { readonly handle: CommHandle; readonly message: Outgoing }[] = [];

  constructor(link: RowLink, tag: number) {
    this.#link = link;
    this.#tag = tag;
  }

  /** Waits until at most `most` messages are in use. */
  settle(most: number): void {
    while (this.#pending.length > most) {
      const [{ handle, message }] = this.#pending.splice(0, 1);
      handle.wait();
      message.dispose();
    }
  }

  /** Takes the rows over. */
  send(to: number, rows: PackedRows, place: string | null = null): void {
    const { comm, codec } = this.#link;
    const message = outgoing(codec, rows, place);
    this.#pending.push({ handle: comm.isend(to, message.array, this.#tag), message });
    this.#link.countSent(message.array.byteLength);
  }
}

/** Messages on their way here, by step. */
class Inbox {
  readonly #link: RowLink;
  readonly #tag: number;
  readonly #pending = new Map<number, { readonly handle: CommHandle; readonly message: Incoming }>();

  constructor(link: RowLink, tag: number) {
    this.#link = link;
    this.#tag = tag;
  }

  /** Expects rows shaped as those of `like`. */
  post(at: number, { worker, start, end }: RowsOf, like: readonly Tensor[]): void {
    const { comm, codec } = this.#link;
    const message = incoming(codec, end - start, like);
    this.#pending.set(at, { handle: comm.irecv(worker, message.array, this.#tag), message });
    this.#link.countReceived(message.array.byteLength);
  }

  /** Waits; null when the step has no message. */
  take(at: number): PackedRows | null {
    const pending = this.#pending.get(at);
    if (pending === undefined) return null;
    this.#pending.delete(at);
    pending.handle.wait();
    return pending.message.open();
  }
}

/** Rows of the sources, step by step. */
class Fetch {
  readonly #graph: Sharded;
  readonly #fields: readonly Tensor[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  #staged = 0;

  constructor(graph: Sharded, fields: readonly Tensor[], tag: number) {
    this.#graph = graph;
    this.#fields = fields;
    this.#outbox = new Outbox(graph.link, tag);
    this.#inbox = new Inbox(graph.link, tag);
  }

  /** Starts steps until so many have been started. */
  stage(count: number): void {
    const { link, steps, pipelineDepth } = this.#graph;
    while (this.#staged < Math.min(count, steps.length)) {
      const at = this.#staged++;
      const { recv, send, first } = steps[at];
      if (recv !== null) this.#inbox.post(at, recv, this.#fields);
      if (send !== null) {
        this.#outbox.settle(Math.max(0, pipelineDepth - 1));
        this.#outbox.send(send.worker, PackedRows.gather(this.#fields, rowsToSend(link, send)));
      }
      if (first) link.countRound();
    }
  }

  take(at: number): PackedRows | null {
    return this.#inbox.take(at);
  }

  finish(): void {
    this.#outbox.settle(0);
  }
}

/** Gradients of rows that were fetched, on their way back to the owners. */
class Return {
  readonly #graph: Sharded;
  readonly #into: readonly Tensor[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  /** What rounding loses of gradients is made good in the next step. */
  readonly #place: string | null;
  #added = 0;

  constructor(graph: Sharded, into: readonly Tensor[], tag: number) {
    this.#graph = graph;
    this.#into = into;
    this.#place = graph.link.codec?.nextPlace() ?? null;
    this.#outbox = new Outbox(graph.link, tag);
    this.#inbox = new Inbox(graph.link, tag);
  }

  /** Memory for the gradients of a piece, once few enough are on their way. */
  allocate(piece: GraphShard): PackedRows {
    this.#outbox.settle(this.#graph.pipelineDepth);
    return PackedRows.allocate(piece.numSrc, this.#into);
  }

  /** Sends the gradients of a step and adds those of `pipelineDepth` steps before. */
  step(at: number, rows: PackedRows | null): void {
    const { link, steps, pipelineDepth } = this.#graph;
    const { recv, send, first } = steps[at];
    this.#add(Math.min(at, at - pipelineDepth + 1));
    if (send !== null) this.#inbox.post(at, send, this.#into);
    if (recv !== null && rows !== null) {
      const place = this.#place === null ? null : `${this.#place}/${recv.worker}/${recv.start}`;
      this.#outbox.send(recv.worker, rows, place);
    }
    if (first) link.countRound();
    if (pipelineDepth === 0) this.#add(at + 1);
  }

  finish(): void {
    this.#add(this.#graph.steps.length);
    this.#outbox.settle(0);
  }

  #add(count: number): void {
    const { link, steps } = this.#graph;
    while (this.#added < count) {
      const at = this.#added++;
      const rows = this.#inbox.take(at);
      const { send } = steps[at];
      if (rows === null || send === null) continue;
      const ids = rowsToSend(link, send);
      for (const [i, t] of this.#into.entries()) {
        const width = sizeOf(t.shape.slice(1));
        kernels().scatterAddRows(ids, rows.fields[i].floats, t.floats, ids.length, t.shape[0], width);
      }
      rows.dispose();
    }
  }
}

function rowsToSend(link: RowLink, { worker, start, end }: RowsOf): Int32Array {
  return link.indicesRequiredFromMe[worker].subarray(start, end);
}

/** Visits the own shard, then the pieces of the others. */
export function forEachShard(graph: Sharded, work: ShardWork): void {
  const { link, own, pieces, steps, pipelineDepth } = graph;
  const { fields, kept } = work;
  const input = fields.length === 1 && kept === undefined && link.inputs.has(fields[0]) ? fields[0] : null;
  const known = input === null ? null : link.inputs.rowsOf(input);
  const fetched: Tensor[] = [];
  const gradients = work.gradients ?? [];
  const tag = link.nextTag();
  const fetch =
    fields.length > 0 && kept === undefined && known === null ? new Fetch(graph, fields, tag) : null;
  const back = gradients.length > 0 ? new Return(graph, gradients, tag + 1) : null;
  fetch?.stage(pipelineDepth);
  work.visit(own, fields, gradients);
  let next = 0;
  for (const [at, { recv }] of steps.entries()) {
    fetch?.stage(at + 1 + pipelineDepth);
    let sent: PackedRows | null = null;
    if (recv !== null) {
      const piece = pieces[next++];
      const rows = fetch?.take(at) ?? null;
      sent = back?.allocate(piece) ?? null;
      // A handle of their own for visits that keep rows.
      const cached = known === null ? null : [known[piece.index].alias()];
      const given = rows?.fields ?? cached ?? kept?.(piece) ?? [];
      if (input !== null && known === null) fetched.push(given[0].alias());
      const keep = work.visit(piece, given, sent?.fields ?? []);
      if (keep === 'keep') rows?.disposeBlock();
      else for (const t of [rows, ...(cached ?? [])]) t?.dispose();
    }
    back?.step(at, sent);
  }
  fetch?.finish();
  back?.finish();
  if (input !== null && known === null) link.inputs.keep(input, fetched);
  for (const t of fetched) t.dispose();
}
