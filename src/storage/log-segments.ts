/** The files of an event log, each named after the sequence number of its first record. */
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../util/errors.js';
import { readWholeFile, syncFolder, withStorageErrors } from './atomic-file.js';
import { type LogRecord, scanSegment } from './log-records.js';

export interface Segment {
  readonly path: string;
  /** Sequence number of its first record. */
  readonly first: number;
}

export function segmentPath(folder: string, first: number): string {
  return join(folder, `log-${String(first).padStart(16, '0')}.wal`);
}

/** Returns the segments of a folder, in order. */
export function listSegments(folder: string): Segment[] {
  return withStorageErrors('read', folder, () => readdirSync(folder))
    .flatMap((name) => {
      const [, digits] = /^log-(\d{16})\.wal$/.exec(name) ?? [];
      return digits === undefined ? [] : [{ path: join(folder, name), first: Number(digits) }];
    })
    .sort((a, b) => a.first - b.first);
}

export interface LogEnd {
  /** Sequence number of the last record; 0 if there is none. */
  readonly last: number;
  /** Bytes of the last segment. */
  readonly bytes: number;
  /** A sentence about what was cut from the end of the log; null if it was complete. */
  readonly torn: string | null;
}

/**
 * Reads the last segment and cuts a torn tail. Throws, and leaves the file as it is, if record `durable` would be missing: it was
 * on the disk, so this is not a torn write.
 */
export async function endOfLog(
  folder: string,
  segment: Segment | undefined,
  durable: number,
): Promise<LogEnd> {
  if (segment === undefined) {
    checkDurable(0, durable, folder);
    return { last: 0, bytes: 0, torn: null };
  }
  const { path, first } = segment;
  const { records, end, torn } = scanSegment(await readWholeFile(path), path, first, true);
  const last = first + records.length - 1;
  checkDurable(last, durable, path);
  if (torn !== null) withStorageErrors('write', path, () => truncateSync(path, end));
  return {
    last,
    bytes: end,
    torn:
      torn === null
        ? null
        : `The log ended in an incomplete write (${torn}); it was cut in ${path} at byte ${end}.`,
  };
}

function checkDurable(last: number, durable: number, path: string): void {
  if (last < durable)
    throw new FormatError(
      `event log: expected record ${durable}, which was on the disk before, in ${path}, got ${last === 0 ? 'none' : `records up to ${last}`}. Restore the files log-*.wal from a copy.`,
      { path },
    );
}

/** Yields the records after sequence number `after`, segment by segment. */
export async function* readRecords(segments: readonly Segment[], after: number): AsyncGenerator<LogRecord> {
  let from = segments.length - 1;
  while (from > 0 && segments[from].first > after + 1) from--;
  let next = after + 1;
  for (const [i, { path, first }] of segments.slice(Math.max(0, from)).entries()) {
    if (first > next)
      throw new FormatError(
        `event log: expected record ${next} in a segment before ${path}, which begins with ${first}, got none. Restore the missing file.`,
        { path },
      );
    const isLast = from + i === segments.length - 1;
    for (const record of scanSegment(await readWholeFile(path), path, first, isLast).records) {
      if (record.sequence < next) continue;
      yield record;
      next = record.sequence + 1;
    }
  }
}

/** Removes segments all of whose records are at most `sequence`; the last segment stays. */
export async function removeSegments(folder: string, sequence: number): Promise<void> {
  const segments = listSegments(folder);
  let removed = false;
  for (const [i, { path }] of segments.slice(0, -1).entries()) {
    if (segments[i + 1].first > sequence + 1) break;
    withStorageErrors('write', path, () => rmSync(path, { force: true }));
    removed = true;
  }
  if (removed) await syncFolder(folder);
}

export function bytesOfSegments(folder: string): number {
  return listSegments(folder).reduce((sum, { path }) => sum + statSync(path).size, 0);
}
