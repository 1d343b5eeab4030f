/**
 * `syncParams`: all workers start from the state of one. Parameters and buffers travel as bytes, so the copies are equal in
 * every bit; they travel in a few long messages, because a model has many short tensors.
 */
import type { Module } from '../../nn/index.js';
import { CommError, checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CommArray, Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';

export interface SyncOptions {
  readonly comm?: Communicator;
  /** The rank whose state all get. Default 0. */
  readonly root?: number;
}

/** Bytes packed into one message; a longer tensor goes by itself, without a copy. */
const messageBytes = 1 << 22;

/** Collective. Copies parameters and buffers of rank `root` to all ranks. The models must have the same structure. */
export function syncParams(model: Module, options: SyncOptions = {}): void {
  checkOptionNames('syncParams', options, { comm: true, root: true });
  const { comm = currentCommunicator(), root = 0 } = options;
  checkInteger('syncParams', 'root', root, 0, comm.size - 1);
  if (comm.size === 1) return;
  const state = Object.entries(model.stateDict());
  checkSameStructure(
    comm,
    root,
    state.map(([name, t]) => `${name} ${t.dtype} ${t.shape.join('×')}`),
  );
  const pieces = state.map(([, t]) => bytesOf(t.array));
  for (let from = 0; from < pieces.length; ) {
    let until = from + 1;
    let total = pieces[from].length;
    while (until < pieces.length && total + pieces[until].length <= messageBytes)
      total += pieces[until++].length;
    if (until === from + 1) comm.broadcast(pieces[from], root);
    else broadcastPacked(comm, root, pieces.slice(from, until), total);
    from = until;
  }
  for (const [, t] of state) t.storage.version++;
}

function broadcastPacked(
  comm: Communicator,
  root: number,
  pieces: readonly Uint8Array[],
  total: number,
): void {
  const packed = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    packed.set(piece, at);
    at += piece.length;
  }
  comm.broadcast(packed, root);
  at = 0;
  for (const piece of pieces) {
    piece.set(packed.subarray(at, at + piece.length));
    at += piece.length;
  }
}

/** Another model on another rank must be an error on all ranks, and not somebody's wrong weights. */
function checkSameStructure(comm: Communicator, root: number, lines: readonly string[]): void {
  const texts = comm.allGather(new TextEncoder().encode(lines.join('\n')));
  const decoder = new TextDecoder();
  const wanted = decoder.decode(texts[root]).split('\n');
  for (const [rank, bytes] of texts.entries()) {
    const got = decoder.decode(bytes).split('\n');
    const at = wanted.findIndex((line, i) => line !== got[i]);
    if (at < 0 && got.length === wanted.length) continue;
    const place = at < 0 ? wanted.length : at;
    throw new CommError(
      `syncParams: expected the same model on all ranks, got ${got[place] ?? 'nothing'} on rank ${rank} where ` +
        `rank ${root} has ${wanted[place] ?? 'nothing'}.`,
    );
  }
}

function bytesOf(array: CommArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
