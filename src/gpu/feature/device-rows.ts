/**
 * Rows in device memory, in pieces that a binding can hold, and the passes that gather from them and store into them.
 * Places number the rows of all pieces one after the other.
 */
import { DeviceError } from '../../util/errors.js';
import { formatSize } from '../../util/size.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { gatherBytes, gatherVectors, gatherWords, groupSize, storeRows } from './feature-programs.js';

/** How rows lie: `bytes` in results, whole `words` on the device. */
export class RowLayout {
  readonly bytes: number;
  readonly words: number;

  constructor(rowBytes: number) {
    this.bytes = rowBytes;
    this.words = Math.ceil(rowBytes / 4);
  }

  /** Bytes from one row to the next on the device. */
  get stride(): number {
    return 4 * this.words;
  }

  get isWhole(): boolean {
    return this.bytes === this.stride;
  }
}

/** Some rows in one buffer: places first … first + count − 1. */
export interface RowPiece {
  readonly buffer: GpuBuffer;
  readonly first: number;
  readonly count: number;
}

/** A result and the place of each of its rows. */
export interface Gathering {
  readonly out: GpuBuffer;
  readonly places: GpuBuffer;
  readonly n: number;
}

export class DeviceRows {
  readonly device: GpuDevice;
  readonly layout: RowLayout;
  readonly pieces: readonly RowPiece[];

  constructor(device: GpuDevice, layout: RowLayout, count: number, pieceBytes: number, where: string) {
    this.device = device;
    this.layout = layout;
    const most = Math.floor(pieceBytes / Math.max(4, layout.stride));
    if (count > 0 && most === 0)
      throw new DeviceError(
        `${where}: expected rows of at most ${pieceBytes} bytes (what the device can bind), got ${layout.stride}.`,
        { reason: 'limit', bytes: layout.stride, limit: pieceBytes },
      );
    const pieces: RowPiece[] = [];
    try {
      for (let first = 0; first < count; first += most) {
        const rows = Math.min(most, count - first);
        pieces.push({ buffer: device.buffer(rows * layout.stride, 'hot rows'), first, count: rows });
      }
    } catch (error) {
      for (const { buffer } of pieces) buffer.release();
      throw outOfMemory(where, count * layout.stride, device, error);
    }
    this.pieces = pieces;
  }

  /** Copies host rows, laid out as on the device, to places `first` …. */
  upload(first: number, rows: Uint8Array): void {
    const { stride } = this.layout;
    const end = first + rows.length / stride;
    for (const piece of this.pieces) {
      const from = Math.max(first, piece.first);
      const to = Math.min(end, piece.first + piece.count);
      if (from >= to) continue;
      const part = rows.subarray((from - first) * stride, (to - first) * stride);
      this.device.write(piece.buffer, part, (from - piece.first) * stride);
    }
  }

  /** Records the copy of every row that lies here to its place in the result. */
  gather(into: Gathering): void {
    for (const piece of this.pieces) gatherPiece(this.device, this.layout, into, piece);
  }

  /** Records the overwriting of rows: places[k] by row positions[k] of `rows`, which lie as on the device. No place twice. */
  store(places: Int32Array, positions: Int32Array, rows: GpuBuffer): void {
    const { device, layout } = this;
    if (places.length === 0) return;
    const lists = [
      device.bufferOf(places, 'places of rows'),
      device.bufferOf(positions, 'positions of rows'),
    ];
    const groups = grid(places.length * layout.words, groupSize);
    for (const { buffer, first, count } of this.pieces)
      device.run(storeRows, [...lists, rows, buffer], [places.length, layout.words, first, count], groups);
    for (const list of lists) list.release();
  }

  release(): void {
    for (const { buffer } of this.pieces) buffer.release();
  }
}

/** One pass: rows of the result whose places lie in this piece. */
export function gatherPiece(device: GpuDevice, layout: RowLayout, into: Gathering, piece: RowPiece): void {
  const { n, out, places } = into;
  const { words, bytes } = layout;
  const { buffer, first, count } = piece;
  if (layout.isWhole) {
    gatherWhole(device, layout, [places, places, buffer, out], [n, first, count, 0]);
  } else {
    const groups = grid(Math.ceil((n * bytes) / 4), groupSize);
    device.run(gatherBytes, [places, buffer, out], [n, words, first, count, bytes], groups);
  }
}

/** One pass over some rows only: row rows[k] of the result from places[k]. For rows of whole words. */
export function gatherListed(
  device: GpuDevice,
  layout: RowLayout,
  out: GpuBuffer,
  list: { readonly places: GpuBuffer; readonly rows: GpuBuffer; readonly n: number },
  piece: RowPiece,
): void {
  const buffers = [list.places, list.rows, piece.buffer, out];
  gatherWhole(device, layout, buffers, [list.n, piece.first, piece.count, 1]);
}

function gatherWhole(
  device: GpuDevice,
  { words }: RowLayout,
  buffers: readonly GpuBuffer[],
  [n, first, count, listed]: readonly [number, number, number, number],
): void {
  const byFour = words % 4 === 0;
  const length = byFour ? words / 4 : words;
  const program = byFour ? gatherVectors : gatherWords;
  device.run(program, buffers, [n, length, first, count, listed], grid(n * length, groupSize));
}

/** Says what was asked for and what the limit is. */
function outOfMemory(where: string, bytes: number, device: GpuDevice, error: unknown): unknown {
  if (!(error instanceof DeviceError)) return error;
  const { reason } = error.details;
  if (reason !== 'memory' && reason !== 'limit') return error;
  const used = device.stats().liveBytes;
  return new DeviceError(
    `${where}: expected device memory for ${formatSize(bytes)} of hot rows (${formatSize(used)} are in use), got: ${error.message} ` +
      'Give the cache a smaller size.',
    { ...error.details, asked: bytes, inUse: used },
  );
}
