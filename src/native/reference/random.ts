/**
 * Random numbers: twins of `native/kernels/random.cpp`, bit for bit. Element i depends on the key and on its own
 * words alone, so any part of an array can be made anywhere, in any order.
 */
import { standardNormal } from '../../util/box-muller.js';
import { boundedWord, philoxBlock, philoxWords, unitFloat64 } from '../../util/philox.js';
import type { RandomKey } from '../kernels.js';
import type { FloatArray } from '../types.js';

const PIECE = 1024;
const words = new Uint32Array(PIECE);

export function randomBits(out: Uint32Array, n: number, key: RandomKey, start: number): void {
  philoxWords(key, start, n, out);
}

export function randomUniform(
  out: FloatArray,
  n: number,
  lo: number,
  hi: number,
  key: RandomKey,
  start: number,
): void {
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
}

export function randomNormal(
  out: FloatArray,
  n: number,
  mean: number,
  std: number,
  key: RandomKey,
  start: number,
): void {
  for (let i = 0; i < n; i += PIECE / 4) {
    const count = Math.min(PIECE / 4, n - i);
    philoxWords(key, start + 4 * i, 4 * count, words);
    for (let j = 0; j < count; j++) {
      const w = 4 * j;
      out[i + j] = mean + std * standardNormal(words[w], words[w + 1], words[w + 2], words[w + 3]);
    }
  }
}

export function randomBernoulli(out: Uint8Array, n: number, p: number, key: RandomKey, start: number): void {
  const threshold = p * 4294967296;
  for (let i = 0; i < n; i += PIECE) {
    const count = Math.min(PIECE, n - i);
    philoxWords(key, start + i, count, words);
    for (let j = 0; j < count; j++) out[i + j] = words[j] < threshold ? 1 : 0;
  }
}

export function randomIntegers(
  out: Int32Array,
  n: number,
  lo: number,
  hi: number,
  key: RandomKey,
  start: number,
): void {
  for (let i = 0; i < n; i += PIECE) {
    const count = Math.min(PIECE, n - i);
    philoxWords(key, start + i, count, words);
    for (let j = 0; j < count; j++) out[i + j] = lo + boundedWord(words[j], hi - lo);
  }
}

/** The exchange at position i takes word n − 1 − i of the sequence. */
export function randomPermutation(out: Int32Array, n: number, key: RandomKey): void {
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
}
