/** Dropout: twin of `native/kernels/random/dropout.cpp`, bit for bit. */
import { philoxWords } from '../../util/philox.js';
import type { Kernels } from '../kernels.js';
import type { FloatArray } from '../types.js';

const PIECE = 1024;
const words = new Uint32Array(PIECE);

export const dropoutTwins = {
  dropout(x, y, n, p, key) {
    const threshold = p * 4294967296;
    const scale = scaleOf(x, p);
    for (let i = 0; i < n; i += PIECE) {
      const count = Math.min(PIECE, n - i);
      philoxWords(key, i, count, words);
      for (let j = 0; j < count; j++) y[i + j] = words[j] >= threshold ? x[i + j] * scale : 0;
    }
  },
  dropoutRows(x, ids, y, rows, width, p, key) {
    const threshold = p * 4294967296;
    const scale = scaleOf(x, p);
    const row = new Uint32Array(width);
    for (let r = 0; r < rows; r++) {
      philoxWords(key, (ids[r] >>> 0) * width, width, row);
      for (let c = 0; c < width; c++) {
        const at = r * width + c;
        y[at] = row[c] >= threshold ? x[at] * scale : 0;
      }
    }
  },
  dropoutEntries({ x, offsets, columns, ids, y, rows, width, p, key }) {
    const threshold = p * 4294967296;
    const scale = scaleOf(x, p);
    for (let r = 0; r < rows; r++) {
      const first = (ids === null ? r : ids[r] >>> 0) * width;
      for (let e = offsets[r]; e < offsets[r + 1]; e++) {
        philoxWords(key, first + columns[e], 1, words);
        y[e] = words[0] >= threshold ? x[e] * scale : 0;
      }
    }
  },
} satisfies Partial<Kernels>;

/** The factor has the arrays' precision, so that f32 products round as they do in C++. */
function scaleOf(x: FloatArray, p: number): number {
  return x instanceof Float32Array ? Math.fround(1 / (1 - p)) : 1 / (1 - p);
}
