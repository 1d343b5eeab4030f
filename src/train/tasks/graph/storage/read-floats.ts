/** Reads a range of numbers from a file of f32 rows. */
import { open } from 'node:fs/promises';
import { FormatError } from '../../../../util/errors.js';

export async function readFloats(path: string, first: number, count: number): Promise<Float32Array> {
  const values = new Float32Array(count);
  const bytes = new Uint8Array(values.buffer);
  const handle = await open(path, 'r');
  try {
    for (let done = 0; done < bytes.length; ) {
      const length = Math.min(bytes.length - done, 2 ** 30);
      const { bytesRead } = await handle.read(bytes, done, length, first * 4 + done);
      if (bytesRead === 0)
        throw new FormatError(`${path}: expected ${count * 4} bytes from ${first * 4}, got ${done}.`);
      done += bytesRead;
    }
  } finally {
    await handle.close();
  }
  return values;
}
