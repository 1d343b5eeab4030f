/**
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11), the core that the kernels repeat in C++ with the same bits.
 *
 * A generator is a 128-bit key: 64 bits of seed (the cipher's key) and 64 bits of stream (the upper half of its
 * counter). The lower half numbers the blocks of four words, so word w of a key's sequence is lane w & 3 of block
 * floor(w / 4), for w up to 2^53: any word is reached without drawing those before it.
 *
 * Not for cryptography.
 */
import { checkInteger, expected, ValueError } from './errors.js';

const TWO_32 = 4294967296;

/** Marks the upper counter word of blocks that derive keys; blocks that are drawn from stay below 2^51. */
const DERIVE = 0x80000000;

/** Returns the upper 32 bits of the 64-bit product of two 32-bit integers. */
export function mulHigh32(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16);
  // Both middle sums are below 2^32, but as signed integers they may come out negative.
  const middleLow = Math.imul(aLow, bHigh) + ((middle >>> 0) & 0xffff);
  return (Math.imul(aHigh, bHigh) + ((middle >>> 0) >>> 16) + ((middleLow >>> 0) >>> 16)) >>> 0;
}

/** Maps a random word to an integer in [0, range) for 1 <= range <= 2^32; the bias is below range / 2^32. */
export function boundedWord(word: number, range: number): number {
  return range >= TWO_32 ? word : mulHigh32(word, range);
}

/** Converts 53 bits of two words to a number in [0, 1). */
export function unitFloat64(high: number, low: number): number {
  return (high * 2097152 + (low >>> 11)) * 1.1102230246251565e-16; // 2^21, 2^-53
}

/** Writes the four words that counter (c0 … c3) becomes under key (k0, k1) to out[offset … offset + 3]. */
export function philox4x32(
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  k0: number,
  k1: number,
  out: Uint32Array,
  offset = 0,
): void {
  for (let round = 0; round < 10; round++) {
    const high0 = mulHigh32(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0);
    const high1 = mulHigh32(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  out[offset] = c0;
  out[offset + 1] = c1;
  out[offset + 2] = c2;
  out[offset + 3] = c3;
}

/**
 * Writes words 4·block … 4·block + 3 of the sequence of `key` = [seedLow, seedHigh, streamLow, streamHigh] to `out`.
 */
export function philoxBlock(key: Uint32Array, block: number, out: Uint32Array, offset = 0): void {
  philox4x32(block >>> 0, Math.floor(block / TWO_32), key[2], key[3], key[0], key[1], out, offset);
}

/** Writes words start … start + n − 1 of the sequence of `key` to `out`. */
export function philoxWords(key: Uint32Array, start: number, n: number, out: Uint32Array): void {
  const block = new Uint32Array(4);
  let done = 0;
  while (done < n) {
    const word = start + done;
    const lane = word % 4;
    philoxBlock(key, (word - lane) / 4, block);
    for (let i = lane; i < 4 && done < n; i++) out[done++] = block[i];
  }
}

/** The state of a `Random`, from which it continues; it can be stored as JSON. */
export interface RandomState {
  readonly key: readonly number[];
  readonly position: number;
}

/**
 * A position in one random sequence: single draws for host code, and the source of keys and word ranges for the
 * tensor kernels.
 *
 * @example
 * const random = new Random(42);
 * random.nextInt(6); // 0 … 5
 * const epochs = random.split(7); // an independent generator, the same whenever 42 is split by 7
 */
export class Random {
  /** `[seedLow, seedHigh, streamLow, streamHigh]`, as the kernels take it. */
  readonly key: Uint32Array;
  #position = 0;
  #cachedBlock = -1;
  readonly #words = new Uint32Array(4);

  /** Both numbers are safe integers >= 0. Equal seeds with different streams give independent sequences. */
  constructor(seed: number, stream = 0) {
    checkInteger('Random', 'seed', seed);
    checkInteger('Random', 'stream', stream);
    this.key = Uint32Array.of(seed, Math.floor(seed / TWO_32), stream, Math.floor(stream / TWO_32));
  }

  /** Returns the next word, 0 … 2^32 − 1. */
  nextUint32(): number {
    const word = this.reserve(1);
    const lane = word % 4;
    const block = (word - lane) / 4;
    if (block !== this.#cachedBlock) {
      philoxBlock(this.key, block, this.#words);
      this.#cachedBlock = block;
    }
    return this.#words[lane];
  }

  /** Returns a multiple of 2^-53 in [0, 1); takes two words. */
  nextFloat(): number {
    const high = this.nextUint32();
    return unitFloat64(high, this.nextUint32());
  }

  /** Returns an integer in [0, n) for 1 <= n <= 2^32; takes one word. */
  nextInt(n: number): number {
    checkInteger('Random.nextInt', 'n', n, 1, TWO_32);
    return boundedWord(this.nextUint32(), n);
  }

  /** Reserves `words` words of the sequence and returns the position of the first. */
  reserve(words: number): number {
    checkInteger('Random.reserve', 'words', words, 0, Number.MAX_SAFE_INTEGER - this.#position);
    const start = this.#position;
    this.#position += words;
    return start;
  }

  /** Returns a generator whose key depends only on this key and the label, not on the position. */
  split(label: number): Random {
    checkInteger('Random.split', 'label', label);
    const child = new Random(0);
    const upper = Math.floor(label / TWO_32) | DERIVE;
    const [k0, k1, s0, s1] = this.key;
    philox4x32(label >>> 0, upper, s0, s1, k0, k1, child.key);
    return child;
  }

  state(): RandomState {
    return { key: Array.from(this.key), position: this.#position };
  }

  /** Continues from the state of this or another generator. */
  restore(state: RandomState): void {
    if (state.key.length !== 4) {
      const advice = 'Pass what state() returned.';
      throw new ValueError(expected('Random.restore', '4 words', 'key', state.key.length, advice));
    }
    for (const word of state.key) checkInteger('Random.restore', 'a word of key', word, 0, TWO_32 - 1);
    checkInteger('Random.restore', 'position', state.position);
    this.key.set(state.key);
    this.#position = state.position;
    this.#cachedBlock = -1;
  }
}
