/** .npy files of NumPy, read whole. The format itself is in src/tensor/npy.ts. */
import { readWholeFile } from '../../storage/atomic-file.js';
import { parseNpy } from '../../tensor/npy.js';
import type { NumpyArray } from '../../tensor/numpy-array.js';

/** The array in a .npy file. */
export async function readNpy(path: string): Promise<NumpyArray> {
  return parseNpy(await readWholeFile(path), path);
}
