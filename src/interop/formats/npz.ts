/**
 * Conversion between .npz bytes (zip archives of .npy members) and tensor views by name. Checksums are verified; the
 * decompressed size is limited before anything is decompressed.
 */
import { checkInteger, expected, FormatError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { makeZip, type ZipEntry, zipEntries } from '../../util/zip.js';
import type { TensorView } from '../tensor-view.js';
import { deflateRaw, inflateRaw } from './inflate.js';
import { type ParseOptions, parseNpy, writeNpy } from './npy.js';

export interface ParseNpzOptions extends ParseOptions {
  /** Maximum bytes of all arrays. Default 4 GiB. */
  readonly maxBytes?: number;
  /** Arrays to read. Default: all. */
  readonly arrays?: readonly string[];
}

/**
 * Reads the arrays of an .npz file. Members that are not compressed may share the memory of the bytes.
 *
 * @example
 * const { row, col } = await parseNpz(await readFile('edges.npz'), { arrays: ['row', 'col'] });
 */
export async function parseNpz(
  bytes: Uint8Array,
  options: ParseNpzOptions = {},
): Promise<Record<string, TensorView>> {
  checkOptionNames('parseNpz', options, { name: true, maxBytes: true, arrays: true });
  const where = options.name ?? 'parseNpz';
  if (!(bytes instanceof Uint8Array)) throw new ValueError(expected(where, 'a Uint8Array', 'bytes', bytes));
  const maxBytes = checkInteger(where, 'maxBytes', options.maxBytes ?? 2 ** 32);
  const members = selectMembers(where, bytes, options.arrays);
  const total = [...members.values()].reduce((sum, { size }) => sum + size, 0);
  if (total > maxBytes)
    throw new FormatError(
      `${where}: expected at most ${maxBytes} bytes of arrays, got ${total}. Raise maxBytes if you trust the file.`,
      { path: where },
    );
  const views: [string, TensorView][] = [];
  for (const [name, member] of members)
    views.push([name, parseNpy(await read(member), { name: `${where}:${member.name}` })]);
  return Object.fromEntries(views);
}

export interface WriteNpzOptions {
  /** Deflate the arrays. Default false. */
  readonly compress?: boolean;
}

/** Returns the bytes of an .npz file with these arrays; views on the CPU. */
export async function writeNpz(
  views: Readonly<Record<string, TensorView>>,
  options: WriteNpzOptions = {},
): Promise<Uint8Array> {
  checkOptionNames('writeNpz', options, { compress: true });
  const entries = Object.entries(views).map(([name, view]) => ({
    name: `${name}.npy`,
    data: writeNpy(view),
  }));
  if (options.compress !== true) return makeZip(entries);
  return makeZip(
    await Promise.all(entries.map(async (entry) => ({ ...entry, deflated: await deflateRaw(entry.data) }))),
  );
}

function selectMembers(where: string, bytes: Uint8Array, wanted?: readonly string[]): Map<string, ZipEntry> {
  const members = new Map<string, ZipEntry>();
  for (const entry of zipEntries(bytes, where)) {
    const name = entry.name.replace(/\.npy$/, '');
    if (members.has(name))
      throw new FormatError(`${where}: expected each array once, got ${name} again.`, {
        path: where,
        array: name,
      });
    members.set(name, entry);
  }
  if (wanted === undefined) return members;
  return new Map(
    wanted.map((name) => {
      const entry = members.get(name);
      if (entry !== undefined) return [name, entry];
      const existing = [...members.keys()].join(', ') || 'none';
      throw new FormatError(`${where}: expected an array ${name}, got ${existing}.`, {
        path: where,
        array: name,
      });
    }),
  );
}

async function read(entry: ZipEntry): Promise<Uint8Array> {
  const { bytes, isDeflated } = entry.packed();
  if (!isDeflated) return entry.verify(bytes);
  let data: Uint8Array;
  try {
    data = await inflateRaw(bytes, entry.size);
  } catch (error) {
    throw entry.problem(`expected deflated data for ${entry.name}, got ${(error as Error).message}`, error);
  }
  return entry.verify(data);
}
