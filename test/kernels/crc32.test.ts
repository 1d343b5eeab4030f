/** crc32: known values, zlib's own function, any length and starting point, in chunks. */
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);

describe.each(implementations)('crc32: %s', (_, kernels) => {
  it('gives the check value of the standard', () => {
    expect(kernels.crc32(new TextEncoder().encode('123456789'), 9, 0)).toBe(0xcbf43926);
    expect(kernels.crc32(new Uint8Array(0), 0, 0)).toBe(0);
  });

  it('agrees with zlib at every length around the block sizes', () => {
    const bytes = Uint8Array.from({ length: 400 }, (_, i) => (i * 37 + (i >> 3)) & 255);
    for (let n = 0; n <= 300; n++) {
      for (const at of [0, 1, 7]) {
        const part = bytes.subarray(at, at + n);
        expect(kernels.crc32(part, n, 0)).toBe(zlibCrc32(part));
      }
    }
  });

  it('continues from the checksum of what came before', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 2000 }), fc.nat(2000), (bytes, cut) => {
      const head = bytes.slice(0, cut);
      const tail = bytes.slice(cut);
      const whole = kernels.crc32(bytes, bytes.length, 0);
      expect(kernels.crc32(tail, tail.length, kernels.crc32(head, head.length, 0))).toBe(whole);
    });
    fc.assert(property, { numRuns: 60 });
  });
});
