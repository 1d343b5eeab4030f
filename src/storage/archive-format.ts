/**
 * The archive of a packed model: a gzip of a tar (ustar) with regular files in one folder, `model`. The first is
 * `pack.json`, which lists all others with length and CRC-32, so that a reader knows what it will write before it writes.
 */

/** The folder in the archive. */
export const archiveFolder = 'model';
export const manifestName = 'pack.json';
export const tarBlock = 512;

export interface ArchiveFile {
  /** Path in the folder, with forward slashes. */
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
}

export interface ArchiveManifest {
  readonly format: 'skein-model';
  readonly version: 1;
  /** A description of the contents by the writer. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly files: readonly ArchiveFile[];
}

/** Names are short and plain, so that they are valid on every system and cannot leave the folder. */
const segment = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

export function isArchiveName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    name.length + archiveFolder.length < 100 &&
    name.split('/').every((part) => segment.test(part))
  );
}

/** Returns the header of a regular file. Sizes from 8 GiB on are written in base 256, as GNU tar does. */
export function tarHeader(name: string, bytes: number): Uint8Array {
  const header = Buffer.alloc(tarBlock);
  const octal = (value: number, at: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  header.write(`${archiveFolder}/${name}`, 0, 'latin1');
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  if (bytes < 8 ** 11) octal(bytes, 124, 12);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  octal(0, 136, 12);
  header.write('        0', 148, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  octal(tarSum(header), 148, 7);
  header[155] = 0x20;
  return header;
}

/** A header of an archive. */
export interface TarHeader {
  readonly name: string;
  readonly bytes: number;
  /** `0` for a regular file. */
  readonly type: string;
}

/** Parses a header; returns null for one that no writer makes, and 'end' for the empty block at the end. */
export function parseTarHeader(block: Uint8Array): TarHeader | 'end' | null {
  if (block.every((byte) => byte === 0)) return 'end';
  const header = Buffer.from(block.buffer, block.byteOffset, tarBlock);
  const text = (at: number, length: number): string =>
    header.toString('latin1', at, at + length).replace(/\0.*$/s, '');
  if (Number.parseInt(text(148, 8).trim(), 8) !== tarSum(header)) return null;
  const bytes =
    header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : Number.parseInt(text(124, 12).trim(), 8);
  if (!Number.isSafeInteger(bytes) || bytes < 0) return null;
  const prefix = text(345, 155);
  const name = prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
  return { name, bytes, type: text(156, 1) || '0' };
}

/** The sum of the bytes of a header, with blanks for the sum itself. */
function tarSum(header: Uint8Array): number {
  return header.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 0x20 : byte), 0);
}

export function tarPadding(bytes: number): number {
  return (tarBlock - (bytes % tarBlock)) % tarBlock;
}
