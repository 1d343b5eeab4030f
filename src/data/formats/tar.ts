/**
 * Reads the regular files of tar archives (ustar). Links, devices and long-name extensions are skipped.
 */
import { FormatError } from '../../util/errors.js';

const block = 512;

export interface TarMember {
  readonly name: string;
  read(): Uint8Array;
}

export function readTar(bytes: Uint8Array, where: string): TarMember[] {
  const members: TarMember[] = [];
  const text = (from: number, length: number): string =>
    Buffer.from(bytes.subarray(from, from + length))
      .toString('latin1')
      .replace(/\0.*$/s, '');
  for (let at = 0; at + block <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12).trim() || '0', 8);
    const start = at + block;
    if (!Number.isSafeInteger(size) || size < 0 || start + size > bytes.length) {
      throw new FormatError(
        `${where}: expected a tar archive, got a damaged or truncated header (byte ${at}).`,
        {
          path: where,
          offset: at,
        },
      );
    }
    const kind = text(at + 156, 1);
    if (kind === '' || kind === '0') {
      const prefix = text(at + 257, 5) === 'ustar' ? text(at + 345, 155) : '';
      const name = text(at, 100);
      members.push({
        name: prefix === '' ? name : `${prefix}/${name}`,
        read: () => bytes.subarray(start, start + size),
      });
    }
    at = start + Math.ceil(size / block) * block;
  }
  return members;
}
