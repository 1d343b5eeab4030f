/** Dropout: twin of `native/kernels/dropout.cpp`, bit for bit. */
import { philoxWords } from '../../util/philox.js';
import type { RandomKey } from '../kernels.js';
import type { FloatArray } from '../types.js';

const PIECE = 1024;
const words = new Uint32Array(PIECE);

export function dropout(x: FloatArray, y: FloatArray, n: number, p: number, key: RandomKey): void {
  const threshold = p * 4294967296;
  // The factor has the arrays' precision, so that f32 products round as they do in C++.
  const scale = x instanceof Float32Array ? Math.fround(1 / (1 - p)) : 1 / (1 - p);
  for (let i = 0; i < n; i += PIECE) {
    const count = Math.min(PIECE, n - i);
    philoxWords(key, i, count, words);
    for (let j = 0; j < count; j++) y[i + j] = words[j] >= threshold ? x[i + j] * scale : 0;
  }
}
