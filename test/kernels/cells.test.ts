/** Recurrent cells and time encoding: native against the twins, gradients against differences, large times. */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytesForThreads,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);
const native = nativeKernels as Kernels;

/** d Σ(weights · f(x)) / dx by central differences. */
function differences(f: () => FloatArray, x: FloatArray, weights: FloatArray): Float64Array {
  const total = () => Array.from(f()).reduce((sum, value, i) => sum + value * weights[i], 0);
  const h = 1e-6;
  return Float64Array.from(x, (value, i) => {
    x[i] = value + h;
    const above = total();
    x[i] = value - h;
    const below = total();
    x[i] = value;
    return (above - below) / (2 * h);
  });
}

const looseness = 1e5; // differences are good to about 1e-9; the table allows 1e-12

describe.each(implementations)('cells: %s', (_, kernels) => {
  it('accepts empty batches', () => {
    const none = new Float32Array(0);
    kernels.gruCell(none, none, none, none, none, 0, 4);
    kernels.gruCellBackward(none, none, none, none, none, none, 0, 4);
    kernels.rnnCell(none, none, none, 0, true);
    kernels.timeEncode(none, new Float32Array(2), new Float32Array(2), none, 0, 2);
    const gw = new Float32Array([1, 1]);
    kernels.timeEncodeBackward({
      t: none,
      w: new Float32Array(2),
      b: new Float32Array(2),
      gy: none,
      gt: none,
      gw,
      gb: new Float32Array(2),
      n: 0,
      d: 2,
    });
    expect([...gw]).toEqual([0, 0]);
  });

  it('has the gradient of the GRU cell', () => {
    const [batch, hidden] = [3, 5];
    const [gi, gh] = [randomFloats('f64', 45, 1), randomFloats('f64', 45, 2)];
    const [h, gout] = [randomFloats('f64', 15, 3), randomFloats('f64', 15, 4)];
    const gates = zeros('f64', 60);
    const forward = () => {
      const out = zeros('f64', 15);
      kernels.gruCell(gi, gh, h, out, gates, batch, hidden);
      return out;
    };
    forward();
    const [dgi, dgh, dh] = [zeros('f64', 45), zeros('f64', 45), zeros('f64', 15)];
    kernels.gruCellBackward(gout, h, gates, dgi, dgh, dh, batch, hidden);
    expectClose(dgi, differences(forward, gi, gout), 'f64', looseness);
    expectClose(dgh, differences(forward, gh, gout), 'f64', looseness);
    expectClose(dh, differences(forward, h, gout), 'f64', looseness);
    const [dgiAlone, dghAlone] = [zeros('f64', 45), zeros('f64', 45)];
    kernels.gruCellBackward(gout, h, gates, dgiAlone, dghAlone, null, batch, hidden);
    expect([dgiAlone, dghAlone]).toEqual([dgi, dgh]);
  });

  it('has the gradient of the plain cell', () => {
    const [gi, gh, gout] = [1, 2, 3].map((seed) => randomFloats('f64', 20, seed));
    for (const relu of [false, true]) {
      const forward = () => {
        const out = zeros('f64', 20);
        kernels.rnnCell(gi, gh, out, 20, relu);
        return out;
      };
      const g = zeros('f64', 20);
      kernels.rnnCellBackward(gout, forward(), g, 20, relu);
      expectClose(g, differences(forward, gi, gout), 'f64', looseness);
    }
  });

  it('has the gradient of the time encoding', () => {
    const [t, w, b] = [randomFloats('f64', 6, 1), randomFloats('f64', 9, 2), randomFloats('f64', 9, 3)];
    const gy = randomFloats('f64', 54, 4);
    const forward = () => {
      const y = zeros('f64', 54);
      kernels.timeEncode(t, w, b, y, 6, 9);
      return y;
    };
    const [gt, gw, gb] = [zeros('f64', 6), zeros('f64', 9), zeros('f64', 9)];
    kernels.timeEncodeBackward({ t, w, b, gy, gt, gw, gb, n: 6, d: 9 });
    expectClose(gt, differences(forward, t, gy), 'f64', looseness);
    expectClose(gw, differences(forward, w, gy), 'f64', looseness);
    expectClose(gb, differences(forward, b, gy), 'f64', looseness);
  });

  it('encodes large times to the last bits of f32', () => {
    // f32 cannot tell 1e9 from 1e9 + 30, so the times are values of f32; the products are then exact in f64.
    const t = Float32Array.from([0, 1, 1e3, 1e6, 1e9, -1e9, 1.7e9, 4e9, 1e12, 1e30]);
    const w = Float32Array.from([1, 0.5, 1e-3, 0.7310585975646973, 3.1415927410125732]);
    const b = Float32Array.from([0, 1, -1, 0.25, 1.5707963705062866]);
    const y = new Float32Array(50);
    kernels.timeEncode(t, w, b, y, 10, 5);
    for (let i = 0; i < 50; i++) {
      const want = Math.cos(t[Math.floor(i / 5)] * w[i % 5] + b[i % 5]);
      expect(Math.abs(y[i] - want), `element ${i}`).toBeLessThanOrEqual(
        1.2e-7 * Math.max(Math.abs(want), 1e-3),
      );
    }
  });

  it('passes NaN and infinite times on as NaN', () => {
    const y = new Float32Array(3);
    kernels.timeEncode(
      new Float32Array([Number.NaN, Number.POSITIVE_INFINITY, 0]),
      new Float32Array([1]),
      new Float32Array([0]),
      y,
      3,
      1,
    );
    expect([...y]).toEqual([Number.NaN, Number.NaN, 1]);
  });
});

describe.skipIf(nativeKernels === null)('cells: native = reference', () => {
  it.each(floatTypes)('GRU, %s', (type) => {
    for (const hidden of edgeSizes) {
      for (const batch of [1, 4, 70]) {
        const units = batch * hidden;
        const [gi, gh] = [randomFloats(type, 3 * units, 1, -9, 9), randomFloats(type, 3 * units, 2, -9, 9)];
        const [h, gout] = [randomFloats(type, units, 3), randomFloats(type, units, 4)];
        const run = (kernels: Kernels) => {
          const results = [1, 4, 3, 3, 1].map((parts) => zeros(type, parts * units));
          const [out, gates, dgi, dgh, dh] = results;
          kernels.gruCell(gi, gh, h, out, gates, batch, hidden);
          kernels.gruCellBackward(gout, h, gates, dgi, dgh, dh, batch, hidden);
          return results;
        };
        const want = run(referenceKernels);
        for (const [i, got] of run(native).entries()) expectClose(got, want[i], type);
      }
    }
  });

  it.each(floatTypes)('plain cell, %s', (type) => {
    for (const n of [...edgeSizes, 70_000]) {
      const [gi, gh, gout] = [1, 2, 3].map((seed) => randomFloats(type, n, seed));
      for (const relu of [false, true]) {
        const run = (kernels: Kernels) => {
          const [out, g] = [zeros(type, n), zeros(type, n)];
          kernels.rnnCell(gi, gh, out, n, relu);
          kernels.rnnCellBackward(gout, out, g, n, relu);
          return [out, g];
        };
        const want = run(referenceKernels);
        for (const [i, got] of run(native).entries()) expectClose(got, want[i], type);
      }
    }
  });

  it.each(floatTypes)('time encoding, %s', (type) => {
    for (const d of edgeSizes) {
      for (const n of [1, 9, 300]) {
        const t = randomFloats(type, n, 1, 0, 1000);
        const [w, b] = [randomFloats(type, d, 2), randomFloats(type, d, 3)];
        const gy = randomFloats(type, n * d, 4);
        const run = (kernels: Kernels) => {
          const [y, gt, gw, gb] = [n * d, n, d, d].map((size) => zeros(type, size));
          kernels.timeEncode(t, w, b, y, n, d);
          kernels.timeEncodeBackward({ t, w, b, gy, gt, gw, gb, n, d });
          // Each term of gw carries a time of up to 1000; compare at that scale.
          return [y, gt, gb, gw.map((g) => g / 1000)];
        };
        const want = run(referenceKernels);
        for (const [i, got] of run(native).entries()) expectClose(got, want[i], type);
        native.timeEncodeBackward({ t, w, b, gy, gt: null, gw: zeros(type, d), gb: zeros(type, d), n, d });
      }
    }
  });

  it('gives the same bytes for every number of threads', () => {
    const [batch, hidden, d] = [700, 64, 50];
    const [gi, gh] = [randomFloats('f32', 3 * batch * hidden, 1), randomFloats('f32', 3 * batch * hidden, 2)];
    const [h, t] = [randomFloats('f32', batch * hidden, 3), randomFloats('f32', batch, 4, 0, 1e6)];
    const [w, b] = [randomFloats('f32', d, 5), randomFloats('f32', d, 6)];
    expectSameBytesForThreads((kernels) => {
      const sizes = [1, 4, 3, 3, 1, 3, 3].map((parts) => parts * batch * hidden);
      const results = [...sizes, batch * d, batch, d, d].map((size) => zeros('f32', size));
      const [out, gates, dgi, dgh, dh, plain, gplain, y, gt, gw, gb] = results;
      kernels.gruCell(gi, gh, h, out, gates, batch, hidden);
      kernels.gruCellBackward(out, h, gates, dgi, dgh, dh, batch, hidden);
      kernels.rnnCell(gi, gh, plain, plain.length, false);
      kernels.rnnCellBackward(gi, plain, gplain, plain.length, false);
      kernels.timeEncode(t, w, b, y, batch, d);
      kernels.timeEncodeBackward({ t, w, b, gy: y, gt, gw, gb, n: batch, d });
      return results;
    });
  });
});
