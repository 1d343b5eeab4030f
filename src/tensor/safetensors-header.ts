/**
 * Reads and checks the header of a safetensors file. The file is untrusted: lengths, JSON, types, shapes and byte
 * ranges are checked before use, and an error states the byte offset of the problem.
 */
import { FormatError } from '../util/errors.js';
import { formatShape, maxElements, sizeOf } from './shape.js';

/** Bytes per element of the supported types. */
export const widths: Readonly<Record<string, number>> = {
  F64: 8,
  I64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  U8: 1,
  BOOL: 1,
};
/** The limit of the format. */
export const maxHeader = 100_000_000;

export interface TensorEntry {
  readonly name: string;
  readonly tag: string;
  readonly shape: readonly number[];
  /** The byte range within the data. */
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  /** In the order of their data, which they cover without gaps. */
  readonly entries: readonly TensorEntry[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly dataStart: number;
}

export function readHeader(bytes: Uint8Array): Header {
  if (bytes.length < 8)
    throw bad(0, `at least 8 bytes (the length of the header), got ${bytes.length}. The file is truncated`);
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(maxHeader))
    throw bad(
      0,
      `a header of at most ${maxHeader} bytes, got a length of ${length}. This is not a safetensors file`,
    );
  const dataStart = 8 + Number(length);
  if (dataStart > bytes.length)
    throw bad(
      0,
      `a header of ${length} bytes, got a file that ends after ${bytes.length}. The file is truncated`,
    );
  const text = decodeText(bytes.subarray(8, dataStart));
  const header = parseObject(text);
  checkDuplicates(text);
  const { __metadata__: rawMetadata = {}, ...rest } = header;
  const metadata = checkMetadata(rawMetadata);
  const entries = Object.entries(rest).map(([name, value]) => checkEntry(name, value, byteOf(text, name)));
  checkRanges(entries, bytes.length - dataStart, dataStart, text);
  return { entries, metadata, dataStart };
}

function bad(byteOffset: number, what: string, details: Readonly<Record<string, unknown>> = {}): FormatError {
  return new FormatError(`safetensors: at byte ${byteOffset}: expected ${what}.`, { byteOffset, ...details });
}

function decodeText(header: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(header);
  } catch {
    throw bad(8, 'a header of UTF-8 text, got other bytes. The file is corrupt');
  }
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(8, `a JSON header, got ${String(error)}. The file is corrupt`);
  }
  if (!isObject(value))
    throw bad(8, 'a JSON object as header, got another value. This is not a safetensors file');
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Throws if a key occurs twice. JSON.parse silently keeps the last one, so the text, which is valid JSON, is searched.
 */
function checkDuplicates(text: string): void {
  // One set of keys per open object, null per open list.
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '{') open.push(new Set());
    else if (c === '[') open.push(null);
    else if (c === '}' || c === ']') open.pop();
    if (c !== '"') continue;
    const start = i;
    i = endOfString(text, start);
    const keys = open.at(-1);
    if (!keys || nextSign(text, i + 1) !== ':') continue;
    const name = JSON.parse(text.slice(start, i + 1)) as string;
    if (keys.has(name))
      throw bad(8 + byteLength(text.slice(0, start)), `each name once, got ${JSON.stringify(name)} again`, {
        name,
      });
    keys.add(name);
  }
}

/** Returns the position of the quote that ends the string begun at `start`. */
function endOfString(text: string, start: number): number {
  for (let i = text.indexOf('"', start + 1); ; i = text.indexOf('"', i + 1)) {
    let slashes = 0;
    while (text[i - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return i;
  }
}

function nextSign(text: string, from: number): string | undefined {
  let i = from;
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i++;
  return text[i];
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Returns the byte offset of a name in the file, for messages. */
function byteOf(text: string, name: string): () => number {
  return () => {
    const at = text.indexOf(JSON.stringify(name));
    return 8 + byteLength(text.slice(0, Math.max(0, at)));
  };
}

function checkMetadata(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) throw bad(8, 'an object for __metadata__, got another value');
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== 'string')
      throw bad(8, `a string for __metadata__.${key}, got ${JSON.stringify(item)}`);
  }
  return value as Record<string, string>;
}

function checkEntry(name: string, value: unknown, at: () => number): TensorEntry {
  const fail = (what: string): FormatError => bad(at(), what, { name });
  if (!isObject(value)) throw fail(`dtype, shape and data_offsets for ${name}, got ${JSON.stringify(value)}`);
  const { dtype: tag, shape, data_offsets: offsets } = value;
  if (typeof tag !== 'string' || !Object.hasOwn(widths, tag)) {
    throw fail(
      `a dtype among ${Object.keys(widths).join(', ')} for ${name}, got ${JSON.stringify(tag)}. Convert it before saving`,
    );
  }
  if (!Array.isArray(shape) || !shape.every(isCount) || sizeOf(shape) > maxElements) {
    throw fail(`a shape with at most ${maxElements} elements for ${name}, got ${JSON.stringify(shape)}`);
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount) || offsets[0] > offsets[1]) {
    throw fail(`data_offsets [begin, end] for ${name}, got ${JSON.stringify(offsets)}`);
  }
  const [begin, end] = offsets as [number, number];
  const needed = sizeOf(shape) * widths[tag];
  if (end - begin !== needed) {
    throw fail(`${needed} bytes for ${name} (${tag} ${formatShape(shape)}), got ${end - begin}`);
  }
  return { name, tag, shape, begin, end };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Throws unless the ranges cover the data exactly: no overlap, no gap, nothing beyond the end. Sorts the entries. */
function checkRanges(entries: TensorEntry[], dataLength: number, dataStart: number, text: string): void {
  entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  for (const { name, begin, end } of entries) {
    const at = byteOf(text, name);
    if (begin !== position) {
      const what = begin < position ? 'overlaps the tensor before it' : 'leaves a gap before it';
      throw bad(
        at(),
        `data of ${name} from ${position} on, got data_offsets [${begin}, ${end}], which ${what}`,
        { name },
      );
    }
    if (end > dataLength) {
      throw bad(
        dataStart + dataLength,
        `${end} bytes of data (${name} ends there), got ${dataLength}. The file is truncated`,
        { name },
      );
    }
    position = end;
  }
  if (position !== dataLength) {
    throw bad(
      dataStart + position,
      `the end of the file after the last tensor, got ${dataLength - position} more bytes`,
    );
  }
}
