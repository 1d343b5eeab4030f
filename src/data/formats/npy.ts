/** .npy files. The format itself is in src/tensor/npy.ts, which also runs in a browser. */
import { readWholeFile } from '../../storage/atomic-file.js';
import { parseNpy } from '../../tensor/npy.js';
import type { NumpyArray } from '../../tensor/numpy-array.js';

/** Reads the array of a .npy file. */
export async function readNpy(path: string): Promise<NumpyArray> {
  return parseNpy(await readWholeFile(path), path);
}
