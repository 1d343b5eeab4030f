/** Argument checks shared by all communicators, so that an error has the same message on one worker and on many. */
import { CommError, checkInteger, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import type {
  CommArray,
  CommHandle,
  Communicator,
  ReduceArray,
  Reduction,
  TableArrays,
  TableShape,
} from './communicator.js';
import { reductions } from './communicator.js';

/** The handle of an operation that is complete when it is returned. */
export const completedHandle: CommHandle = { done: true, wait() {}, promise: () => Promise.resolve() };

type RankAndSize = Pick<Communicator, 'rank' | 'size'>;

export function checkPeer(where: string, name: string, { size }: RankAndSize, peer: number): number {
  return checkInteger(where, name, peer, 0, size - 1);
}

export function checkTag(where: string, tag: number): number {
  return checkInteger(where, 'tag', tag);
}

export function checkArray<T extends CommArray>(where: string, name: string, data: T): T {
  if (!ArrayBuffer.isView(data) || data instanceof DataView)
    throw new ValueError(expected(where, 'a typed array', name, data));
  return data;
}

export function checkReduceArray(where: string, name: string, data: ReduceArray): ReduceArray {
  if (!(data instanceof Float32Array || data instanceof Float64Array || data instanceof Int32Array))
    throw new ValueError(expected(where, 'a Float32Array, Float64Array or Int32Array', name, data));
  return data;
}

export function checkReduction(where: string, reduction: Reduction): number {
  const code = reductions.indexOf(reduction);
  if (code < 0)
    throw new ValueError(expected(where, `one of ${reductions.join(', ')}`, 'reduction', reduction));
  return code;
}

export function checkChannel(where: string, channel: number): number {
  return checkInteger(where, 'channel', channel, 0, 3);
}

/** Checks that there is one array for each rank. */
export function checkArrayPerRank(
  where: string,
  name: string,
  { size }: RankAndSize,
  arrays: readonly CommArray[],
): void {
  if (arrays.length !== size)
    throw new ShapeError(expected(where, `one array for each of ${size} ranks`, name, arrays.length));
  for (const array of arrays) checkArray(where, name, array);
}

export function checkTable(where: string, data: ReduceArray, width: number): void {
  checkReduceArray(where, 'data', data);
  checkInteger(where, 'width', width, 1);
  if (data.length % width !== 0)
    throw new ShapeError(expected(where, `whole rows of ${width} elements`, 'data', data));
}

const tableTypes = { f32: Float32Array, f64: Float64Array, i32: Int32Array } as const;

/** Checks the shape of a table; returns its size in bytes, its type code and a function that creates its array. */
export function checkTableShape<D extends keyof TableArrays>(where: string, shape: TableShape<D>) {
  checkInteger(where, 'rows', shape.rows, 0);
  checkInteger(where, 'width', shape.width, 1);
  if (!Object.hasOwn(tableTypes, shape.dtype))
    throw new ValueError(expected(where, 'f32, f64 or i32', 'dtype', shape.dtype));
  return {
    bytes: shape.rows * shape.width * tableTypes[shape.dtype].BYTES_PER_ELEMENT,
    code: Object.keys(tableTypes).indexOf(shape.dtype),
    make: (memory: ArrayBuffer) => new tableTypes[shape.dtype](memory) as TableArrays[D],
  };
}

/** Returns the width of the rows in a request. */
export function checkReduceRows(where: string, ids: Int32Array, rows: ReduceArray): number {
  if (!(ids instanceof Int32Array)) throw new ValueError(expected(where, 'an Int32Array', 'ids', ids));
  checkReduceArray(where, 'rows', rows);
  if (ids.length === 0 ? rows.length > 0 : rows.length === 0 || rows.length % ids.length !== 0)
    throw new ShapeError(expected(where, `${ids.length} rows`, 'rows', rows));
  return ids.length === 0 ? 0 : rows.length / ids.length;
}

/** Checks that what a rank sends to itself has the length that it expects; no other rank can detect the mismatch. */
export function checkSelfExchange(where: string, rank: number, sent: CommArray, received: CommArray): void {
  if (sent.byteLength !== received.byteLength)
    throw new CommError(
      `${where}: expected ${received.byteLength} bytes from rank ${rank}, got ${sent.byteLength}.`,
    );
}

/** Returns a new array of zeros of the same element type, with the given length. */
export function allocateLike<T extends CommArray>(like: T, length: number): T {
  return new (like.constructor as new (length: number) => T)(length);
}

/** Copies bytes between arrays of equal byte length, regardless of their element types. */
export function copyBytes(from: CommArray, into: CommArray): void {
  new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(
    new Uint8Array(from.buffer, from.byteOffset, from.byteLength),
  );
}

/** Shortens a table's name for an error message. */
export function abbreviateName(name: string): string {
  return name.length > 60 ? `${Array.from(name).slice(0, 60).join('')}…` : name;
}

/** Throws if the name belongs to another array: readers on other ranks would not notice the change. */
export function checkNewTable(name: string, known: ReduceArray | undefined, data: ReduceArray): void {
  if (known === undefined || known === data) return;
  throw new StateError(
    `registerTable: expected a new name, got '${abbreviateName(name)}', which is the name of another table. ` +
      'Call unregisterTable first.',
  );
}
