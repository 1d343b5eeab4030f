/**
 * Records of an event log. A record is a header of 24 bytes and its content: length of the content (u32), CRC-32 of all
 * that follows (u32), sequence number (u64), the last sequence number known to be on the disk when it was written (u64).
 *
 * The last field tells a torn tail from damage: after a power failure pages of the last write may be missing while later
 * ones are there. A record that a later one calls durable was acknowledged, so its loss is damage.
 */
import { crc32 } from 'node:zlib';
import { FormatError } from '../util/errors.js';

const recordHeader = 24;
/** Bytes before the first record of a segment: a mark and the sequence number of the first record. */
export const segmentHeader = 16;
export const maxRecord = 2 ** 28;

const mark = new TextEncoder().encode('SKEINLOG');

export interface LogRecord {
  readonly sequence: number;
  readonly content: Uint8Array;
}

export function encodeSegmentHeader(first: number): Uint8Array {
  const bytes = new Uint8Array(segmentHeader);
  bytes.set(mark);
  setU64(new DataView(bytes.buffer), 8, first);
  return bytes;
}

export function encodeRecord(sequence: number, durable: number, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(recordHeader + content.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length, true);
  setU64(view, 8, sequence);
  setU64(view, 16, durable);
  bytes.set(content, recordHeader);
  view.setUint32(4, crc32(bytes.subarray(8)), true);
  return bytes;
}

export interface ScannedSegment {
  readonly records: readonly LogRecord[];
  /** Bytes up to the end of the last good record. */
  readonly end: number;
  /** Why the rest is not read; null if there is none. */
  readonly torn: string | null;
}

/**
 * Reads the records of a segment from sequence number `first` on. A torn tail is allowed in the last segment only;
 * damage throws an error that names file and offset.
 */
export function scanSegment(bytes: Uint8Array, path: string, first: number, isLast: boolean): ScannedSegment {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: LogRecord[] = [];
  const isHeaderGood =
    bytes.length >= segmentHeader && mark.every((byte, i) => bytes[i] === byte) && getU64(view, 8) === first;
  if (!isHeaderGood) {
    // The header is durable before the first record is written, so bytes after a bad one are damage. File systems may leave
    // zeros where a write was lost.
    const isTorn = bytes.length <= segmentHeader || bytes.every((byte) => byte === 0);
    if (!isLast || !isTorn) throw damage(path, 0, first);
    return { records, end: 0, torn: `no header in ${bytes.length} bytes` };
  }
  let at = segmentHeader;
  for (let sequence = first; at < bytes.length; sequence++) {
    const content = contentAt(bytes, view, at, sequence);
    if (content === null) {
      if (!isLast || acknowledgedAfter(bytes, view, at + 1, sequence) >= 0) throw damage(path, at, sequence);
      return { records, end: at, torn: `${bytes.length - at} bytes after the last complete record` };
    }
    records.push({ sequence, content });
    at += recordHeader + content.length;
  }
  return { records, end: at, torn: null };
}

/** Returns the content of a good record with this sequence number, or null. */
function contentAt(bytes: Uint8Array, view: DataView, at: number, sequence: number): Uint8Array | null {
  if (at + recordHeader > bytes.length) return null;
  const length = view.getUint32(at, true);
  const end = at + recordHeader + length;
  if (end > bytes.length || getU64(view, at + 8) !== sequence) return null;
  return crc32(bytes.subarray(at + 8, end)) === view.getUint32(at + 4, true)
    ? bytes.subarray(at + recordHeader, end)
    : null;
}

/** Returns the offset of a good record from `from` on that says that record `sequence` was durable; −1 if none does. */
function acknowledgedAfter(bytes: Uint8Array, view: DataView, from: number, sequence: number): number {
  for (let at = from; at + recordHeader <= bytes.length; at++) {
    const other = getU64(view, at + 8);
    const durable = getU64(view, at + 16);
    // Cheap comparisons first: almost all offsets fail them.
    if (other <= sequence || other > sequence + 2 ** 26 || durable >= other) continue;
    const content = contentAt(bytes, view, at, other);
    if (content === null) continue;
    if (durable >= sequence) return at;
    at += recordHeader + content.length - 1;
  }
  return -1;
}

function damage(path: string, offset: number, sequence: number): FormatError {
  return new FormatError(
    `event log: expected record ${sequence} at byte ${offset} of ${path}, got damaged bytes. Later records were acknowledged, so nothing is removed; restore the file from a copy, or delete it and all later segments to lose their events.`,
    { path, byteOffset: offset },
  );
}

function setU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

function getU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
