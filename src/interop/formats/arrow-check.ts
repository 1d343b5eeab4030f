/**
 * Checks the metadata of an Arrow file or stream before the library decodes it. The library trusts the lengths in these
 * flatbuffers: a damaged one makes it loop for hours or allocate all memory.
 *
 * Checked are the frames, that every table, vector and string lies within its flatbuffer, and that buffers lie within the body
 * of their message. Names of the tables and numbers of their fields: format/{Message,Schema,File}.fbs of Apache Arrow.
 */
import { FormatError } from '../../util/errors.js';

/** The target of a field of a table: text, a vector of structs or scalars, a table, or a vector of tables. */
type Reference =
  | { readonly kind: 'text' }
  | { readonly kind: 'scalars'; readonly bytes: number }
  | { readonly kind: 'table' | 'tables'; readonly table: () => Fields };

/** Fields of a table that refer to something, by their number. */
type Fields = Readonly<Record<number, Reference>>;

const text: Reference = { kind: 'text' };
const scalars = (bytes: number): Reference => ({ kind: 'scalars', bytes });
const one = (table: () => Fields): Reference => ({ kind: 'table', table });
const many = (table: () => Fields): Reference => ({ kind: 'tables', table });

const keyValue: Fields = { 0: text, 1: text };
/** All types of columns, and the compression: the library takes views of their few vectors, so their lengths cost nothing. */
const columnType: Fields = {};
const dictionaryEncoding: Fields = { 1: one(() => columnType) };
const field: Fields = {
  0: text,
  3: one(() => columnType),
  4: one(() => dictionaryEncoding),
  5: many(() => field),
  6: many(() => keyValue),
};
const schema: Fields = { 1: many(() => field), 2: many(() => keyValue), 3: scalars(8) };
const recordBatch: Fields = { 1: scalars(16), 2: scalars(16), 3: one(() => columnType), 4: scalars(8) };
const dictionaryBatch: Fields = { 1: one(() => recordBatch) };
const footer: Fields = {
  1: one(() => schema),
  2: scalars(24),
  3: scalars(24),
  4: many(() => keyValue),
};
/** Tables of the header of a message, by their number in the union. */
const headers: Readonly<Record<number, Fields>> = { 1: schema, 2: dictionaryBatch, 3: recordBatch };

/** Most rows of a column that has no bytes. */
const freeRows = 2 ** 20;
const maxDepth = 64;

function fail(what: string, got: string): never {
  throw new FormatError(
    `parseArrow: expected ${what}, got ${got}. The bytes are damaged or not of an Arrow file.`,
  );
}

/** A flatbuffer whose references are checked as they are followed. */
class Flatbuffer {
  readonly #view: DataView;
  /** Tables left to visit: references may share a table, and so make more tables than bytes. */
  #left: number;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#left = bytes.byteLength;
  }

  root(): number {
    return this.follow(0);
  }

  #inside(at: number, length: number): number {
    if (!(at >= 0 && length >= 0 && at + length <= this.#view.byteLength))
      fail(`metadata of ${this.#view.byteLength} bytes`, `a reference to ${length} bytes at ${at}`);
    return at;
  }

  uint8(at: number): number {
    return this.#view.getUint8(this.#inside(at, 1));
  }

  int32(at: number): number {
    return this.#view.getInt32(this.#inside(at, 4), true);
  }

  int64(at: number): number {
    return Number(this.#view.getBigInt64(this.#inside(at, 8), true));
  }

  /** Returns the target of the offset at a position. */
  follow(at: number): number {
    const offset = this.#view.getUint32(this.#inside(at, 4), true);
    return this.#inside(at + offset, 4);
  }

  /** Returns the position of a field of a table; 0 if it is absent. */
  field(table: number, index: number): number {
    const fields = this.#inside(table - this.int32(table), 4);
    const size = this.#view.getUint16(fields, true);
    this.#inside(fields, size);
    const at = 4 + 2 * index;
    if (at + 2 > size) return 0;
    const offset = this.#view.getUint16(fields + at, true);
    return offset === 0 ? 0 : this.#inside(table + offset, 1);
  }

  /** Returns the start and the number of elements of the vector in a field; none if the field is absent. */
  vector(table: number, index: number, bytes: number): { readonly start: number; readonly length: number } {
    const at = this.field(table, index);
    if (at === 0) return { start: 0, length: 0 };
    const vector = this.follow(at);
    const length = this.#view.getUint32(vector, true);
    return { start: this.#inside(vector + 4, length * bytes), length };
  }

  /** Checks a table and everything that it refers to. */
  check(table: number, fields: Fields, depth = 0): void {
    if (--this.#left < 0 || depth > maxDepth) fail('a schema of a few levels', 'tables without end');
    this.field(table, 0);
    for (const [key, reference] of Object.entries(fields)) {
      const index = Number(key);
      if (reference.kind === 'text') this.vector(table, index, 1);
      else if (reference.kind === 'scalars') this.vector(table, index, reference.bytes);
      else if (reference.kind === 'table') {
        const at = this.field(table, index);
        if (at !== 0) this.check(this.follow(at), reference.table(), depth + 1);
      } else {
        const { start, length } = this.vector(table, index, 4);
        for (let i = 0; i < length; i++) this.check(this.follow(start + 4 * i), reference.table(), depth + 1);
      }
    }
  }
}

const magic = [65, 82, 82, 79, 87, 49];
const hasMagic = (bytes: Uint8Array, at: number): boolean => magic.every((byte, i) => bytes[at + i] === byte);

/** Throws unless the library can decode the bytes of a file or stream in a time that their length bounds. */
export function checkArrowBytes(bytes: Uint8Array): void {
  if (hasMagic(bytes, 0)) checkFile(bytes);
  else checkStream(bytes);
}

function checkStream(bytes: Uint8Array): void {
  for (let at = 0; at + 4 <= bytes.length; ) {
    const next = checkMessage(bytes, at);
    if (next === null) return;
    at = next;
  }
}

/** Checks the footer, and the message of each of its blocks. */
function checkFile(bytes: Uint8Array): void {
  const end = bytes.length - magic.length - 4;
  if (end < 8 || !hasMagic(bytes, end + 4)) fail('a footer at the end of the file', `${bytes.length} bytes`);
  const size = new DataView(bytes.buffer, bytes.byteOffset).getInt32(end, true);
  if (size < 8 || size > end) fail('a footer within the file', `${size} bytes`);
  const buffer = new Flatbuffer(bytes.subarray(end - size, end));
  const root = buffer.root();
  buffer.check(root, footer);
  for (const field of [2, 3]) {
    const { start, length } = buffer.vector(root, field, 24);
    for (let i = 0; i < length; i++) {
      const at = buffer.int64(start + 24 * i);
      if (!(at >= 0 && at + 8 <= end)) fail('blocks within the file', `one at byte ${at}`);
      checkMessage(bytes, at);
    }
  }
}

/** Checks the message at a position; returns the position after its body, null at the end of the stream. */
function checkMessage(bytes: Uint8Array, from: number): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = from;
  let size = view.getInt32(at, true);
  at += 4;
  // Since version 0.15 of the format, −1 is before the length.
  if (size === -1) {
    if (at + 4 > bytes.length) return null;
    size = view.getInt32(at, true);
    at += 4;
  }
  if (size === 0) return null;
  if (size < 8 || at + size > bytes.length)
    fail('the metadata of a message within the bytes', `${size} bytes`);
  const buffer = new Flatbuffer(bytes.subarray(at, at + size));
  const root = buffer.root();
  const bodyAt = buffer.field(root, 3);
  const bodyBytes = bodyAt === 0 ? 0 : buffer.int64(bodyAt);
  if (!(bodyBytes >= 0 && at + size + bodyBytes <= bytes.length))
    fail('the body of a message within the bytes', `${bodyBytes} bytes`);
  checkHeader(buffer, root, bodyBytes);
  return at + size + bodyBytes;
}

function checkHeader(buffer: Flatbuffer, message: number, bodyBytes: number): void {
  const typeAt = buffer.field(message, 1);
  const type = typeAt === 0 ? 0 : buffer.uint8(typeAt);
  const fields = headers[type];
  const headerAt = buffer.field(message, 2);
  if (fields === undefined || headerAt === 0)
    fail('a schema, dictionary or batch', `a message of type ${type}`);
  const header = buffer.follow(headerAt);
  buffer.check(header, fields);
  if (type === 3) checkBatch(buffer, header, bodyBytes);
  if (type !== 2) return;
  const data = buffer.field(header, 1);
  if (data !== 0) checkBatch(buffer, buffer.follow(data), bodyBytes);
}

function checkBatch(buffer: Flatbuffer, batch: number, bodyBytes: number): void {
  // A column of truth values has the most rows a byte; one of nulls has no bytes.
  const mostRows = Math.max(8 * bodyBytes, freeRows);
  const lengthAt = buffer.field(batch, 0);
  const rows = lengthAt === 0 ? 0 : buffer.int64(lengthAt);
  const nodes = buffer.vector(batch, 1, 16);
  for (let i = -1; i < nodes.length; i++) {
    const length = i < 0 ? rows : buffer.int64(nodes.start + 16 * i);
    if (!(length >= 0 && length <= mostRows)) fail(`at most ${mostRows} rows in a batch`, `${length}`);
  }
  const buffers = buffer.vector(batch, 2, 16);
  for (let i = 0; i < buffers.length; i++) {
    const [start, length] = [0, 8].map((offset) => buffer.int64(buffers.start + 16 * i + offset));
    if (!(start >= 0 && length >= 0 && start + length <= bodyBytes))
      fail(`buffers within a body of ${bodyBytes} bytes`, `${length} bytes at ${start}`);
  }
}
