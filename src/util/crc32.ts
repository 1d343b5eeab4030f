/**
 * CRC-32 as in zip, gzip and PNG (reflected polynomial 0xedb88320), eight bytes at a time.
 *
 * Detects corruption, not tampering.
 */

/** Table k holds the effect of a byte that k more bytes follow. */
const tables = makeTables();

function makeTables(): readonly Uint32Array[] {
  const first = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    let value = i;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    first[i] = value;
  }
  const all = [first];
  for (let k = 1; k < 8; k++) all.push(all[k - 1].map((value) => (value >>> 8) ^ first[value & 0xff]));
  return all;
}

/** Returns the checksum of `bytes`, or, given the checksum `before` of earlier bytes, that of both in sequence. */
export function crc32(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let crc = ~before;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc =
      t7[crc & 0xff] ^
      t6[(crc >>> 8) & 0xff] ^
      t5[(crc >>> 16) & 0xff] ^
      t4[crc >>> 24] ^
      t3[bytes[i + 4]] ^
      t2[bytes[i + 5]] ^
      t1[bytes[i + 6]] ^
      t0[bytes[i + 7]];
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ t0[(crc ^ bytes[i]) & 0xff];
  return ~crc >>> 0;
}

/** Returns the CRC-32 of a text in UTF-8 as eight hexadecimal digits. */
export function textChecksum(text: string): string {
  return crc32(new TextEncoder().encode(text)).toString(16).padStart(8, '0');
}
