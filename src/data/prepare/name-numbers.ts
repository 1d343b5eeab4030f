/**
 * Numbers a stream of names of any length in order of first appearance.
 *
 * Names are kept in one table while it is within its budget. Then the table is closed: its names keep their numbers, others
 * are written to one of 64 files by their hash. At the end each file is numbered separately, and one pass over the stream
 * gives each name the next number at its first appearance. Memory is the budget, then that of the names of one file and 4
 * bytes per name; the numbers are the same in both cases.
 */
import { join } from 'node:path';
import { ByteNames, hashBytes } from '../formats/byte-names.js';
import type { NodeTypes } from '../formats/node-types.js';
import { shareTextIds } from '../formats/node-types.js';
import { parseId } from '../formats/parse-number.js';
import { bytesOf, FileWriter, readBlocks } from './binary-file.js';
import { SpoolReader, writeRecord } from './spool-reader.js';

/** The result for a stream of names. */
export interface NumberedNames {
  readonly size: number;
  /** File of int32 numbers, one per name of the stream, in its order. */
  readonly idsPath: string;
  /** Yields names in order of number; null if the numbers are the names. */
  names(): AsyncGenerator<readonly string[]> | null;
}

/** Receives names; `type` is 0 for sources and 1 for destinations, if these have separate names. */
export interface NameSink {
  readonly count: number;
  add(bytes: Uint8Array, start: number, stop: number, type?: 0 | 1): void;
  finish(): Promise<NumberedNames>;
}

const fileCount = 64;
const blockNames = 1 << 14;

export class SpillingNameNumbers implements NameSink {
  count = 0;
  readonly #ids: FileWriter;
  #table: ByteNames | null = new ByteNames();
  #files: FileWriter[] = [];
  /** Buffer for a type, a colon and a name. */
  #scratch = Buffer.alloc(256);
  readonly #prefixes: readonly Buffer[];
  /** Number of ids that had their type as a prefix already. */
  typed = 0;

  constructor(
    readonly folder: string,
    readonly budget: number,
    readonly types: NodeTypes | null = null,
  ) {
    this.#ids = new FileWriter(join(folder, 'ids.bin'));
    this.#prefixes = types === null ? [] : types.map((type) => Buffer.from(`${type}:`));
  }

  add(bytes: Uint8Array, start: number, stop: number, type?: 0 | 1): void {
    if (type === undefined || this.#prefixes.length === 0) this.#add(bytes, start, stop);
    else if (startsWith(bytes, start, stop, this.#prefixes[type])) {
      this.typed++;
      this.#add(bytes, start, stop);
    } else {
      const length = this.#writePrefixed(this.#prefixes[type], bytes, start, stop);
      this.#add(this.#scratch, 0, length);
    }
  }

  #writePrefixed(prefix: Buffer, bytes: Uint8Array, start: number, stop: number): number {
    const length = prefix.length + stop - start;
    if (length > this.#scratch.length) this.#scratch = Buffer.alloc(2 * length);
    this.#scratch.set(prefix);
    this.#scratch.set(bytes.subarray(start, stop), prefix.length);
    return length;
  }

  #add(bytes: Uint8Array, start: number, stop: number): void {
    const table = this.#table as ByteNames;
    this.count++;
    if (this.#files.length === 0) {
      this.#ids.writeInt32(table.add(bytes, start, stop));
      if (table.bytesHeld > this.budget) this.#closeTable();
      return;
    }
    const known = table.numberOf(bytes, start, stop);
    if (known >= 0) {
      this.#ids.writeInt32(known);
      return;
    }
    const file = hashBytes(bytes, start, stop) >>> 26;
    this.#ids.writeInt32(-1 - file);
    writeRecord(this.#files[file], bytes.subarray(start, stop));
  }

  #closeTable(): void {
    this.#files = Array.from(
      { length: fileCount },
      (_, i) => new FileWriter(join(this.folder, `names-${i}.bin`)),
    );
  }

  /** Returns whether so many text ids are on both sides that they are the same nodes; false if that is unknown. */
  sharesNames(): boolean {
    const table = this.#table;
    if (this.types === null || table === null || this.#files.length > 0) return false;
    const [source, target] = this.#prefixes;
    const textIds = [0, 0];
    let shared = 0;
    for (let id = 0; id < table.size; id++) {
      const name = Buffer.from(table.bytesOf(id));
      const side = name.subarray(0, source.length).equals(source) ? 0 : 1;
      const raw = name.subarray(this.#prefixes[side].length);
      if (raw.every((byte) => byte >= 48 && byte <= 57)) continue;
      textIds[side]++;
      if (side === 1) continue;
      const length = this.#writePrefixed(target, raw, 0, raw.length);
      if (table.numberOf(this.#scratch, 0, length) >= 0) shared++;
    }
    return shareTextIds(shared, Math.min(...textIds));
  }

  async finish(): Promise<NumberedNames> {
    this.#ids.close();
    const table = this.#table as ByteNames;
    if (this.#files.length > 0) {
      this.#table = null;
      return this.#finishFiles(table);
    }
    return { size: table.size, idsPath: this.#ids.path, names: () => tableNames(table) };
  }

  async #finishFiles(table: ByteNames): Promise<NumberedNames> {
    for (const file of this.#files) file.close();
    const namesPath = join(this.folder, 'names.bin');
    const names = new FileWriter(namesPath);
    for (let id = 0; id < table.size; id++) writeRecord(names, table.bytesOf(id));
    let size = table.size;
    const numberedFiles = this.#files.map(({ path }) => numberFile(path));
    const idsPath = join(this.folder, 'all-ids.bin');
    const ids = new FileWriter(idsPath);
    for await (const block of readBlocks(this.#ids.path)) {
      const numbers = new Int32Array(block.buffer, block.byteOffset, block.length / 4);
      for (let i = 0; i < numbers.length; i++) {
        if (numbers[i] >= 0) continue;
        const file = numberedFiles[-1 - numbers[i]];
        const local = file.numbers.int32();
        // Numbers of a file are in order of first appearance, so the next unused one is a new name.
        if (local === file.seen) {
          file.global[file.seen++] = size++;
          writeRecord(names, file.names.record());
        }
        numbers[i] = file.global[local];
      }
      ids.write(bytesOf(numbers));
    }
    for (const file of [names, ids]) file.close();
    for (const file of numberedFiles) {
      file.numbers.close();
      file.names.close();
    }
    return { size, idsPath, names: () => fileNames(namesPath) };
  }
}

/** Returns whether a name starts with a prefix and is longer. */
function startsWith(bytes: Uint8Array, start: number, stop: number, prefix: Uint8Array): boolean {
  if (stop - start <= prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (bytes[start + i] !== prefix[i]) return false;
  return true;
}

interface NumberedFile {
  /** Number of each name within the file. */
  readonly numbers: SpoolReader;
  /** Distinct names, in order of these numbers. */
  readonly names: SpoolReader;
  /** Number of each in the stream, as far as assigned. */
  readonly global: Int32Array;
  seen: number;
}

function numberFile(path: string): NumberedFile {
  const table = new ByteNames();
  const numbers = new FileWriter(`${path}.numbers`);
  const input = new SpoolReader(path);
  while (!input.done) {
    const name = input.record();
    numbers.writeInt32(table.add(name, 0, name.length));
  }
  input.close();
  numbers.close();
  const names = new FileWriter(`${path}.names`);
  for (let id = 0; id < table.size; id++) writeRecord(names, table.bytesOf(id));
  names.close();
  return {
    ...{ numbers: new SpoolReader(numbers.path), names: new SpoolReader(names.path) },
    ...{ global: new Int32Array(table.size), seen: 0 },
  };
}

async function* tableNames(table: ByteNames): AsyncGenerator<readonly string[]> {
  for (let start = 0; start < table.size; start += blockNames)
    yield Array.from({ length: Math.min(blockNames, table.size - start) }, (_, i) => table.nameOf(start + i));
}

async function* fileNames(path: string): AsyncGenerator<readonly string[]> {
  const reader = new SpoolReader(path, 1 << 20);
  try {
    while (!reader.done) {
      const block: string[] = [];
      while (block.length < blockNames && !reader.done) block.push(reader.record().toString());
      yield block;
    }
  } finally {
    reader.close();
  }
}

/** Names that are whole numbers and are kept. */
export class KeptNumbers implements NameSink {
  count = 0;
  #largest = -1;
  readonly #ids: FileWriter;

  constructor(folder: string) {
    this.#ids = new FileWriter(join(folder, 'ids.bin'));
  }

  /** The caller has checked that the name consists of digits. */
  add(bytes: Uint8Array, start: number, stop: number): void {
    const id = parseId(bytes, start, stop);
    if (id > this.#largest) this.#largest = id;
    this.count++;
    this.#ids.writeInt32(id);
  }

  async finish(): Promise<NumberedNames> {
    this.#ids.close();
    return { size: this.#largest + 1, idsPath: this.#ids.path, names: () => null };
  }
}
