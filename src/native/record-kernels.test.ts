import { afterEach, describe, expect, it, vi } from 'vitest';
import { type PositionalKernels, recordParameters, takeRecords } from './record-kernels.js';

afterEach(() => vi.unstubAllGlobals());

const fill = (...args: unknown[]): unknown => args;
const kernels = { fill, gemm: fill } as unknown as PositionalKernels;
const order = recordParameters('gemm') as readonly string[];
/** The fields in reverse, with their names as values. */
const record = Object.fromEntries([...order].reverse().map((name) => [name, name]));

describe.each([
  ['compiled', () => {}],
  [
    'where Node.js forbids compiling text',
    () => {
      vi.stubGlobal('Function', () => {
        throw new EvalError('Code generation from strings disallowed for this context');
      });
    },
  ],
])('takeRecords: %s', (_, prepare) => {
  it('passes the fields of a record in the order of C++, and positions as they are', () => {
    prepare();
    const { fill: positional, gemm } = takeRecords(kernels);
    expect(gemm(record)).toEqual(order);
    expect(positional(1, 2, 3)).toEqual([1, 2, 3]);
  });

  it('passes undefined for a field that is missing, so that the addon rejects it', () => {
    prepare();
    const { c: _c, ...rest } = record;
    expect((takeRecords(kernels).gemm(rest) as unknown[])[order.indexOf('c')]).toBeUndefined();
  });
});

it('recordParameters: null for kernels that take positions', () => {
  expect(recordParameters('fill')).toBeNull();
  expect(recordParameters('toString')).toBeNull();
});
