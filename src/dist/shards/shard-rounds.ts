/**
 * The loop over shards that all operations on a partitioned graph are made of: the worker's own shard first, on rows in
 * key, then those of other workers in chunks, in the order of `shard-schedule.ts`. The gradients of a chunk's sources
 * return by the same steps.
 *
 * At most `pipelineDepth` steps are in flight beyond the one that is computed, in both directions, so the memory of
 * rows and gradients in flight is bounded. There are no barriers: a worker waits only for the rows it is about to use,
 * for gradients `pipelineDepth` steps old, and for room to send. All workers process steps in one order, so at least
 * one can always proceed. Sums are in that order too, so the same number of workers gives the same bits. All workers
 * run the same operations in the same order; each operation has its own tag.
 */
import { kernels } from '../../native/index.js';
import type { Tensor } from '../../tensor/index.js';
import { sizeOf } from '../../tensor/shape.js';
import type { CommHandle } from '../comm/communicator.js';
import type { GraphShard } from './graph-shard.js';
import { PackedRows } from './packed-rows.js';
import type { RowLink } from './row-link.js';
import type { RowSpan, Step } from './shard-schedule.js';
import { encodeRows, expectRows, type Incoming, type Outgoing } from './wire-rows.js';

/** A graph whose edges are split into chunks. */
export interface ChunkedGraph {
  readonly link: RowLink;
  /** Edges from own nodes. */
  readonly own: GraphShard;
  readonly steps: readonly Step[];
  /** Edges from other workers' nodes: one chunk for each step that receives rows, in their order. */
  readonly chunks: readonly GraphShard[];
  /** Number of steps in flight ahead of the one that is computed. */
  readonly pipelineDepth: number;
}

export interface ShardWork {
  /** Contiguous tensors of one dtype with one row per source owned here; if empty, no rows are fetched. */
  readonly fields: readonly Tensor[];
  /** Returns rows of chunks that are available already; then nothing is fetched. */
  readonly savedRows?: ((chunk: GraphShard) => readonly Tensor[]) | undefined;
  /** Gradients of own source rows to fill: the results of all chunks are added in the order of steps. */
  readonly gradients?: readonly Tensor[];
  /**
   * Computes one shard from the rows of its sources for each field; `gradients` must be written completely. The rows
   * are disposed afterwards unless the visit returns 'keep'.
   */
  visit(shard: GraphShard, rows: readonly Tensor[], gradients: readonly Tensor[]): 'keep' | undefined;
}

/** Sent messages whose memory is still in use. */
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

  /** Sends rows and takes ownership of them. */
  send(to: number, rows: PackedRows, key: string | null = null): void {
    const { comm, codec } = this.#link;
    const message = encodeRows(codec, rows, key);
    this.#pending.push({ handle: comm.isend(to, message.array, this.#tag), message });
    this.#link.countSent(message.array.byteLength);
  }
}

/** Messages to be received, by step. */
class Inbox {
  readonly #link: RowLink;
  readonly #tag: number;
  readonly #pending = new Map<number, { readonly handle: CommHandle; readonly message: Incoming }>();

  constructor(link: RowLink, tag: number) {
    this.#link = link;
    this.#tag = tag;
  }

  /** Posts a receive for rows with the shapes of `like`. */
  post(at: number, { worker, start, end }: RowSpan, like: readonly Tensor[]): void {
    const { comm, codec } = this.#link;
    const message = expectRows(codec, end - start, like);
    this.#pending.set(at, { handle: comm.irecv(worker, message.array, this.#tag), message });
    this.#link.countReceived(message.array.byteLength);
  }

  /** Waits for the rows of a step; null if it has no message. */
  take(at: number): PackedRows | null {
    const pending = this.#pending.get(at);
    if (pending === undefined) return null;
    this.#pending.delete(at);
    pending.handle.wait();
    return pending.message.open();
  }
}

/** Fetches rows of the sources, step by step. */
class RowFetch {
  readonly #graph: ChunkedGraph;
  readonly #fields: readonly Tensor[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  #staged = 0;

  constructor(graph: ChunkedGraph, fields: readonly Tensor[], tag: number) {
    this.#graph = graph;
    this.#fields = fields;
    this.#outbox = new Outbox(graph.link, tag);
    this.#inbox = new Inbox(graph.link, tag);
  }

  /** Starts steps until `count` have been started. */
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

/** Returns the gradients of fetched rows to their owners. */
class GradientReturn {
  readonly #graph: ChunkedGraph;
  readonly #into: readonly Tensor[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  /** Key for error feedback: rounding errors of gradients are added in the next training step. */
  readonly #feedbackKey: string | null;
  #added = 0;

  constructor(graph: ChunkedGraph, into: readonly Tensor[], tag: number) {
    this.#graph = graph;
    this.#into = into;
    this.#feedbackKey = graph.link.codec?.nextKey() ?? null;
    this.#outbox = new Outbox(graph.link, tag);
    this.#inbox = new Inbox(graph.link, tag);
  }

  /** Allocates the gradients of a chunk, once few enough are in flight. */
  allocate(chunk: GraphShard): PackedRows {
    this.#outbox.settle(this.#graph.pipelineDepth);
    return PackedRows.allocate(chunk.numSrc, this.#into);
  }

  /** Sends the gradients of a step and adds those received `pipelineDepth` steps before. */
  step(at: number, rows: PackedRows | null): void {
    const { link, steps, pipelineDepth } = this.#graph;
    const { recv, send, first } = steps[at];
    this.#add(Math.min(at, at - pipelineDepth + 1));
    if (send !== null) this.#inbox.post(at, send, this.#into);
    if (recv !== null && rows !== null) {
      const key = this.#feedbackKey === null ? null : `${this.#feedbackKey}/${recv.worker}/${recv.start}`;
      this.#outbox.send(recv.worker, rows, key);
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

function rowsToSend(link: RowLink, { worker, start, end }: RowSpan): Int32Array {
  return link.indicesRequiredFromMe[worker].subarray(start, end);
}

/** Visits the own shard, then the chunks of the others. */
export function forEachShard(graph: ChunkedGraph, work: ShardWork): void {
  const { link, own, chunks, steps, pipelineDepth } = graph;
  const { fields, savedRows } = work;
  const input =
    fields.length === 1 && savedRows === undefined && link.inputs.has(fields[0]) ? fields[0] : null;
  const cachedRows = input === null ? null : link.inputs.rowsOf(input);
  const fetched: Tensor[] = [];
  const gradients = work.gradients ?? [];
  const tag = link.nextTag();
  const fetch =
    fields.length > 0 && savedRows === undefined && cachedRows === null
      ? new RowFetch(graph, fields, tag)
      : null;
  const back = gradients.length > 0 ? new GradientReturn(graph, gradients, tag + 1) : null;
  fetch?.stage(pipelineDepth);
  work.visit(own, fields, gradients);
  let next = 0;
  for (const [at, { recv }] of steps.entries()) {
    fetch?.stage(at + 1 + pipelineDepth);
    let sent: PackedRows | null = null;
    if (recv !== null) {
      const chunk = chunks[next++];
      const rows = fetch?.take(at) ?? null;
      sent = back?.allocate(chunk) ?? null;
      // A separate handle for visits that keep rows.
      const cached = cachedRows === null ? null : [cachedRows[chunk.index].alias()];
      const given = rows?.fields ?? cached ?? savedRows?.(chunk) ?? [];
      if (input !== null && cachedRows === null) fetched.push(given[0].alias());
      const keep = work.visit(chunk, given, sent?.fields ?? []);
      if (keep === 'keep') rows?.disposeBlock();
      else for (const t of [rows, ...(cached ?? [])]) t?.dispose();
    }
    back?.step(at, sent);
  }
  fetch?.finish();
  back?.finish();
  if (input !== null && cachedRows === null) link.inputs.keep(input, fetched);
  for (const t of fetched) t.dispose();
}
