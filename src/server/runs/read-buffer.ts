/** buffer.json of a run, which may come from elsewhere. */
import { join } from 'node:path';
import { bufferFile, parseBufferRecord } from '../../train/run/buffer-file.js';
import type { BufferRecord } from '../../train/run/buffer-record.js';
import { readRunFile } from './run-file.js';

/** Returns the plan and the partition buffer of a run; null if it has neither, or only a damaged file. */
export function readBuffer(directory: string): BufferRecord | null {
  try {
    return parseBufferRecord(readRunFile(join(directory, bufferFile)) ?? '');
  } catch {
    return null;
  }
}
