/** Follows buffer.json of a run: its content whenever it has been replaced. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bufferFile } from '../../train/run/buffer-file.js';
import type { BufferRecord } from '../../train/run/buffer-record.js';
import type { FollowOptions } from './follow-lines.js';
import { readBuffer } from './read-buffer.js';

/** Ends when the signal is aborted. A file that does not exist yet, or is damaged, has no content. */
export async function* followBuffer(
  directory: string,
  { signal, every = 200 }: FollowOptions,
): AsyncGenerator<BufferRecord> {
  const path = join(directory, bufferFile);
  let identity: string | null = null;
  while (!signal.aborted) {
    const found = await stat(path).catch(() => null);
    const now = found === null ? null : `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (now !== null && now !== identity) {
      const record = readBuffer(directory);
      if (record !== null) yield record;
    }
    identity = now;
    await setTimeout(every, undefined, { signal }).catch(() => {});
  }
}
