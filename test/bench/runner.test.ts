/** The parts of the benchmark that decide what a number means: options, medians, agreement of results, output. */
import { describe, expect, it } from 'vitest';
import { parseArguments, UsageError } from '../../bench/arguments.js';
import { limitOf, parseLimits, rateOf } from '../../bench/limits.js';
import { coreNames } from '../../bench/peer-core.js';
import { jsonLine, tableLine } from '../../bench/report.js';
import type { Result } from '../../bench/runner.js';
import { disagreement, median } from '../../bench/statistics.js';
import type { Case } from '../../bench/suite.js';

const result: Result = {
  bench: 'gemm',
  ours_ms: 2.00004,
  peer_ms: 4,
  ratio: 1.99996,
  limit_share: 0.81234,
  ours_best_ms: 1.9,
  peer_best_ms: 3.9,
  ours_peak_mb: 100,
  peer_peak_mb: 200,
  rate: 123.456,
  unit: 'GFLOP/s',
  limit: 'gemm',
  threads: 2,
  ours_way: 'avx2',
  peer_way: 'mm',
  peer_config: 'as installed',
  error: null,
};

describe('parseArguments', () => {
  const parse = (...words: string[]) => parseArguments(words, ['kernels', 'gnn']);

  it.each([
    ['an unknown suite', ['nope'], /one of kernels, gnn for the suite, got "nope"/],
    ['a suite twice', ['kernels', 'gnn', 'kernels'], /each suite once, got "kernels" twice/],
    ['an unknown option', ['kernels', '--fast'], /known option, got "--fast"/],
    ['an option without its value', ['kernels', '--only'], /a value for --only/],
    [
      'rounds that are not a number',
      ['kernels', '--rounds', 'x'],
      /whole number from 1 to 1024 for --rounds, got "x"/,
    ],
    ['no threads', ['kernels', '--threads', '0'], /for --threads, got "0"/],
    ['a broken pattern', ['kernels', '--only', '('], /regular expression for --only/],
    ['neighbours that are not a number', ['kernels', '--busy', ''], /from 0 to 1024 for --busy, got ""/],
    ['a tree without its folder', ['kernels', '--against'], /a value for --against/],
    ['a tree without a suite', ['--against', '..'], /at least one suite with --against/],
    [
      'one round of two trees',
      ['kernels', '--against', '..', '--rounds', '1'],
      /from 2 to 1024 for --rounds, got "1"/,
    ],
    [
      'a peer and another tree',
      ['kernels', '--against', '..', '--python', 'py'],
      /no --python with --against/,
    ],
    [
      'different results without another tree',
      ['kernels', '--allow-different'],
      /--against with --allow-different/,
    ],
    ['saving two trees', ['kernels', '--against', '..', '--save'], /no --save with --against/],
  ])('rejects %s', (_what, words, message) => {
    expect(() => parse(...words)).toThrow(UsageError);
    expect(() => parse(...words)).toThrow(message);
  });

  it('has defaults and reads every option', () => {
    const plain = parse();
    expect(plain).toEqual({
      suites: [],
      json: false,
      only: null,
      rounds: 5,
      threads: 2,
      peer: true,
      save: false,
      python: null,
      against: null,
      allowDifferent: false,
      theirCases: false,
      busy: 0,
    });
    const words =
      'kernels --json --only gemm --rounds 3 gnn --threads 1 --no-peer --save --python py --busy 1';
    expect(parse(...words.split(' '))).toEqual({
      suites: ['kernels', 'gnn'],
      json: true,
      only: /gemm/,
      rounds: 3,
      threads: 1,
      peer: false,
      save: true,
      python: 'py',
      against: null,
      allowDifferent: false,
      theirCases: false,
      busy: 1,
    });
  });

  it('runs more rounds and no peer against another tree', () => {
    expect(parse('gnn', '--against', '../old')).toMatchObject({ against: '../old', rounds: 10, peer: false });
    expect(parse('gnn', '--against', '../old', '--rounds', '2')).toMatchObject({ rounds: 2 });
  });
});

describe('statistics', () => {
  it('takes the middle, or the mean of the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('compares figures by their scale and rejects NaN and missing ones', () => {
    const check = (value: number, scale = 100) => [{ name: 'sum', value, scale }];
    expect(disagreement(check(1), check(1.009), 1e-4)).toBeNull();
    expect(disagreement(check(1), check(1.011), 1e-4)).toMatch(/sum: ours 1, the peer's 1.011/);
    expect(disagreement(check(Number.NaN), check(1), 1e-4)).not.toBeNull();
    expect(disagreement(check(1), [{ name: 'other', value: 1, scale: 100 }], 1e-4)).toMatch(
      /"sum" of ours, "other" of the peer/,
    );
    expect(disagreement(check(1), [], 1e-4)).not.toBeNull();
  });
});

describe('limits', () => {
  const limits = parseLimits('gemm 0 400\ncopy 1000 30\ncopy 100000 50\ncopy 10000000 20\nrows 1000 12\n');
  const entry = (over: Partial<Case>): Case => ({
    name: 'x',
    peer: null,
    limit: 'copy',
    ours: () => never(),
    ...over,
  });
  const never = (): never => {
    throw new Error('not run');
  };

  it('never lets a smaller working set be slower', () => {
    expect(limits.copy.map(({ rate }) => rate)).toEqual([50, 50, 20]);
  });

  it('picks the limit that bounds the case', () => {
    expect(limitOf(entry({ limit: 'gemm' }), limits)).toBe(400);
    expect(limitOf(entry({ limit: 'rows' }), limits)).toBe(12);
    expect(limitOf(entry({ bytes: 9_000_000 }), limits)).toBe(20);
    expect(limitOf(entry({ bytes: 90_000 }), limits)).toBe(50);
  });

  it('gives rates in the unit of the limit', () => {
    expect(rateOf(entry({ limit: 'gemm', flops: 2e9 }), 10)).toEqual({ rate: 200, unit: 'GFLOP/s' });
    expect(rateOf(entry({ bytes: 1e9 }), 100)).toEqual({ rate: 10, unit: 'GB/s' });
  });
});

describe('coreNames', () => {
  it('offers only what the processor can run', () => {
    expect(coreNames(new Set(['sse2']))).toEqual([]);
    expect(coreNames(new Set(['avx2', 'fma']))).toEqual(['Haswell', 'Zen']);
    const wide = ['avx2', 'fma', 'avx512f', 'avx512bw', 'avx512dq', 'avx512vl', 'avx512cd'];
    expect(coreNames(new Set(wide))).toEqual(['Haswell', 'Zen', 'SkylakeX']);
    expect(coreNames(new Set([...wide, 'avx512_bf16']))).toContain('Cooperlake');
  });
});

describe('output', () => {
  it('is one JSON object per line with rounded numbers and no empty error', () => {
    const line = jsonLine(result);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toMatchObject({
      bench: 'gemm',
      ours_ms: 2,
      peer_ms: 4,
      ratio: 2,
      limit_share: 0.812,
    });
    expect(JSON.parse(line)).not.toHaveProperty('error');
  });

  it('keeps what could not be measured as null, with the reason', () => {
    const line = jsonLine({
      ...result,
      peer_ms: null,
      ratio: null,
      limit_share: Number.NaN,
      error: 'results differ',
    });
    expect(JSON.parse(line)).toMatchObject({
      peer_ms: null,
      ratio: null,
      limit_share: null,
      error: 'results differ',
    });
    expect(tableLine({ ...result, error: 'results differ' })).toContain('\n    results differ');
  });
});
