import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { standardNormal } from './box-muller.js';
import { ValueError } from './errors.js';
import { boundedWord, mulHigh32, philox4x32, philoxWords, Random, unitFloat64 } from './philox.js';

const golden = JSON.parse(readFileSync(new URL('../../test/golden/philox.json', import.meta.url), 'utf8'));

describe('Random refuses', () => {
  it.each([-1, 0.5, NaN, Infinity, 2 ** 53])('seed %s', (seed) => {
    expect(() => new Random(seed)).toThrow(ValueError);
    expect(() => new Random(0, seed)).toThrow(ValueError);
    expect(() => new Random(0).split(seed)).toThrow(ValueError);
  });
  it('an empty or too wide range', () => {
    const random = new Random(1);
    for (const n of [0, -3, 1.5, 2 ** 32 + 1]) expect(() => random.nextInt(n)).toThrow(ValueError);
  });
  it('words beyond the end of the sequence', () => {
    const random = new Random(1);
    random.reserve(Number.MAX_SAFE_INTEGER);
    expect(() => random.reserve(1)).toThrow(ValueError);
    expect(() => random.nextUint32()).toThrow(ValueError);
  });
  it('a state that is not one', () => {
    const random = new Random(1);
    expect(() => random.restore({ key: [1, 2], position: 0 })).toThrow(ValueError);
    expect(() => random.restore({ key: [1, 2, 3, -4], position: 0 })).toThrow(ValueError);
    expect(() => random.restore({ key: [1, 2, 3, 4], position: 0.5 })).toThrow(ValueError);
  });
});

describe('the core', () => {
  it('multiplies to 64 bits', () => {
    const edges = [
      0, 1, 2, 0xffff, 0x10000, 0x10001, 0x7fffffff, 0x80000000, 0xd2511f53, 0xfffffffe, 0xffffffff,
    ];
    for (const a of edges) {
      for (const b of edges) expect(mulHigh32(a, b)).toBe(Number((BigInt(a) * BigInt(b)) >> 32n));
    }
  });
  it('takes the whole word for a range of 2^32', () => {
    expect(boundedWord(0xdeadbeef, 2 ** 32)).toBe(0xdeadbeef);
    expect(boundedWord(0xffffffff, 10)).toBe(9);
  });
  it('matches the published vectors', () => {
    const out = new Uint32Array(6);
    for (const { counter, key, result } of golden.known) {
      const [c0, c1, c2, c3] = counter;
      philox4x32(c0, c1, c2, c3, key[0], key[1], out, 1);
      expect([...out]).toEqual([0, ...result, 0]);
    }
  });
  it('reaches any word of a sequence', () => {
    for (const { key, start, bits } of golden.cases) {
      for (const skip of [0, 1, 5]) {
        const out = new Uint32Array(bits.length - skip);
        philoxWords(Uint32Array.from(key), start + skip, out.length, out);
        expect([...out]).toEqual(bits.slice(skip));
      }
    }
  });
  it('spans (0, 1] and [0, 1) with 53 bits', () => {
    expect(unitFloat64(0, 0)).toBe(0);
    expect(unitFloat64(0xffffffff, 0xffffffff)).toBe(1 - 2 ** -53);
  });
  it('makes normals to 1e-14', () => {
    const words = new Uint32Array(4 * 20000);
    philoxWords(new Random(9).key, 0, words.length, words);
    words.set([0, 0, 0, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0, 1 << 11, 1 << 30, 0], 0);
    words.set([0xffffffff, 0, 1 << 29, 0, 0xb504f333, 0xf9de6800, 3 << 29, 1 << 12, 1, 0, 5 << 29, 0], 12);
    for (let i = 0; i < words.length; i += 4) {
      const [a, b, c, d] = words.subarray(i, i + 4);
      const u = unitFloat64(a, b) + 2 ** -53;
      const turn = unitFloat64(c, d);
      const got = standardNormal(a, b, c, d);
      const radius = Math.sqrt(-2 * Math.log(u));
      // 2π·turn is rounded before Math.cos sees it: an absolute error near the zeros of the cosine.
      expect(Math.abs(got - radius * Math.cos(2 * Math.PI * turn))).toBeLessThanOrEqual(radius * 2e-15);
    }
  });
});

describe('Random', () => {
  it('has the key of the golden cases', () => {
    for (const { seed, stream, key, split } of golden.cases) {
      const random = new Random(seed, stream);
      expect([...random.key]).toEqual(key);
      expect([...random.split(split.label).key]).toEqual(split.key);
    }
  });
  it('draws its sequence in order, with reserved words left out', () => {
    const words = new Uint32Array(20);
    const random = new Random(5, 6);
    philoxWords(random.key, 0, 20, words);
    expect(random.nextUint32()).toBe(words[0]);
    expect(random.reserve(6)).toBe(1);
    expect(random.nextInt(100)).toBe(mulHigh32(words[7], 100));
    expect(random.nextFloat()).toBe(unitFloat64(words[8], words[9]));
    expect(random.reserve(0)).toBe(10);
  });
  it('splits by label, whatever was drawn before', () => {
    const a = new Random(5);
    const before = a.split(3).nextUint32();
    a.reserve(100);
    expect(a.split(3).nextUint32()).toBe(before);
    const keys = new Set([0, 1, 2, 2 ** 32, 2 ** 53 - 1].map((label) => a.split(label).key.join()));
    expect(keys.size).toBe(5);
  });
  it('continues from a saved state, also through JSON', () => {
    const a = new Random(5).split(1);
    for (let i = 0; i < 6; i++) a.nextUint32();
    const b = new Random(77);
    b.nextUint32();
    b.restore(JSON.parse(JSON.stringify(a.state())));
    for (let i = 0; i < 9; i++) expect(b.nextUint32()).toBe(a.nextUint32());
  });
});
