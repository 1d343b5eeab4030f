/** Plain arrays with a JSON value in one file (safetensors with a checksum), replaced atomically. */
import { joinSafetensors, splitSafetensors } from '../tensor/safetensors.js';
import { FormatError } from '../util/errors.js';
import { readWholeFile, writeFileAtomic } from './atomic-file.js';
import { inFile } from './safetensors-file.js';

export type PlainArray = Int32Array | Float32Array | Float64Array | Uint8Array;

export interface ArrayFile {
  readonly arrays: Readonly<Record<string, PlainArray>>;
  readonly json: unknown;
}

const types = { I32: Int32Array, F32: Float32Array, F64: Float64Array, U8: Uint8Array } as const;
/** Name of the bytes of the JSON value. */
const jsonName = 'json';

export async function saveArrays(path: string, { arrays, json }: ArrayFile): Promise<void> {
  const all: [string, PlainArray][] = [
    ...Object.entries(arrays),
    [jsonName, new TextEncoder().encode(JSON.stringify(json))],
  ];
  const named = all.map(([name, array]) => ({
    name,
    tag: tagOf(array),
    shape: [array.length],
    bytes: new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  }));
  await writeFileAtomic(path, joinSafetensors('saveArrays', named, {}));
}

export async function loadArrays(path: string): Promise<ArrayFile> {
  const bytes = await readWholeFile(path);
  return inFile(path, () => {
    const arrays: Record<string, PlainArray> = {};
    for (const { name, tag, bytes: data } of splitSafetensors('loadArrays', bytes).named) {
      const type = types[tag as keyof typeof types];
      if (type === undefined)
        throw new FormatError(`loadArrays: expected plain arrays, got ${tag} for ${name}.`);
      // Copies what is not aligned.
      const aligned = data.byteOffset % type.BYTES_PER_ELEMENT === 0 ? data : data.slice();
      arrays[name] = new type(
        aligned.buffer as ArrayBuffer,
        aligned.byteOffset,
        data.length / type.BYTES_PER_ELEMENT,
      );
    }
    const { [jsonName]: text, ...rest } = arrays;
    if (text === undefined) throw new FormatError('loadArrays: expected a JSON value, got none.');
    return { arrays: rest, json: JSON.parse(new TextDecoder().decode(text)) };
  });
}

function tagOf(array: PlainArray): string {
  const [tag] = Object.entries(types).find(([, type]) => array instanceof type) ?? [];
  if (tag !== undefined) return tag;
  throw new FormatError(`saveArrays: expected plain arrays, got ${(array as object).constructor.name}.`);
}
