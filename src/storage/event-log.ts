/**
 * An append-only log of records, on the disk before `append` resolves. Appends that arrive within some milliseconds share
 * one write and one fsync (group commit). The log is divided into segments, so that old records can be removed.
 *
 * After a crash an incomplete tail is cut and reported: a write that was never acknowledged, or damage to the very last
 * record, which looks the same. Any other damage is an error that names file and offset. A record that `durable` names must be
 * there, so after an orderly end damage to the last record is an error too. If a write or an fsync fails, the log accepts nothing more: what is on the disk is then unknown.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkInteger, checkNumber, expected, StateError, StorageError, ValueError } from '../util/errors.js';
import { type Latency, LatencyLog } from '../util/latency-log.js';
import { checkOptionNames } from '../util/option-names.js';
import { runAll } from '../util/run-all.js';
import { storageError, syncFolder } from './atomic-file.js';
import {
  encodeRecord,
  encodeSegmentHeader,
  type LogRecord,
  maxRecord,
  segmentHeader,
} from './log-records.js';
import {
  bytesOfSegments,
  endOfLog,
  listSegments,
  readRecords,
  removeSegments,
  segmentPath,
} from './log-segments.js';
import { makeFolder } from './make-folder.js';
import { lockForProcess, type ProcessLock } from './process-lock.js';

export interface EventLogOptions {
  /** A new segment begins after so many bytes. Default 64 MiB. */
  readonly segmentBytes?: number;
  /** How long an append waits for others, in milliseconds. Default 5. */
  readonly groupMilliseconds?: number;
  /** The sum of weights that is written without further waiting. Default 1,000. */
  readonly groupWeight?: number;
  /** Sequence number of a record that was on the disk for certain: a log that ends before it is damaged. Default 0. */
  readonly durable?: number;
}

interface Waiting {
  readonly content: Uint8Array;
  readonly sequence: number;
  readonly weight: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

/** The error of a write that failed: what is on the disk is known when the log is opened again. */
function unknownOutcome(path: string, error: unknown): StorageError {
  const { details } = storageError('write', path, error);
  const { code } = details as { readonly code: string };
  return new StorageError(
    `event log: expected to write ${path}, got ${code === '' ? String(error) : code}. Whether the records of this write are in the log is known when it is opened again: remove the cause, open it, and send them again with the same ids.`,
    details,
    { cause: error },
  );
}

export class EventLog {
  readonly folder: string;
  /** A sentence about what was cut from the end of the log when it was opened; null if it was complete. */
  readonly torn: string | null;
  readonly #lock: ProcessLock;
  readonly #segmentBytes: number;
  readonly #groupMilliseconds: number;
  readonly #groupWeight: number;
  readonly #fsyncs = new LatencyLog(10_000);
  #file: FileHandle | null = null;
  #path = '';
  #segmentSize = 0;
  #olderBytes = 0;
  #last: number;
  #durable: number;
  #waiting: Waiting[] = [];
  #weight = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #failure: unknown = null;
  #isClosed = false;

  private constructor(
    folder: string,
    lock: ProcessLock,
    end: { last: number; torn: string | null },
    options: EventLogOptions,
  ) {
    this.folder = folder;
    this.#lock = lock;
    this.torn = end.torn;
    this.#last = end.last;
    this.#durable = end.last;
    this.#segmentBytes = options.segmentBytes ?? 2 ** 26;
    this.#groupMilliseconds = options.groupMilliseconds ?? 5;
    this.#groupWeight = options.groupWeight ?? 1000;
  }

  /** Opens the log of a folder, which is created if missing, and locks it for this process. */
  static async open(folder: string, options: EventLogOptions = {}): Promise<EventLog> {
    checkOptionNames('EventLog', options, {
      ...({ segmentBytes: true, groupMilliseconds: true, groupWeight: true, durable: true } as const),
    });
    checkInteger('EventLog', 'segmentBytes', options.segmentBytes ?? 2 ** 26, segmentHeader);
    checkNumber('EventLog', 'groupMilliseconds', options.groupMilliseconds ?? 5, 0, 60_000);
    checkInteger('EventLog', 'groupWeight', options.groupWeight ?? 1000, 1);
    // A new folder is durable when the folder that contains it is.
    for (const made of makeFolder(folder)) await syncFolder(dirname(made));
    const lock = lockForProcess(
      join(folder, 'lock'),
      (pid) =>
        new StateError(
          `event log: expected a folder that no other process uses, got ${folder}, which process ${pid} has open. Stop it, or choose another folder.`,
        ),
    );
    try {
      const segment = listSegments(folder).at(-1);
      const end = await endOfLog(folder, segment, options.durable ?? 0);
      const log = new EventLog(folder, lock, end, options);
      if (segment !== undefined) await log.#continue(segment.path, end.bytes, segment.first);
      return log;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Sequence number of the last record that was appended; the first is 1. */
  get last(): number {
    return this.#last;
  }

  /** Bytes of all segments. */
  get bytes(): number {
    return this.#olderBytes + this.#segmentSize;
  }

  /** Sum of the weights of appends that are not on the disk yet. */
  get unwritten(): number {
    return this.#weight;
  }

  fsyncLatency(): Latency {
    return this.#fsyncs.percentiles();
  }

  /** Yields the records after `sequence`, in order. */
  records(sequence = 0): AsyncGenerator<LogRecord> {
    return readRecords(listSegments(this.folder), sequence);
  }

  /** Appends a record; resolves with its sequence number when it is on the disk. `weight` counts for `groupWeight`. */
  append(content: Uint8Array, weight = 1): Promise<number> {
    if (this.#isClosed)
      return Promise.reject(new StateError('append: expected an open event log, got a closed one.'));
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (content.length > maxRecord)
      return Promise.reject(
        new ValueError(
          expected('append', `at most ${maxRecord} bytes`, 'a record', content.length, 'Send fewer events.'),
        ),
      );
    return new Promise((resolve, reject) => {
      const sequence = ++this.#last;
      this.#waiting.push({ content, sequence, weight, resolve, reject });
      this.#weight += weight;
      this.#schedule();
    });
  }

  /** Removes segments whose records are all at most `sequence`. */
  async removeUpTo(sequence: number): Promise<void> {
    await removeSegments(this.folder, sequence);
    this.#olderBytes = bytesOfSegments(this.folder) - this.#segmentSize;
  }

  /** Writes what waits, closes the files and releases the lock. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      while (this.#waiting.length > 0 || this.#writing !== null) {
        this.#start();
        await this.#writing;
      }
    } finally {
      await runAll([async () => this.#file?.close(), () => this.#lock.release()]);
    }
  }

  #schedule(): void {
    if (this.#writing !== null) return;
    if (this.#weight >= this.#groupWeight) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#groupMilliseconds);
  }

  #start(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || this.#waiting.length === 0) return;
    const group = this.#waiting;
    const weight = this.#weight;
    this.#waiting = [];
    this.#writing = this.#write(group)
      .catch((error: unknown) => {
        this.#failure ??= unknownOutcome(this.#path, error);
        const failed = [...group, ...this.#waiting];
        this.#waiting = [];
        this.#weight = 0;
        for (const { reject } of failed) reject(this.#failure);
      })
      .then(() => {
        this.#writing = null;
        if (this.#failure !== null) return;
        this.#weight -= weight;
        for (const { resolve, sequence } of group) resolve(sequence);
        if (this.#waiting.length > 0) this.#schedule();
      });
  }

  /** Writes a group of records and makes it durable. */
  async #write(group: readonly Waiting[]): Promise<void> {
    const [{ sequence: first }] = group;
    if (this.#file === null || this.#segmentSize >= this.#segmentBytes) await this.#begin(first);
    const parts = group.map(({ sequence, content }) => encodeRecord(sequence, this.#durable, content));
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const file = this.#file as unknown as FileHandle;
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, this.#segmentSize + done);
      done += bytesWritten;
    }
    const started = performance.now();
    await file.datasync();
    this.#fsyncs.add(performance.now() - started);
    this.#segmentSize += bytes.length;
    this.#durable = group[group.length - 1].sequence;
  }

  /** Begins a segment. */
  async #begin(first: number): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    this.#olderBytes += this.#segmentSize;
    this.#segmentSize = 0;
    this.#path = segmentPath(this.folder, first);
    this.#file = await open(this.#path, 'w');
    await this.#writeHeader(this.#file, first);
    await syncFolder(this.folder);
  }

  /** Continues a segment; one whose header was torn is begun again. */
  async #continue(path: string, bytes: number, first: number): Promise<void> {
    this.#path = path;
    this.#file = await open(path, 'r+');
    this.#segmentSize = bytes;
    if (bytes < segmentHeader) await this.#writeHeader(this.#file, first);
    // A process that was killed may have written records, or made the segment, without an fsync. From now on they count as durable.
    else await this.#file.sync();
    await syncFolder(this.folder);
    this.#olderBytes = bytesOfSegments(this.folder) - this.#segmentSize;
  }

  async #writeHeader(file: FileHandle, first: number): Promise<void> {
    const header = encodeSegmentHeader(first);
    await file.write(header, 0, header.length, 0);
    await file.sync();
    this.#segmentSize = header.length;
  }
}
