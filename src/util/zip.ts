/**
 * Reads and writes zip archives in memory, as far as .npz files need it. The caller decompresses, because Node.js and
 * browsers have different functions for it.
 *
 * Sizes come from the central directory; a member's size and checksum are verify when it is read. A size that no
 * deflated data of that length can have is rejected, so that a small file cannot cause a large allocation. Read: stored
 * and deflated members, zip64. Not read: encrypted members, archives in several volumes, other compression methods.
 * Written: zip without zip64. Format: PKWARE APPNOTE 6.3, sections 4.3 to 4.5.
 */
import { crc32 } from './crc32.js';
import { FormatError, ValueError } from './errors.js';

/** A member as the directory describes it. */
export interface ZipEntry {
  readonly name: string;
  /** Bytes when decompressed. */
  readonly size: number;
  /** Returns the bytes in the archive. */
  packed(): { readonly bytes: Uint8Array; readonly isDeflated: boolean };
  /** Returns decompressed bytes; throws if their size or checksum differs. */
  verify(data: Uint8Array): Uint8Array;
  /** Makes an error about this member. */
  problem(what: string, cause?: unknown): FormatError;
}

const wide = 0xffffffff;
/** Deflate expands one byte to at most 1032; very short data to slightly more. */
const maxRatio = 1032;

interface MemberRecord {
  readonly at: number;
  readonly name: string;
  readonly flags: number;
  readonly full: number;
  readonly packed: number;
  readonly local: number;
}

class ZipReader {
  readonly #view: DataView;

  constructor(
    readonly bytes: Uint8Array,
    readonly where: string,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  fail(offset: number, what: string): never {
    throw new FormatError(`${this.where}: ${what} (byte ${offset}).`, { path: this.where, offset });
  }

  /** Reads a little-endian number of 2, 4 or 8 bytes. */
  number(offset: number, size: 2 | 4 | 8): number {
    if (offset < 0 || offset + size > this.bytes.length)
      this.fail(offset, 'expected a zip record, got the end of the file');
    if (size === 2) return this.#view.getUint16(offset, true);
    if (size === 4) return this.#view.getUint32(offset, true);
    return this.number(offset, 4) + this.number(offset + 4, 4) * 4294967296;
  }

  slice(offset: number, size: number): Uint8Array {
    if (offset + size > this.bytes.length)
      this.fail(offset, `expected ${size} bytes, got the end of the file`);
    return this.bytes.subarray(offset, offset + size);
  }

  /** Finds the number of members and the offset of the central directory. */
  directory(): { count: number; offset: number } {
    // The end record is followed by a comment of at most 65535 bytes.
    const first = Math.max(0, this.bytes.length - 22 - 65535);
    for (let at = this.bytes.length - 22; at >= first; at--) {
      if (this.number(at, 4) !== 0x06054b50) continue;
      const count = this.number(at + 10, 2);
      const offset = this.number(at + 16, 4);
      if (count !== 0xffff && offset !== wide) return { count, offset };
      if (at < 20 || this.number(at - 20, 4) !== 0x07064b50)
        this.fail(at, 'expected a zip64 locator before the end record');
      const record = this.number(at - 12, 8);
      if (this.number(record, 4) !== 0x06064b50) this.fail(record, 'expected the zip64 end record');
      return { count: this.number(record + 32, 8), offset: this.number(record + 48, 8) };
    }
    return this.fail(0, 'expected a zip archive, got a file without an end record; it may be truncated');
  }

  /** Reads the member whose central record is at `at`, and the offset of the next record. */
  entry(at: number): { entry: ZipEntry; next: number } {
    if (this.number(at, 4) !== 0x02014b50) this.fail(at, 'expected a central directory record');
    const flags = this.number(at + 8, 2);
    const nameLength = this.number(at + 28, 2);
    const extraLength = this.number(at + 30, 2);
    const extraStart = at + 46 + nameLength;
    const nameBytes = this.slice(at + 46, nameLength).slice();
    const name = new TextDecoder(flags & 0x800 ? 'utf-8' : 'latin1').decode(nameBytes);
    const place = { at, name, flags, ...this.#sizes(at, extraStart, extraStart + extraLength) };
    const entry: ZipEntry = {
      name,
      size: place.full,
      packed: () => this.#packed(place),
      verify: (data) => this.#verify(place, data),
      problem: (what, cause) =>
        new FormatError(
          `${this.where}: ${what} (byte ${place.local}).`,
          { path: this.where, offset: place.local },
          cause === undefined ? undefined : { cause },
        ),
    };
    return { entry, next: extraStart + extraLength + this.number(at + 32, 2) };
  }

  /** Reads sizes and offset of a member; values beyond 32 bits are in the zip64 extra field, in this order. */
  #sizes(at: number, extraStart: number, extraEnd: number): { full: number; packed: number; local: number } {
    const values = [this.number(at + 24, 4), this.number(at + 20, 4), this.number(at + 42, 4)];
    for (let field = extraStart; field + 4 <= extraEnd; field += 4 + this.number(field + 2, 2)) {
      if (this.number(field, 2) !== 1) continue;
      let from = field + 4;
      for (let i = 0; i < 3; i++) {
        if (values[i] !== wide) continue;
        values[i] = this.number(from, 8);
        from += 8;
      }
    }
    return { full: values[0], packed: values[1], local: values[2] };
  }

  #packed({ at, name, flags, full, packed, local }: MemberRecord): {
    bytes: Uint8Array;
    isDeflated: boolean;
  } {
    if (flags & 1) this.fail(at, `expected plain members, got ${name}, which is encrypted`);
    if (this.number(local, 4) !== 0x04034b50) this.fail(local, `expected the local header of ${name}`);
    const method = this.number(at + 10, 2);
    if (method !== 0 && method !== 8)
      this.fail(local, `expected stored or deflated members, got method ${method} for ${name}`);
    const isDeflated = method === 8;
    if (isDeflated && full > (packed + 8) * maxRatio)
      this.fail(at, `expected a size that ${packed} deflated bytes can have for ${name}, got ${full}`);
    const start = local + 30 + this.number(local + 26, 2) + this.number(local + 28, 2);
    return { bytes: this.slice(start, packed), isDeflated };
  }

  #verify({ at, name, full, local }: MemberRecord, data: Uint8Array): Uint8Array {
    if (data.length !== full) this.fail(local, `expected ${full} bytes in ${name}, got ${data.length}`);
    if (crc32(data) !== this.number(at + 16, 4))
      this.fail(local, `expected the checksum of ${name} to hold, got damaged content`);
    return data;
  }
}

/** Returns the members of an archive in the order of its directory. */
export function zipEntries(bytes: Uint8Array, where: string): ZipEntry[] {
  const reader = new ZipReader(bytes, where);
  const { count, offset } = reader.directory();
  const entries: ZipEntry[] = [];
  for (let at = offset; entries.length < count; ) {
    const { entry, next } = reader.entry(at);
    entries.push(entry);
    at = next;
  }
  return entries;
}

/** A member to write: its bytes, and the deflated ones to store instead, if any. */
export interface NewZipEntry {
  readonly name: string;
  readonly data: Uint8Array;
  readonly deflated?: Uint8Array;
}

/** Makes an archive. All times are the earliest that zip can express, so that equal members give equal bytes. */
export function makeZip(entries: readonly NewZipEntry[]): Uint8Array {
  const records = entries.map((entry) => ({ ...entry, name: new TextEncoder().encode(entry.name) }));
  const packedOf = ({ data, deflated }: { data: Uint8Array; deflated?: Uint8Array }): Uint8Array =>
    deflated ?? data;
  const local = records.reduce((sum, each) => sum + 30 + each.name.length + packedOf(each).length, 0);
  const total = local + records.reduce((sum, { name }) => sum + 46 + name.length, 22);
  if (total >= wide || records.length >= 0xffff)
    throw new ValueError(
      `zip: expected at most 65534 members and ${wide - 1} bytes, got ${records.length} and ${total}. Split them over several files.`,
    );
  const out = new Uint8Array(total);
  const view = new DataView(out.buffer);
  let [at, central] = [0, local];
  for (const record of records) {
    const packed = packedOf(record);
    const start = at;
    view.setUint32(at, 0x04034b50, true);
    writeSharedFields(view, at + 4, record, packed.length);
    out.set(record.name, at + 30);
    out.set(packed, at + 30 + record.name.length);
    at += 30 + record.name.length + packed.length;
    view.setUint32(central, 0x02014b50, true);
    view.setUint16(central + 4, 20, true);
    writeSharedFields(view, central + 6, record, packed.length);
    view.setUint32(central + 42, start, true);
    out.set(record.name, central + 46);
    central += 46 + record.name.length;
  }
  view.setUint32(central, 0x06054b50, true);
  view.setUint16(central + 8, records.length, true);
  view.setUint16(central + 10, records.length, true);
  view.setUint32(central + 12, central - local, true);
  view.setUint32(central + 16, local, true);
  return out;
}

/**
 * Writes the fields that local headers and central records share: version, flags, method, time, checksum, sizes, name
 * length.
 */
function writeSharedFields(
  view: DataView,
  at: number,
  { name, data, deflated }: { name: Uint8Array; data: Uint8Array; deflated?: Uint8Array },
  packed: number,
): void {
  view.setUint16(at, 20, true);
  view.setUint16(at + 2, 0x800, true);
  view.setUint16(at + 4, deflated === undefined ? 0 : 8, true);
  view.setUint16(at + 8, 0x21, true);
  view.setUint32(at + 10, crc32(data), true);
  view.setUint32(at + 14, packed, true);
  view.setUint32(at + 18, data.length, true);
  view.setUint16(at + 22, name.length, true);
}
