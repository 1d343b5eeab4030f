/**
 * Seeded inputs that the Python side generates with the same bits (`peers/inputs.py`), and figures of results to
 * compare.
 *
 * Long inputs repeat a block of prime length: cheap to generate, and no row of a power-of-two width equals its
 * neighbours.
 */
import { type Tensor, zeros } from 'skein/tensor';
import type { Check } from './suite.js';

const blockLength = 1_000_003;

/** Returns a 32-bit mix of an index and a seed (the "lowbias32" constants). */
export function mix(index: number, seed: number): number {
  let h = (index + Math.imul(seed, 0x9e3779b9)) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Returns f32 values in [−scale, scale). */
export function floats(seed: number, shape: readonly number[], scale = 1): Tensor {
  const t = zeros(shape);
  const data = t.dataSync() as Float32Array;
  const block = new Float32Array(Math.min(blockLength, data.length));
  for (let i = 0; i < block.length; i++) block[i] = ((mix(i, seed) >>> 8) / 2 ** 23 - 1) * scale;
  for (let at = 0; at < data.length; at += block.length) {
    data.set(block.subarray(0, Math.min(block.length, data.length - at)), at);
  }
  return t;
}

/** Returns integers in [0, below). */
export function integers(seed: number, n: number, below: number): Int32Array {
  return Int32Array.from({ length: n }, (_, i) => Math.floor((mix(i, seed) * below) / 2 ** 32));
}

/** Returns the sum and a few elements of a result. */
export function figures(name: string, values: ArrayLike<number>): Check[] {
  const n = values.length;
  let sum = 0;
  let size = 0;
  for (let i = 0; i < n; i++) {
    sum += values[i];
    size += Math.abs(values[i]);
  }
  const checks: Check[] = [{ name: `sum of ${name}`, value: sum, scale: size }];
  for (let part = 0; part < 8; part++) {
    const i = Math.floor((n * (2 * part + 1)) / 16);
    checks.push({ name: `${name}[${i}]`, value: values[i], scale: Math.abs(values[i]) + size / n });
  }
  return checks;
}

/** Returns figures of random results, which agree in distribution only. */
export function distribution(name: string, values: ArrayLike<number>): Check[] {
  const n = values.length;
  let sum = 0;
  let squares = 0;
  let zeroCount = 0;
  for (let i = 0; i < n; i++) {
    sum += values[i];
    squares += values[i] * values[i];
    if (values[i] === 0) zeroCount++;
  }
  const deviation = Math.sqrt(squares / n);
  return [
    { name: `mean of ${name}`, value: sum / n, scale: deviation },
    { name: `root mean square of ${name}`, value: deviation, scale: deviation },
    { name: `fraction of zeros of ${name}`, value: zeroCount / n, scale: 1 },
  ];
}
