/**
 * `syncParams`: all workers start from the state of one. Parameters and buffers are sent as bytes, so the copies are
 * equal in every bit, and in a few long messages, because a model has many short tensors.
 */
import type { Module } from '../../nn/index.js';
import { CommError, checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { CommArray, Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';

export interface SyncOptions {
  readonly comm?: Communicator;
  /** The rank whose state is copied. Default 0. */
  readonly root?: number;
}

/** Bytes packed into one message; a longer tensor is sent separately, without a copy. */
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
  const arrays = state.map(([, t]) => bytesOf(t.array));
  for (let from = 0; from < arrays.length; ) {
    let until = from + 1;
    let total = arrays[from].length;
    while (until < arrays.length && total + arrays[until].length <= messageBytes)
      total += arrays[until++].length;
    if (until === from + 1) comm.broadcast(arrays[from], root);
    else broadcastPacked(comm, root, arrays.slice(from, until), total);
    from = until;
  }
  for (const [, t] of state) t.storage.version++;
}

function broadcastPacked(
  comm: Communicator,
  root: number,
  arrays: readonly Uint8Array[],
  total: number,
): void {
  const packed = new Uint8Array(total);
  let at = 0;
  for (const array of arrays) {
    packed.set(array, at);
    at += array.length;
  }
  comm.broadcast(packed, root);
  at = 0;
  for (const array of arrays) {
    array.set(packed.subarray(at, at + array.length));
    at += array.length;
  }
}

/** Checks that all ranks have the same structure: otherwise a rank would silently get wrong weights. */
function checkSameStructure(comm: Communicator, root: number, lines: readonly string[]): void {
  const texts = comm.allGather(new TextEncoder().encode(lines.join('\n')));
  const decoder = new TextDecoder();
  const wanted = decoder.decode(texts[root]).split('\n');
  for (const [rank, bytes] of texts.entries()) {
    const got = decoder.decode(bytes).split('\n');
    const at = wanted.findIndex((text, i) => text !== got[i]);
    if (at < 0 && got.length === wanted.length) continue;
    const line = at < 0 ? wanted.length : at;
    throw new CommError(
      `syncParams: expected the same model on all ranks, got ${got[line] ?? 'nothing'} on rank ${rank} where ` +
        `rank ${root} has ${wanted[line] ?? 'nothing'}.`,
    );
  }
}

function bytesOf(array: CommArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
