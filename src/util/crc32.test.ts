/** CRC-32 against published check values and a bit-by-bit twin. */
import { describe, expect, test } from 'vitest';
import { crc32 } from './crc32.js';

function slow(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32', () => {
  test('the check value of the standard, and nothing', () => {
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
    expect(crc32(new Uint8Array(0))).toBe(0);
  });

  test('any length, any start, in parts', () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => (i * 151 + 7) & 0xff);
    for (let start = 0; start < 9; start++) {
      for (let end = start; end <= bytes.length; end += 3) {
        const part = bytes.subarray(start, end);
        expect(crc32(part)).toBe(slow(part));
        expect(crc32(bytes.subarray(end), crc32(part))).toBe(slow(bytes.subarray(start)));
      }
    }
  });
});
