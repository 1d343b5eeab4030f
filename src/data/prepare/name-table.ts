/**
 * Names of nodes and relations: mapping from raw id to number and back.
 *
 * A mapping file is kept as its bytes, a start per name and a hash table of numbers: about 15 bytes per name on top of the
 * text, where a Map of strings takes some 100. Names are compared as UTF-8 bytes.
 */
import { readWholeFile } from '../../storage/atomic-file.js';
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { type NodeTypes, typedName } from '../formats/node-types.js';
import { mappingRecords } from './mapping-file.js';

/** Numbers 0 … size − 1 and their names. */
export interface NameTable {
  readonly size: number;
  /**
   * Returns the number of a name; undefined if it is unknown. If sources and destinations have separate ids, `side`
   * replaces the type as a prefix of the id.
   */
  idOf(raw: string, side?: 'src' | 'dst'): number | undefined;
  /** Returns the name of a number. */
  nameOf(id: number): string;
}

/** The names of a graph whose ids were kept: the numbers themselves. */
export class IdentityNames implements NameTable {
  constructor(readonly size: number) {}

  idOf(raw: string): number | undefined {
    if (!/^(0|[1-9]\d{0,9})$/.test(raw)) return undefined;
    const id = Number(raw);
    return id < this.size ? id : undefined;
  }

  nameOf(id: number): string {
    return String(checkId(id, this.size));
  }
}

/**
 * The names of a graph with two node types: `user:7` and `item:7`. The id alone is accepted if its side is known, or if only
 * one of the types has it.
 */
export class TypedNames implements NameTable {
  readonly size: number;

  constructor(
    readonly base: NameTable,
    readonly types: NodeTypes,
  ) {
    this.size = base.size;
  }

  idOf(raw: string, side?: 'src' | 'dst'): number | undefined {
    const whole = this.base.idOf(raw);
    if (whole !== undefined) return whole;
    const [source, target] = this.types.map((type) => this.base.idOf(typedName(type, raw)));
    if (side !== undefined) return side === 'src' ? source : target;
    return source === undefined || target === undefined ? (source ?? target) : undefined;
  }

  nameOf(id: number): string {
    return this.base.nameOf(id);
  }
}

/** Terminates a name in the buffer; never occurs in UTF-8. */
const end = 0xff;

/** The names of a mapping file. */
export class MappedNames implements NameTable {
  readonly size: number;
  readonly #bytes: Uint8Array;
  readonly #starts: Float64Array | Uint32Array;
  readonly #slots: Int32Array;

  private constructor(bytes: Uint8Array, starts: Float64Array | Uint32Array) {
    this.#bytes = bytes;
    this.#starts = starts;
    this.size = starts.length;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, 2 * this.size)))).fill(-1);
  }

  /** Reads a file of lines `raw,mapped`, which must have exactly the numbers 0 … size − 1. */
  static async read(path: string, size: number): Promise<MappedNames> {
    return MappedNames.parse(await readWholeFile(path), path, size);
  }

  /** Parses and takes ownership of `bytes`: names are compacted in place. */
  static parse(bytes: Uint8Array, path: string, size: number): MappedNames {
    const starts = bytes.length < 2 ** 32 ? new Uint32Array(size) : new Float64Array(size);
    const seen = new Uint8Array(size);
    let records = 0;
    let at = 0;
    for (const { start, stop, id, line } of mappingRecords(bytes, path)) {
      records++;
      if (id >= size || seen[id] === 1) {
        const what = id >= size ? `a number from 0 to ${size - 1}` : 'each number once';
        throw new FormatError(`${path}:${line}: expected ${what}, got ${id}.`, { path, line });
      }
      seen[id] = 1;
      starts[id] = at;
      bytes.copyWithin(at, start, stop);
      at += stop - start;
      bytes[at++] = end; // replaces a comma, so it does not overwrite the next name
    }
    if (records !== size) {
      throw new FormatError(
        `${path}: expected ${size} names, got ${records}. The directory is incomplete; prepare it again.`,
        { path },
      );
    }
    const table = new MappedNames(bytes.subarray(0, at), starts);
    for (let id = 0; id < size; id++) table.#insert(id, path);
    return table;
  }

  idOf(raw: string): number | undefined {
    const name = Buffer.from(raw);
    const mask = this.#slots.length - 1;
    for (let slot = hash(name, 0, name.length) & mask; ; slot = (slot + 1) & mask) {
      const id = this.#slots[slot];
      if (id < 0) return undefined;
      if (this.#equals(id, name, 0, name.length)) return id;
    }
  }

  nameOf(id: number): string {
    const start = this.#starts[checkId(id, this.size)];
    return Buffer.from(
      this.#bytes.buffer,
      this.#bytes.byteOffset + start,
      this.#stop(start) - start,
    ).toString();
  }

  #stop(start: number): number {
    let at = start;
    while (this.#bytes[at] !== end) at++;
    return at;
  }

  #insert(id: number, path: string): void {
    const start = this.#starts[id];
    const stop = this.#stop(start);
    const mask = this.#slots.length - 1;
    let slot = hash(this.#bytes, start, stop) & mask;
    for (; this.#slots[slot] >= 0; slot = (slot + 1) & mask) {
      if (this.#equals(this.#slots[slot], this.#bytes, start, stop)) {
        throw new FormatError(
          `${path}: expected different names, got ${JSON.stringify(this.nameOf(id))} for both ${this.#slots[slot]} and ${id}.`,
          { path },
        );
      }
    }
    this.#slots[slot] = id;
  }

  #equals(id: number, name: Uint8Array, start: number, stop: number): boolean {
    let at = this.#starts[id];
    for (let i = start; i < stop; i++) if (this.#bytes[at++] !== name[i]) return false;
    return this.#bytes[at] === end;
  }
}

/** FNV-1a, then mixed so that the low bits depend on all bits. */
function hash(bytes: Uint8Array, start: number, stop: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < stop; i++) value = Math.imul(value ^ bytes[i], 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

function checkId(id: number, size: number): number {
  if (!Number.isInteger(id) || id < 0 || id >= size)
    throw new ValueError(expected('nameOf', `a whole number from 0 to ${size - 1}`, 'id', id));
  return id;
}
