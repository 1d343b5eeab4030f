/**
 * buffer.json of a run with a memory plan or a partition buffer: the plan, the buffer states of the current epoch, and the state
 * that is resident. It is replaced while the run trains, so that a page can follow it. Nothing else reads it: results do not
 * depend on it, and a file that cannot be written is left out.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { temporaryName } from '../../storage/temporary-name.js';
import type { BufferMemory, BufferRecord, EnteredState, OnState } from './buffer-record.js';

export const bufferFile = 'buffer.json';

/** Least milliseconds between writes; the last state of an epoch is always written. */
const pause = 100;

export class BufferFile {
  readonly #path: string;
  readonly #memory: BufferMemory;
  #written = Number.NEGATIVE_INFINITY;

  constructor(path: string, memory: BufferMemory) {
    this.#path = path;
    this.#memory = memory;
    this.#write(() => null);
  }

  readonly enter: OnState = (isLast, describe) => {
    if (!isLast && performance.now() - this.#written < pause) return;
    this.#write(describe);
    this.#written = performance.now();
  };

  #write(describe: () => EnteredState | null): void {
    try {
      const record: BufferRecord = { memory: this.#memory, now: describe() };
      const temporary = temporaryName(this.#path);
      writeFileSync(temporary, `${JSON.stringify(record)}\n`);
      renameSync(temporary, this.#path);
    } catch {
      // The file is for display only.
    }
  }
}

/** Reads the file at a path; null if there is none, or none that is complete. */
export function readBufferFile(path: string): BufferRecord | null {
  try {
    return parseBufferRecord(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Parses the content of the file; null if it is not complete. */
export function parseBufferRecord(text: string): BufferRecord | null {
  try {
    const found = JSON.parse(text) as Partial<BufferRecord> | null;
    const isWhole = typeof found?.memory?.table === 'number' && isState(found.now);
    return isWhole ? (found as BufferRecord) : null;
  } catch {
    return null;
  }
}

function isState(now: EnteredState | null | undefined): boolean {
  if (now === null) return true;
  return (
    Array.isArray(now?.states) &&
    Array.isArray(now.items) &&
    now.states.length === now.items.length &&
    Number.isSafeInteger(now.state) &&
    now.state >= 0 &&
    now.state < now.states.length
  );
}
