/** The row of an edge in temporal attention, and its dropout mask, for the twins. */
import { philox4x32 } from '../../util/philox.js';
import type { FloatArray, RandomKey } from '../types.js';

/** x = [h[neighbor] ‖ features[eventRow] ‖ cosines from `at` on ‖ 1]. */
export function edgeRow(
  x: Float64Array,
  h: FloatArray,
  neighbor: number,
  features: FloatArray | null,
  eventRow: number,
  cosines: FloatArray,
  at: number,
  dimNode: number,
  dimEdge: number,
  dimTime: number,
): void {
  for (let f = 0; f < dimNode; f++) x[f] = h[neighbor * dimNode + f];
  if (features !== null) for (let f = 0; f < dimEdge; f++) x[dimNode + f] = features[eventRow * dimEdge + f];
  for (let f = 0; f < dimTime; f++) x[dimNode + dimEdge + f] = cosines[at + f];
  x[dimNode + dimEdge + dimTime] = 1;
}

const words = new Uint32Array(4);

/** 0 with probability `drop`, else 1 / (1 − drop), for index c (edge · heads + head) of destination i. */
export function attentionMask(key: RandomKey | null, drop: number, i: number, c: number): number {
  if (key === null) return 1;
  philox4x32(i, Math.floor(c / 4), key[2], key[3], key[0], key[1], words);
  return words[c % 4] >= drop * 4294967296 ? 1 / (1 - drop) : 0;
}
