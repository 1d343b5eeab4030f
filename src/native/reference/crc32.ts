/** Checksums: the twin of `native/kernels/crc32.cpp`. */
import { crc32 as checksum } from '../../util/crc32.js';

export function crc32(bytes: Uint8Array, n: number, before: number): number {
  return checksum(bytes.subarray(0, n), before);
}
