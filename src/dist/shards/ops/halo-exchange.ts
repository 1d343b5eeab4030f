/**
 * Fetches the rows that other workers own in one exchange: x [own rows, …] to [rows used here, …]. Backward sends the
 * gradients of fetched rows to their owners, which add them in rank order.
 */

import { checkRows } from '../../../graph/ops/aggregate.js';
import { type FloatArray, kernels } from '../../../native/index.js';
import { isGradEnabled, Tensor } from '../../../tensor/index.js';
import { builtinOp } from '../../../tensor/op.js';
import { sizeOf } from '../../../tensor/shape.js';
import type { CommArray, CommHandle } from '../../comm/communicator.js';
import { PackedRows } from '../packed-rows.js';
import type { RowLink } from '../row-link.js';
import { contiguous, rowBytes } from '../shard-rows.js';
import { encodeRows, expectRows } from '../wire-rows.js';

interface Attributes {
  readonly link: RowLink;
  readonly maxBytes: number;
  /** Called after backward: the fetched rows belong to a tape that no longer exists. */
  readonly done: () => void;
}

const haloExchangeOp = builtinOp<Attributes>({
  name: 'haloExchange',
  forward(_ctx, [given], { link, maxBytes }) {
    const x = contiguous(given);
    const used = Tensor.allocate(x.dtype, [link.numUsed, ...x.shape.slice(1)]);
    used.floats.set(x.floats);
    const width = sizeOf(x.shape.slice(1));
    const halo = (q: number, from: number, to: number): FloatArray =>
      used.floats.subarray((link.starts[q] + from) * width, (link.starts[q] + to) * width);
    exchangeRows(link, rowBytes(x), maxBytes, {
      sends: link.indicesRequiredFromMe.map((ids) => ids.length),
      recvs: link.sizesExpectedFromOthers,
      send(q, from, to) {
        const ids = link.indicesRequiredFromMe[q].subarray(from, to);
        return encodeRows(link.codec, PackedRows.gather([x], ids), null);
      },
      recv(q, from, to) {
        const place = halo(q, from, to);
        if (link.codec === null) return { array: place, take: () => {} };
        const { array, open } = expectRows(link.codec, to - from, [x]);
        const take = (): void => {
          const rows = open();
          place.set(rows.fields[0].floats);
          rows.dispose();
        };
        return { array, take };
      },
    });
    return used;
  },
  backward(_ctx, gy, { link, maxBytes, done }) {
    done();
    const g = contiguous(gy);
    const place = link.codec?.nextKey() ?? null;
    const width = sizeOf(g.shape.slice(1));
    const gx = Tensor.allocate(g.dtype, [link.numOwn, ...g.shape.slice(1)]);
    gx.floats.set(g.floats.subarray(0, link.numOwn * width));
    exchangeRows(link, rowBytes(g), maxBytes, {
      sends: link.sizesExpectedFromOthers,
      recvs: link.indicesRequiredFromMe.map((ids) => ids.length),
      send(q, from, to) {
        const start = link.starts[q];
        const array = g.floats.subarray((start + from) * width, (start + to) * width);
        if (link.codec === null) return { array, dispose: () => {} };
        const rows = PackedRows.allocate(to - from, [g]);
        rows.fields[0].floats.set(array);
        return encodeRows(link.codec, rows, place === null ? null : `${place}/${q}/${from}`);
      },
      recv(q, from, to) {
        const ids = link.indicesRequiredFromMe[q].subarray(from, to);
        const { array, open } = expectRows(link.codec, ids.length, [g]);
        const take = (): void => {
          const rows = open();
          const [{ floats }] = rows.fields;
          kernels().scatterAddRows(ids, floats, gx.floats, ids.length, link.numOwn, width);
          rows.dispose();
        };
        return { array, take };
      },
    });
    return [gx];
  },
});

interface Exchange {
  /** Number of rows to and from each worker. */
  readonly sends: readonly number[];
  readonly recvs: readonly number[];
  send(q: number, from: number, to: number): { readonly array: CommArray; dispose(): void };
  recv(q: number, from: number, to: number): { readonly array: CommArray; take(): void };
}

/**
 * Exchanges rows between all pairs at the same time; with `maxBytes`, in steps whose messages together stay below it.
 */
function exchangeRows(link: RowLink, bytesPerRow: number, maxBytes: number, rows: Exchange): void {
  const { comm } = link;
  const tag = link.nextTag();
  const most = Math.max(0, ...rows.sends, ...rows.recvs);
  // All pairs use the same step size, so both ends split in the same way without communicating.
  const step = maxBytes === 0 ? most : Math.max(1, Math.floor(maxBytes / (2 * comm.size * bytesPerRow)));
  for (let at = 0; at < most; at += step) {
    const pending: { handle: CommHandle; end: () => void }[] = [];
    for (let q = 0; q < comm.size; q++) {
      const to = Math.min(rows.recvs[q], at + step);
      if (q === comm.rank || to <= at) continue;
      const { array, take } = rows.recv(q, at, to);
      pending.push({ handle: comm.irecv(q, array, tag), end: take });
      link.countReceived(array.byteLength);
    }
    for (let q = 0; q < comm.size; q++) {
      const to = Math.min(rows.sends[q], at + step);
      if (q === comm.rank || to <= at) continue;
      const message = rows.send(q, at, to);
      pending.push({ handle: comm.isend(q, message.array, tag), end: () => message.dispose() });
      link.countSent(message.array.byteLength);
    }
    for (const { handle } of pending) handle.wait();
    for (const { end } of pending) end();
    link.countRound();
  }
}

interface FetchedRows {
  readonly rows: Tensor;
  readonly version: number;
}

/** Caches the rows fetched for tensors that are still in use. */
export class HaloCache {
  readonly #link: RowLink;
  readonly #maxBytes: number;
  readonly #fetched = new WeakMap<Tensor, FetchedRows>();

  constructor(link: RowLink, maxBytes: number) {
    this.#link = link;
    this.#maxBytes = maxBytes;
  }

  fetch(x: Tensor): Tensor {
    checkRows('fetch', 'x', x, this.#link.numOwn, 'source');
    if (this.#link.comm.size === 1) return x;
    const [kept] = this.#link.inputs.rowsOf(x) ?? [];
    if (kept !== undefined && !x.requiresGrad) return kept.view(kept.shape);
    const known = this.#fetched.get(x);
    if (known !== undefined && this.#isValidFor(known, x)) return known.rows;
    const done = (): void => {
      this.#fetched.delete(x);
    };
    const rows = haloExchangeOp([x], { link: this.#link, maxBytes: this.#maxBytes, done });
    if (!x.requiresGrad) this.#link.inputs.keep(x, [rows]);
    this.#fetched.set(x, { rows, version: x.storage.version });
    return rows;
  }

  #isValidFor({ rows, version }: FetchedRows, x: Tensor): boolean {
    const recorded = rows.requiresGrad || !x.requiresGrad || !isGradEnabled();
    return recorded && !rows.isDisposed && version === x.storage.version;
  }
}
