import { crc32 } from './crc32.js';

/** CRC-32 of a text in UTF-8, as eight hexadecimal digits. */
export function textChecksum(text: string): string {
  return crc32(new TextEncoder().encode(text)).toString(16).padStart(8, '0');
}
