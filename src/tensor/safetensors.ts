/**
 * Tensors as bytes in the safetensors format: the length of a JSON header (8 bytes, little-endian), the header, the data.
 * The header gives dtype, shape and byte range of each tensor, and `__metadata__` with strings.
 *
 * A CRC-32 of the data is written as metadata `skein.crc32` and checked when present, so files of other programs are read
 * too. Everything in a header is checked before it is used; what is wrong is named with its byte offset. BOOL is read as
 * u8, I64 as i32 when every value fits; other types are refused. Written little-endian, as every platform of Node is.
 */
import { crc32 } from '../util/crc32.js';
import { expected, FormatError, ValueError } from '../util/errors.js';
import { fromTypedArray } from './create.js';
import { type DType, dtypes } from './dtype.js';
import { maxHeader, readHeader, type TensorEntry } from './safetensors-header.js';
import { Tensor } from './tensor.js';

const crcKey = 'skein.crc32';
/** Says that a checksum belongs here, in case the checksum's own name is damaged. */
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

/** A snapshot of the tensors as one file's bytes. */
export function encodeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: SafetensorsMetadata = {},
): Uint8Array {
  const where = 'encodeSafetensors';
  checkMetadata(where, metadata);
  const named = Object.entries(tensors).map(([name, t]) => {
    if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, t));
    if (name === '__metadata__') throw new ValueError(expected(where, 'another name', 'a tensor', name));
    const data = t.dataSync();
    return { name, t, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
  });
  // Wide elements first: then each starts at a multiple of its own size, and readers need not copy.
  named.sort((a, b) => dtypes[b.t.dtype].bytes - dtypes[a.t.dtype].bytes || (a.name < b.name ? -1 : 1));
  let end = 0;
  const entries = named.map(({ name, t, bytes }) => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype: tags[t.dtype], shape: t.shape, data_offsets: [begin, end] }] as const;
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

/** What stands in the header while the checksum of header and data is taken. */
const noStamp = '00000000';

function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0');
}

/** Bytes before the checksum in the header's text. A quote inside a string is escaped, so this finds the key itself. */
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
    `safetensors: expected header and data with checksum ${stamp}, got ${actual} from byte 8 on. The file is corrupt; use another copy.`,
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
 * The tensors in a file's bytes, in the order of their data. They share memory with `bytes` where alignment allows, so
 * leave those alone afterwards.
 */
export function decodeSafetensors(bytes: Uint8Array): DecodedTensors {
  if (!(bytes instanceof Uint8Array))
    throw new ValueError(expected('decodeSafetensors', 'a Uint8Array', 'bytes', bytes));
  const { entries, metadata, dataStart } = readHeader(bytes);
  const data = bytes.subarray(dataStart);
  const { [crcKey]: stamp, [writerKey]: writer, ...rest } = metadata;
  if (stamp !== undefined) checkStamp(bytes, dataStart, stamp);
  else if (writer !== undefined) {
    throw new FormatError(
      'safetensors: expected a checksum in a file that Skein wrote, got none. The file is corrupt; use another copy.',
      { byteOffset: 8 },
    );
  }
  const tensors = entries.map((entry) => [entry.name, readTensor(data, dataStart, entry)] as const);
  return { tensors: Object.fromEntries(tensors), metadata: rest };
}

function readTensor(
  data: Uint8Array,
  dataStart: number,
  { name, tag, shape, begin, end }: TensorEntry,
): Tensor {
  const bytes = data.subarray(begin, end);
  if (tag === 'I64') return fromTypedArray(narrow(bytes, name, dataStart + begin), shape);
  const dtype = tag === 'BOOL' ? 'u8' : (Object.keys(tags) as DType[]).find((key) => tags[key] === tag);
  const { array, bytes: width } = dtypes[dtype as DType];
  const aligned = bytes.byteOffset % width === 0 ? bytes : bytes.slice();
  return fromTypedArray(new array(aligned.buffer, aligned.byteOffset, aligned.length / width), shape, {
    dtype: dtype as DType,
  });
}

function narrow(bytes: Uint8Array, name: string, offset: number): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const out = new Int32Array(bytes.length / 8);
  for (let i = 0; i < out.length; i++) {
    const value = view.getBigInt64(8 * i, true);
    out[i] = Number(value);
    if (BigInt(out[i]) !== value) {
      throw new FormatError(
        `safetensors: expected integers of 32 bits for ${name}, got ${value} at byte ${offset + 8 * i}. Save it as F64.`,
        { byteOffset: offset + 8 * i, name },
      );
    }
  }
  return out;
}
