/**
 * Random numbers: twins of `native/kernels/random/random.cpp`, bit for bit. Element i depends on the key and on its own
 * words alone, so any slice of an array can be computed by any thread, in any order.
 */
import { standardNormal } from '../../util/box-muller.js';
import { boundedWord, philoxBlock, philoxWords, unitFloat64 } from '../../util/philox.js';
import type { Kernels } from '../kernels.js';

const PIECE = 1024;
const words = new Uint32Array(PIECE);

export const randomTwins = {
  randomBits(out, n, key, start) {
    philoxWords(key, start, n, out);
  },
  randomUniform(out, n, lo, hi, key, start) {
    if (out instanceof Float64Array) {
      for (let i = 0; i < n; i += PIECE / 2) {
        const count = Math.min(PIECE / 2, n - i);
        philoxWords(key, start + 2 * i, 2 * count, words);
        for (let j = 0; j < count; j++)
          out[i + j] = lo + (hi - lo) * unitFloat64(words[2 * j], words[2 * j + 1]);
      }
      return;
    }
    // Every operation rounds to f32, as it does in C++.
    const range = Math.fround(hi - lo);
    const low = Math.fround(lo);
    for (let i = 0; i < n; i += PIECE) {
      const count = Math.min(PIECE, n - i);
      philoxWords(key, start + i, count, words);
      for (let j = 0; j < count; j++) out[i + j] = low + Math.fround(range * ((words[j] >>> 8) / 16777216));
    }
  },
  randomNormal(out, n, mean, std, key, start) {
    for (let i = 0; i < n; i += PIECE / 4) {
      const count = Math.min(PIECE / 4, n - i);
      philoxWords(key, start + 4 * i, 4 * count, words);
      for (let j = 0; j < count; j++) {
        const w = 4 * j;
        out[i + j] = mean + std * standardNormal(words[w], words[w + 1], words[w + 2], words[w + 3]);
      }
    }
  },
  randomBernoulli(out, n, p, key, start) {
    const threshold = p * 4294967296;
    for (let i = 0; i < n; i += PIECE) {
      const count = Math.min(PIECE, n - i);
      philoxWords(key, start + i, count, words);
      for (let j = 0; j < count; j++) out[i + j] = words[j] < threshold ? 1 : 0;
    }
  },
  randomIntegers(out, n, lo, hi, key, start) {
    for (let i = 0; i < n; i += PIECE) {
      const count = Math.min(PIECE, n - i);
      philoxWords(key, start + i, count, words);
      for (let j = 0; j < count; j++) out[i + j] = lo + boundedWord(words[j], hi - lo);
    }
  },
  /** The exchange at position i takes word n − 1 − i of the sequence. */
  randomPermutation(out, n, key) {
    const block = new Uint32Array(4);
    for (let i = 0; i < n; i++) out[i] = i;
    for (let i = n - 1; i > 0; i--) {
      const word = n - 1 - i;
      if (word % 4 === 0) philoxBlock(key, word / 4, block);
      const j = boundedWord(block[word % 4], i + 1);
      const taken = out[j];
      out[j] = out[i];
      out[i] = taken;
    }
  },
} satisfies Partial<Kernels>;
