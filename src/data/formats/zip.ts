/** Members of zip archives, decompressed by Node.js. The format itself is in src/util/zip.ts. */
import { inflateRawSync } from 'node:zlib';
import { type ZipEntry, zipEntries } from '../../util/zip.js';

export interface ZipMember {
  readonly name: string;
  readonly size: number;
  /** Decompresses the member and verifies its checksum. */
  read(): Uint8Array;
}

/** Returns the members of an archive in the order of its directory. */
export function readZip(bytes: Uint8Array, where: string): ZipMember[] {
  return zipEntries(bytes, where).map((entry) => ({
    name: entry.name,
    size: entry.size,
    read: () => readEntry(entry),
  }));
}

function readEntry(entry: ZipEntry): Uint8Array {
  const { bytes, isDeflated } = entry.packed();
  if (!isDeflated) return entry.verify(bytes);
  let data: Uint8Array;
  try {
    // The declared size limits what a malicious member can allocate.
    data = inflateRawSync(bytes, { maxOutputLength: Math.max(entry.size, 1) });
  } catch (error) {
    throw entry.problem(`expected deflated data for ${entry.name}, got ${(error as Error).message}`, error);
  }
  return entry.verify(data);
}
