/**
 * Rows in device memory, in segments that a binding can hold, and the passes that gather from them and store into them.
 * Slots number the rows of all segments consecutively.
 */
import { DeviceError } from '../../util/errors.js';
import { formatSize } from '../../util/size.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { gatherBytes, gatherVectors, gatherWords, groupSize, storeRows } from './feature-programs.js';

/** Row layout: `bytes` in results, whole `words` on the device. */
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

/** Some rows in one buffer: slots first … first + count − 1. */
export interface RowSegment {
  readonly buffer: GpuBuffer;
  readonly first: number;
  readonly count: number;
}

/** A result and the slot of each of its rows. */
export interface Gathering {
  readonly out: GpuBuffer;
  readonly slots: GpuBuffer;
  readonly n: number;
}

export class DeviceRows {
  readonly device: GpuDevice;
  readonly layout: RowLayout;
  readonly segments: readonly RowSegment[];

  constructor(device: GpuDevice, layout: RowLayout, count: number, segmentBytes: number, where: string) {
    this.device = device;
    this.layout = layout;
    const most = Math.floor(segmentBytes / Math.max(4, layout.stride));
    if (count > 0 && most === 0)
      throw new DeviceError(
        `${where}: expected rows of at most ${segmentBytes} bytes (what the device can bind), got ${layout.stride}.`,
        { reason: 'limit', bytes: layout.stride, limit: segmentBytes },
      );
    const segments: RowSegment[] = [];
    try {
      for (let first = 0; first < count; first += most) {
        const rows = Math.min(most, count - first);
        segments.push({ buffer: device.buffer(rows * layout.stride, 'hot rows'), first, count: rows });
      }
    } catch (error) {
      for (const { buffer } of segments) buffer.release();
      throw outOfMemory(where, count * layout.stride, device, error);
    }
    this.segments = segments;
  }

  /** Copies host rows, laid out as on the device, to slots from `first` on. */
  upload(first: number, rows: Uint8Array): void {
    const { stride } = this.layout;
    const end = first + rows.length / stride;
    for (const segment of this.segments) {
      const from = Math.max(first, segment.first);
      const to = Math.min(end, segment.first + segment.count);
      if (from >= to) continue;
      const part = rows.subarray((from - first) * stride, (to - first) * stride);
      this.device.write(segment.buffer, part, (from - segment.first) * stride);
    }
  }

  /** Records copies of all rows in this table to their positions in the result. */
  gather(into: Gathering): void {
    for (const segment of this.segments) gatherSegment(this.device, this.layout, into, segment);
  }

  /**
   * Records that row positions[k] of `rows` overwrites slot slots[k]. Rows are laid out as on the device; slots are
   * distinct.
   */
  store(slots: Int32Array, positions: Int32Array, rows: GpuBuffer): void {
    const { device, layout } = this;
    if (slots.length === 0) return;
    const lists = [device.bufferOf(slots, 'slots of rows'), device.bufferOf(positions, 'positions of rows')];
    const groups = grid(slots.length * layout.words, groupSize);
    for (const { buffer, first, count } of this.segments)
      device.run(storeRows, [...lists, rows, buffer], [slots.length, layout.words, first, count], groups);
    for (const list of lists) list.release();
  }

  release(): void {
    for (const { buffer } of this.segments) buffer.release();
  }
}

/** Records one pass, for the rows of the result whose slots are in this segment. */
export function gatherSegment(
  device: GpuDevice,
  layout: RowLayout,
  into: Gathering,
  segment: RowSegment,
): void {
  const { n, out, slots } = into;
  const { words, bytes } = layout;
  const { buffer, first, count } = segment;
  if (layout.isWhole) {
    gatherWhole(device, layout, [slots, slots, buffer, out], [n, first, count, 0]);
  } else {
    const groups = grid(Math.ceil((n * bytes) / 4), groupSize);
    device.run(gatherBytes, [slots, buffer, out], [n, words, first, count, bytes], groups);
  }
}

/** Records one pass over some rows only: row rows[k] of the result from slots[k]. For rows of whole words. */
export function gatherListed(
  device: GpuDevice,
  layout: RowLayout,
  out: GpuBuffer,
  list: { readonly slots: GpuBuffer; readonly rows: GpuBuffer; readonly n: number },
  segment: RowSegment,
): void {
  const buffers = [list.slots, list.rows, segment.buffer, out];
  gatherWhole(device, layout, buffers, [list.n, segment.first, segment.count, 1]);
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

/** Adds the requested size and the memory in use to an out-of-memory error. */
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
