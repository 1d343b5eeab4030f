/**
 * Encodes and decodes tensors in the safetensors format: the length of a JSON header (8 bytes, little-endian), the
 * header, the data. The header gives dtype, shape and byte range of each tensor, and `__metadata__` with strings.
 *
 * A CRC-32 of the data is written as metadata `skein.crc32` and checked when present, so files of other programs are
 * read too. The header is checked before it is used; errors state the byte offset. BOOL is read as u8, I64 and U32 as
 * i32 if every value fits; other types are rejected. Data is little-endian, as on every platform of Node.js.
 * `joinSafetensors` and `splitSafetensors` work on the bytes of any type of the format.
 */
import { crc32 } from '../util/crc32.js';
import { expected, FormatError, ValueError } from '../util/errors.js';
import { fromTypedArray } from './create.js';
import { type DType, dtypes } from './dtype.js';
import { Tensor } from './methods.js';
import { maxHeader, readHeader, widths } from './safetensors-header.js';

const crcKey = 'skein.crc32';
/** Marks files that must have a checksum, in case the key of the checksum is damaged. */
const writerKey = 'skein.version';
/** The largest typed array of Node 20. */
const maxBytes = 2 ** 32 - 1;

const tags: Readonly<Record<DType, string>> = {
  f32: 'F32',
  f64: 'F64',
  i32: 'I32',
  u8: 'U8',
  f16: 'F16',
  bf16: 'BF16',
};

export type SafetensorsMetadata = Readonly<Record<string, string>>;

/** A tensor as the format stores it. */
export interface NamedBytes {
  readonly name: string;
  /** The element type as the format names it, such as F32. */
  readonly tag: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** Encodes a snapshot of the tensors as the bytes of a file. */
export function encodeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: SafetensorsMetadata = {},
): Uint8Array {
  const where = 'encodeSafetensors';
  const named = Object.entries(tensors).map(([name, t]) => {
    if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, t));
    const data = t.dataSync();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return { name, tag: tags[t.dtype], shape: t.shape, bytes };
  });
  return joinSafetensors(where, named, metadata);
}

/** Encodes tensors given as bytes; `where` names the caller in messages. */
export function joinSafetensors(
  where: string,
  tensors: readonly NamedBytes[],
  metadata: SafetensorsMetadata,
): Uint8Array {
  checkMetadata(where, metadata);
  for (const { name } of tensors)
    if (name === '__metadata__') throw new ValueError(expected(where, 'another name', 'a tensor', name));
  // Wide elements first, so that each tensor is aligned to its element size and readers need not copy.
  const named = [...tensors].sort((a, b) => widths[b.tag] - widths[a.tag] || (a.name < b.name ? -1 : 1));
  let end = 0;
  const entries = named.map(({ name, tag, shape, bytes }) => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype: tag, shape, data_offsets: [begin, end] }] as const;
  });
  const allMetadata = { ...metadata, [writerKey]: '1', [crcKey]: noStamp };
  const text = JSON.stringify(Object.fromEntries([['__metadata__', allMetadata], ...entries]));
  const header = new TextEncoder().encode(text);
  const start = 8 + Math.ceil(header.length / 8) * 8;
  if (header.length > maxHeader)
    throw new ValueError(
      expected(where, `a header of at most ${maxHeader} bytes`, 'names and metadata', header.length),
    );
  if (start + end > maxBytes)
    throw new ValueError(
      expected(where, `at most ${maxBytes} bytes`, 'tensors', start + end, 'Split them over several files.'),
    );
  const out = new Uint8Array(start + end);
  new DataView(out.buffer).setBigUint64(0, BigInt(start - 8), true);
  out.fill(0x20, 8, start);
  out.set(header, 8);
  let position = start;
  for (const { bytes } of named) {
    out.set(bytes, position);
    position += bytes.length;
  }
  out.set(new TextEncoder().encode(checksum(out.subarray(8))), 8 + stampOffset(text));
  return out;
}

/** The placeholder of the checksum while the checksum of header and data is computed. */
const noStamp = '00000000';

function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0');
}

/**
 * Returns the offset of the checksum in the header's text. Quotes inside strings are escaped, so this finds the key.
 */
function stampOffset(text: string): number {
  const mark = `"${crcKey}":"`;
  return new TextEncoder().encode(text.slice(0, text.indexOf(mark) + mark.length)).length;
}

function checkStamp(bytes: Uint8Array, dataStart: number, stamp: string): void {
  const covered = bytes.slice(8);
  const text = new TextDecoder().decode(covered.subarray(0, dataStart - 8));
  covered.set(new TextEncoder().encode(noStamp), stampOffset(text));
  const actual = checksum(covered);
  if (stamp === actual) return;
  throw new FormatError(
    `safetensors: expected header and data with checksum ${stamp}, got ${actual} from byte 8 on. The file is corrupt; restore it from another copy.`,
    { byteOffset: 8 },
  );
}

function checkMetadata(where: string, metadata: SafetensorsMetadata): void {
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value !== 'string')
      throw new ValueError(expected(where, 'a string', `metadata ${key}`, value, 'Use JSON.stringify.'));
    if (key === crcKey || key === writerKey)
      throw new ValueError(expected(where, 'another key', 'metadata', key, 'This one holds the checksum.'));
  }
}

export interface DecodedTensors {
  readonly tensors: Record<string, Tensor>;
  readonly metadata: SafetensorsMetadata;
}

/**
 * Decodes the tensors in a file's bytes, in the order of their data. They share memory with `bytes` where alignment
 * allows, so `bytes` must not be changed afterwards.
 */
export function decodeSafetensors(bytes: Uint8Array): DecodedTensors {
  const { named, metadata } = splitSafetensors('decodeSafetensors', bytes);
  const tensors = named.map((each) => [each.name, readTensor(bytes, each)] as const);
  return { tensors: Object.fromEntries(tensors), metadata };
}

/** Returns the tensors in a file's bytes as views of those bytes, in the order of their data. */
export function splitSafetensors(
  where: string,
  bytes: Uint8Array,
): { readonly named: readonly NamedBytes[]; readonly metadata: SafetensorsMetadata } {
  if (!(bytes instanceof Uint8Array)) throw new ValueError(expected(where, 'a Uint8Array', 'bytes', bytes));
  const { entries, metadata, dataStart } = readHeader(bytes);
  const data = bytes.subarray(dataStart);
  const { [crcKey]: stamp, [writerKey]: writer, ...rest } = metadata;
  if (stamp !== undefined) checkStamp(bytes, dataStart, stamp);
  else if (writer !== undefined) {
    throw new FormatError(
      'safetensors: expected a checksum in a file that Skein wrote, got none. The file is corrupt; restore it from another copy.',
      { byteOffset: 8 },
    );
  }
  const named = entries.map(({ name, tag, shape, begin, end }) => ({
    ...{ name, tag, shape },
    bytes: data.subarray(begin, end),
  }));
  return { named, metadata: rest };
}

function readTensor(file: Uint8Array, { name, tag, shape, bytes }: NamedBytes): Tensor {
  if (tag === 'I64' || tag === 'U32') {
    const offset = bytes.byteOffset - file.byteOffset;
    return fromTypedArray(narrow(bytes, tag, name, offset), shape);
  }
  const dtype = tag === 'BOOL' ? 'u8' : (Object.keys(tags) as DType[]).find((key) => tags[key] === tag);
  const { array, bytes: width } = dtypes[dtype as DType];
  const aligned = bytes.byteOffset % width === 0 ? bytes : bytes.slice();
  return fromTypedArray(new array(aligned.buffer, aligned.byteOffset, aligned.length / width), shape, {
    dtype: dtype as DType,
  });
}

function narrow(bytes: Uint8Array, tag: 'I64' | 'U32', name: string, offset: number): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const width = widths[tag];
  const out = new Int32Array(bytes.length / width);
  for (let i = 0; i < out.length; i++) {
    const value = tag === 'I64' ? view.getBigInt64(8 * i, true) : BigInt(view.getUint32(4 * i, true));
    out[i] = Number(value);
    if (BigInt(out[i]) !== value) {
      throw new FormatError(
        `safetensors: expected integers of 32 bits for ${name}, got ${value} at byte ${offset + width * i}. Save it as F64.`,
        { byteOffset: offset + width * i, name },
      );
    }
  }
  return out;
}
