/** The approximate number of events of a file, for settings that depend on it. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';

const sampleBytes = 65_536;

/** Returns the number of lines, estimated from the first ones; undefined for folders, compressed files and Parquet. */
export function estimateEvents(path: string): number | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || /\.(gz|parquet)$/.test(path)) return undefined;
  const bytes = Buffer.alloc(Math.min(sampleBytes, stat.size));
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(file);
  }
  const lines = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  return Math.round((lines * stat.size) / Math.max(1, bytes.length));
}
