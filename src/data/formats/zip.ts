/**
 * Reads zip archives from bytes: stored and deflated members, zip64. What an .npz file needs, and no more.
 *
 * Sizes come from the central directory and every member's checksum is verified. Not read: encrypted members, archives
 * in several parts, other compression methods. Format: PKWARE APPNOTE 6.3, sections 4.3 to 4.5.
 */
import { inflateRawSync } from 'node:zlib';
import { crc32 } from '../../util/crc32.js';
import { FormatError } from '../../util/errors.js';

export interface ZipMember {
  readonly name: string;
  readonly size: number;
  /** Decompresses the member and verifies its checksum. */
  read(): Uint8Array;
}

const wide = 0xffffffff;

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

  /** A little-endian number of 2, 4 or 8 bytes. */
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

  /** Number of members and the place of the central directory. */
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
    return this.fail(0, 'expected a zip archive, got a file without an end record; it may be cut off');
  }

  /** The member whose central record is at `at`, and where the next record begins. */
  member(at: number): { member: ZipMember; next: number } {
    if (this.number(at, 4) !== 0x02014b50) this.fail(at, 'expected a central directory record');
    const flags = this.number(at + 8, 2);
    const nameLength = this.number(at + 28, 2);
    const extraLength = this.number(at + 30, 2);
    const extraStart = at + 46 + nameLength;
    const name = new TextDecoder(flags & 0x800 ? 'utf-8' : 'latin1').decode(this.slice(at + 46, nameLength));
    const sizes = this.#sizes(at, extraStart, extraStart + extraLength);
    const read = (): Uint8Array => this.#read(at, name, sizes, flags);
    const next = extraStart + extraLength + this.number(at + 32, 2);
    return { member: { name, size: sizes.full, read }, next };
  }

  /** Sizes and place of a member; those that do not fit 32 bits are in the zip64 extra field, in this order. */
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

  #read(
    at: number,
    name: string,
    { full, packed, local }: { full: number; packed: number; local: number },
    flags: number,
  ): Uint8Array {
    if (flags & 1) this.fail(at, `expected plain members, got ${name}, which is encrypted`);
    if (this.number(local, 4) !== 0x04034b50) this.fail(local, `expected the local header of ${name}`);
    const method = this.number(at + 10, 2);
    const packedBytes = this.slice(
      local + 30 + this.number(local + 26, 2) + this.number(local + 28, 2),
      packed,
    );
    const data = this.#unpack(local, name, method, packedBytes, full);
    if (data.length !== full) this.fail(local, `expected ${full} bytes in ${name}, got ${data.length}`);
    if (crc32(data) !== this.number(at + 16, 4))
      this.fail(local, `expected the checksum of ${name} to hold, got damaged content`);
    return data;
  }

  #unpack(local: number, name: string, method: number, packed: Uint8Array, full: number): Uint8Array {
    if (method === 0) return packed;
    if (method !== 8)
      this.fail(local, `expected stored or deflated members, got method ${method} for ${name}`);
    try {
      // The promised size bounds what a crafted member can allocate.
      return inflateRawSync(packed, { maxOutputLength: Math.max(full, 1) });
    } catch (error) {
      throw new FormatError(
        `${this.where}: expected deflated data for ${name}, got ${(error as Error).message} (byte ${local}).`,
        { path: this.where, offset: local },
        { cause: error },
      );
    }
  }
}

/** The members of an archive in the order of its directory. */
export function readZip(bytes: Uint8Array, where: string): ZipMember[] {
  const reader = new ZipReader(bytes, where);
  const { count, offset } = reader.directory();
  const members: ZipMember[] = [];
  for (let at = offset; members.length < count; ) {
    const { member, next } = reader.member(at);
    members.push(member);
    at = next;
  }
  return members;
}
