/**
 * .npz files: a zip archive with one .npy member per array. Members are decompressed on request.
 */

import { readWholeFile } from '../../storage/atomic-file.js';
import { parseNpy } from '../../tensor/npy.js';
import type { NumpyArray } from '../../tensor/numpy-array.js';
import { FormatError } from '../../util/errors.js';
import { readZip, type ZipMember } from './zip.js';

export class NpzFile {
  readonly #members = new Map<string, ZipMember>();

  constructor(
    bytes: Uint8Array,
    readonly path: string,
  ) {
    for (const member of readZip(bytes, path)) this.#members.set(member.name.replace(/\.npy$/, ''), member);
  }

  /** Names of the arrays, in the order of the archive. */
  get names(): readonly string[] {
    return [...this.#members.keys()];
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  /** Returns the array of that name; an error lists the existing names. */
  get(name: string): NumpyArray {
    const member = this.#members.get(name);
    if (member === undefined) {
      throw new FormatError(
        `${this.path}: expected an array ${name}, got ${this.names.join(', ') || 'none'}. The file has another format.`,
        { path: this.path, array: name },
      );
    }
    return parseNpy(member.read(), `${this.path}:${member.name}`);
  }

  /** Returns the array of that name; throws if it is text. */
  numbers(name: string): { readonly shape: readonly number[]; readonly data: ArrayLike<number> } {
    const array = this.get(name);
    if (typeof array.data[0] === 'string') {
      throw new FormatError(`${this.path}: expected numbers for array ${name}, got text (${array.dtype}).`, {
        path: this.path,
        array: name,
      });
    }
    return { shape: array.shape, data: array.data as ArrayLike<number> };
  }
}

/** Opens an .npz file. */
export async function readNpz(path: string): Promise<NpzFile> {
  return new NpzFile(await readWholeFile(path), path);
}
