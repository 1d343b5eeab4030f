/** Optimiser steps: values from PyTorch, native against the twins, row forms against the dense ones. */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);
const native = nativeKernels as Kernels;

/** Gradient of step `step` (from 1) in the PyTorch run below. */
const gradient = (step: number): Float64Array =>
  Float64Array.from([0.5, -1, 2, 0], (g, i) => g * step + i / 10);

type Step = (
  kernels: Kernels,
  p: FloatArray,
  g: FloatArray,
  state: readonly FloatArray[],
  t: number,
  n: number,
) => void;

const sgd =
  (momentum: number, dampening: number, decay: number, nesterov: boolean): Step =>
  (kernels, p, g, [s], t, n) =>
    kernels.sgdStep({
      p,
      g,
      buffer: momentum === 0 ? null : s,
      n,
      lr: 0.1,
      momentum,
      dampening,
      weightDecay: decay,
      nesterov,
      first: t === 1,
    });
const adagrad =
  (decay: number): Step =>
  (kernels, p, g, [s], _, n) =>
    kernels.adagradStep(p, g, s, n, 0.1, 1e-3, decay);
const adam =
  (decay: number, decoupled: boolean): Step =>
  (kernels, p, g, [m, v], t, n) =>
    kernels.adamStep({
      p,
      g,
      m,
      v,
      n,
      lr: 0.1,
      beta1: 0.8,
      beta2: 0.95,
      eps: 1e-3,
      weightDecay: decay,
      decoupled,
      c1: 1 - 0.8 ** t,
      c2: 1 - 0.95 ** t,
    });

/** Three steps from p = [1, -2, 3, 0.5] with gradient(1 … 3) in f64, as torch.optim of PyTorch 1.13 makes them. */
const golden: readonly (readonly [string, Step, readonly number[]])[] = [
  ['SGD', sgd(0, 0, 0, false), [0.7, -1.43, 1.7399999999999998, 0.4099999999999999]],
  [
    'SGD with weight decay, momentum and dampening',
    sgd(0.9, 0.2, 0.05, false),
    [0.5685211199999999, -1.1871583999999997, 1.19891024, 0.33712247999999995],
  ],
  [
    'SGD with Nesterov momentum',
    sgd(0.9, 0, 0.05, true),
    [0.23652276887499987, -0.5528418525000001, -0.17360339662500013, 0.24066197706249995],
  ],
  [
    'Adagrad',
    adagrad(0.05),
    [0.7324393891924538, -1.7306183626644867, 2.733225241091805, 0.27338862176031564],
  ],
  ['Adam', adam(0, false), [0.7047937045677701, -1.705559720577187, 2.70367965009585, 0.2009966777408638]],
  [
    'Adam with weight decay',
    adam(0.05, false),
    [0.7038883250208641, -1.7045452463658473, 2.70314154171492, 0.20118048654474568],
  ],
  [
    'AdamW',
    adam(0.05, true),
    [0.6913516455680456, -1.677191167767486, 2.660391421796213, 0.19502664015780732],
  ],
];
const optimisers: readonly (readonly [string, Step])[] = [
  ...golden.map(([name, step]) => [name, step] as const),
  ['SGD with momentum', sgd(0.9, 0, 0, false)],
  ['Adagrad without decay', adagrad(0)],
  ['AdamW without decay', adam(0, true)],
];

/** Three steps over n parameters; returns parameters and state. */
function train(kernels: Kernels, step: Step, type: FloatType, n: number): FloatArray[] {
  const p = randomFloats(type, n, 1);
  const state = [zeros(type, n), zeros(type, n)];
  for (let t = 1; t <= 3; t++) step(kernels, p, randomFloats(type, n, 10 + t), state, t, n);
  return [p, ...state];
}

describe.each(implementations)('optimisers: %s', (_, kernels) => {
  it.each(golden)('%s as in PyTorch', (_name, step, expected) => {
    for (const type of floatTypes) {
      const make = type === 'f32' ? Float32Array : Float64Array;
      const p = make.from([1, -2, 3, 0.5]);
      const state = [zeros(type, 4), zeros(type, 4)];
      for (let t = 1; t <= 3; t++) step(kernels, p, make.from(gradient(t)), state, t, 4);
      expectClose(p, Float64Array.from(expected), type);
    }
  });

  it('updates the rows of ids alone, by the dense formula', () => {
    const [rows, width, n] = [40, 5, 12];
    const ids = Int32Array.from({ length: n }, (_unused, i) => (i * 7) % rows);
    const g = randomFloats('f64', n * width, 3);
    const pick = (x: FloatArray) =>
      Float64Array.from(g, (_unused, k) => x[ids[Math.floor(k / width)] * width + (k % width)]);
    const cases: [
      string,
      (p: FloatArray, s: FloatArray[]) => void,
      (p: FloatArray, s: FloatArray[], k: number) => void,
    ][] = [
      [
        'sgd',
        (p, [a]) =>
          kernels.sgdStepRows({ p, ids, g, buffer: a, n, width, lr: 0.1, momentum: 0.9, weightDecay: 0.05 }),
        (p, [a], k) =>
          kernels.sgdStep({
            p,
            g,
            buffer: a,
            n: k,
            lr: 0.1,
            momentum: 0.9,
            dampening: 0,
            weightDecay: 0.05,
            nesterov: false,
            first: false,
          }),
      ],
      [
        'sgd without momentum',
        (p) =>
          kernels.sgdStepRows({ p, ids, g, buffer: null, n, width, lr: 0.1, momentum: 0, weightDecay: 0 }),
        (p, _unused, k) =>
          kernels.sgdStep({
            p,
            g,
            buffer: null,
            n: k,
            lr: 0.1,
            momentum: 0,
            dampening: 0,
            weightDecay: 0,
            nesterov: false,
            first: false,
          }),
      ],
      [
        'adagrad',
        (p, [a]) =>
          kernels.adagradStepRows({ p, ids, g, sum: a, n, width, lr: 0.1, eps: 1e-3, weightDecay: 0.05 }),
        (p, [a], k) => kernels.adagradStep(p, g, a, k, 0.1, 1e-3, 0.05),
      ],
      ...[true, false].map((decoupled): (typeof cases)[number] => [
        'adam',
        (p, [a, b]) =>
          kernels.adamStepRows({
            p,
            ids,
            g,
            m: a,
            v: b,
            n,
            width,
            lr: 0.1,
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-3,
            weightDecay: 0.05,
            decoupled,
            c1: 0.4,
            c2: 0.2,
          }),
        (p, [a, b], k) =>
          kernels.adamStep({
            p,
            g,
            m: a,
            v: b,
            n: k,
            lr: 0.1,
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-3,
            weightDecay: 0.05,
            decoupled,
            c1: 0.4,
            c2: 0.2,
          }),
      ]),
    ];
    for (const [name, sparse, dense] of cases) {
      const tables = [1, 2, 4].map((seed) => randomFloats('f64', rows * width, seed, 0.1, 1));
      const before = tables.map((table) => table.slice());
      const parts = tables.map(pick);
      dense(parts[0], parts.slice(1), n * width);
      sparse(tables[0], tables.slice(1));
      for (const [i, want] of before.entries()) {
        for (let k = 0; k < n * width; k++)
          want[ids[Math.floor(k / width)] * width + (k % width)] = parts[i][k];
        expect(tables[i], name).toEqual(want);
      }
    }
  });
});

describe.skipIf(nativeKernels === null)('optimisers: native = reference', () => {
  it.each(optimisers)('%s', (_name, step) => {
    for (const type of floatTypes) {
      for (const n of [...edgeSizes, 70_000]) {
        const want = train(referenceKernels, step, type, n);
        for (const [i, got] of train(native, step, type, n).entries()) expectClose(got, want[i], type);
      }
    }
  });

  it.each(optimisers)('%s gives the same bytes for every number of threads', (_name, step) => {
    expectSameBytesForThreads((kernels) => train(kernels, step, 'f32', 100_003));
  });

  it('row forms, over widths and threads', () => {
    for (const width of [1, 7, 16, 130]) {
      const rows = 3000;
      const ids = Int32Array.from(new Set(randomIds(1500, rows)));
      const g = randomFloats('f32', ids.length * width, 3);
      const run = (kernels: Kernels) => {
        const [p, a, b, c] = [1, 2, 4, 5].map((seed) => randomFloats('f32', rows * width, seed, 0.1, 1));
        kernels.sgdStepRows({
          p,
          ids,
          g,
          buffer: a,
          n: ids.length,
          width,
          lr: 0.1,
          momentum: 0.9,
          weightDecay: 0.05,
        });
        kernels.adagradStepRows({
          p,
          ids,
          g,
          sum: b,
          n: ids.length,
          width,
          lr: 0.1,
          eps: 1e-8,
          weightDecay: 0,
        });
        const sum = c.subarray(0, rows);
        const row = { ids, n: ids.length, width, lr: 0.1, eps: 1e-8, weightDecay: 0.02 };
        kernels.rowAdagradStepRows({ ...row, p, g, sum });
        kernels.adamStepRows({
          p,
          ids,
          g,
          m: a,
          v: b,
          n: ids.length,
          width,
          lr: 0.1,
          beta1: 0.9,
          beta2: 0.99,
          eps: 1e-8,
          weightDecay: 0.01,
          decoupled: true,
          c1: 0.5,
          c2: 0.3,
        });
        return [p, a, b, c];
      };
      const want = run(referenceKernels);
      for (const [i, got] of run(native).entries()) expectClose(got, want[i], 'f32');
      expectSameBytesForThreads(run);
    }
  });
});
