/** Checksums: the twin of `native/kernels/layout/crc32.cpp`. */
import { crc32 as checksum } from '../../util/crc32.js';
import type { Kernels } from '../kernels.js';

export const checksumTwins = {
  crc32(bytes, n, before) {
    return checksum(bytes.subarray(0, n), before);
  },
} satisfies Partial<Kernels>;
