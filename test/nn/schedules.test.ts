/** Learning-rate schedules against PyTorch's sequences of rates. */
import {
  CosineAnnealingLR,
  ExponentialLR,
  LambdaLR,
  LinearWarmup,
  MultiStepLR,
  type PlateauOptions,
  ReduceLROnPlateau,
  SGD,
  StepLR,
} from 'skein/nn';
import { zeros } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { golden } from './golden.js';

const cases = golden<number[][]>('schedules');
const metric = cases.metric as unknown as number[];
const plateau: PlateauOptions = { factor: 0.5, patience: 1, cooldown: 2, threshold: 1e-3, minLr: 0.01 };

function optimizer(): SGD {
  const p = (): ReturnType<typeof zeros> => zeros([1], { requiresGrad: true });
  return new SGD([{ params: [p()] }, { params: [p()], lr: 0.02 }], { lr: 0.2 });
}

const rates = (o: SGD): number[] => o.groups.map((group) => group.lr);

const schedules = {
  stepLR: (o: SGD) => new StepLR(o, 4, { gamma: 0.5 }),
  multiStepLR: (o: SGD) => new MultiStepLR(o, [3, 7, 7, 20], { gamma: 0.3 }),
  exponentialLR: (o: SGD) => new ExponentialLR(o, 0.9),
  cosineAnnealingLR: (o: SGD) => new CosineAnnealingLR(o, 8, { min: 0.01 }),
  linearWarmup: (o: SGD) => new LinearWarmup(o, 6, { from: 0.1 }),
  lambdaLR: (o: SGD) => new LambdaLR(o, (t) => 1 / (1 + t)),
};
const names = Object.keys(schedules) as (keyof typeof schedules)[];

describe('wrong input', () => {
  test('options', () => {
    const o = optimizer();
    expect(() => new StepLR({} as never, 3)).toThrow('StepLR: expected an optimizer for optimizer');
    expect(() => new StepLR(o, 0)).toThrow('StepLR: expected a whole number of at least 1 for size, got 0.');
    expect(() => new StepLR(o, 2, { gamma: Number.NaN })).toThrow('for gamma, got NaN.');
    expect(() => new MultiStepLR(o, [1.5])).toThrow(
      'MultiStepLR: expected a whole number of at least 0 for milestones[0], got 1.5.',
    );
    expect(() => new ExponentialLR(o, -1)).toThrow('for gamma, got -1.');
    expect(() => new CosineAnnealingLR(o, 0)).toThrow('for period, got 0.');
    expect(() => new LinearWarmup(o, 5, { from: 2 })).toThrow('for from, got 2.');
    expect(() => new LambdaLR(o, [() => 1])).toThrow(
      'LambdaLR: expected 2 functions (one per group) for factors, got 1.',
    );
    expect(() => new LambdaLR(o, () => Number.NaN)).toThrow(
      'LambdaLR: expected a finite number of at least 0 for the rate it gives, got NaN.',
    );
    expect(() => new ReduceLROnPlateau(o, { factor: 1 })).toThrow(
      'ReduceLROnPlateau: expected a number below 1 for factor, got 1.',
    );
    expect(() => new ReduceLROnPlateau(o, { mode: 'low' as never })).toThrow(
      "expected 'min' or 'max' for mode",
    );
    expect(() => new ReduceLROnPlateau(o).step(Number.NaN)).toThrow(
      'ReduceLROnPlateau.step: expected a number for value, got NaN.',
    );
  });
});

function expectRates(actual: number[], wanted: number[], t: number): void {
  for (const [i, rate] of actual.entries()) {
    expect(Math.abs(rate - wanted[i]), `group ${i} after ${t} steps: ${rate}, not ${wanted[i]}`).toBeLessThan(
      1e-12,
    );
  }
}

describe('PyTorch', () => {
  test.each(names)('%s', (name) => {
    const o = optimizer();
    const schedule = schedules[name](o);
    for (const [t, wanted] of cases[name].entries()) {
      if (t > 0) schedule.step();
      expectRates(rates(o), wanted, t);
      expect(schedule.t).toBe(t);
    }
  });

  test.each([
    ['plateau', {}],
    ['plateauMax', { mode: 'max', thresholdMode: 'abs' }],
  ] as const)('%s', (name, options) => {
    const o = optimizer();
    let schedule = new ReduceLROnPlateau(o, { ...plateau, ...options });
    for (const [t, value] of metric.entries()) {
      schedule.step(value);
      expectRates(rates(o), cases[name][t + 1], t + 1);
      const next = new ReduceLROnPlateau(o, { ...plateau, ...options });
      next.loadStateDict(JSON.parse(JSON.stringify(schedule.stateDict())));
      schedule = next;
    }
  });
});

test.each(names)('%s continues from a saved state', (name) => {
  const o = optimizer();
  const schedule = schedules[name](o);
  for (let t = 0; t < 5; t++) schedule.step();
  const saved = JSON.parse(JSON.stringify(schedule.stateDict()));
  const other = optimizer();
  const resumed = schedules[name](other);
  resumed.loadStateDict(saved);
  expect(rates(other)).toEqual(rates(o));
  schedule.step();
  resumed.step();
  expect(rates(other)).toEqual(rates(o));
  expect(() => resumed.loadStateDict({ t: 0, baseRates: [1] })).toThrow(
    'expected 2 groups for state, got 1.',
  );
});
