/** Sizes as text: what is taken, what is refused, and what the refusal says. */
import { describe, expect, it } from 'vitest';
import { ValueError } from './errors.js';
import { formatSize, parseByteCount, parseSize } from './size.js';

describe('parseSize', () => {
  it.each([
    ['0.1G', 107374182],
    ['.1G', 107374182],
    ['200M', 200 * 2 ** 20],
    ['3GB', 3 * 2 ** 30],
    ['1kb', 1024],
    ['1.5 GiB', 1.5 * 2 ** 30],
    [' 64K ', 65536],
    ['0G', 0],
    [0, 0],
    [12.7, 12],
    [2 ** 33, 2 ** 33],
  ])('%j is %d bytes', (value, bytes) => {
    expect(parseSize(value)).toBe(bytes);
  });

  it.each([
    '10',
    '0',
    '10B',
    '1T',
    '',
    ' ',
    '-1G',
    'G',
    '1e3M',
    '1,5G',
    '2 Q',
    '1GG',
    '0x10K',
    `9${'0'.repeat(20)}G`,
  ])('refuses %j', (text) => {
    expect(() => parseSize(text)).toThrow(ValueError);
  });

  it.each([Number.NaN, -1, Infinity, null, undefined, {}, 1n])('refuses %s', (value) => {
    expect(() => parseSize(value as number)).toThrow(ValueError);
  });

  it('says who asked, what it got and what is accepted', () => {
    expect(() => parseSize('10', 'CGPUFeature', 'size')).toThrow(
      'CGPUFeature: expected a text such as "0.1G", "200M" or "64K", or a number of bytes of at least 0, for size, got "10". ' +
        'Units are K, M and G (powers of 1024); text needs a unit.',
    );
  });
});

it('parseByteCount also takes plain bytes and terabytes', () => {
  expect(['2G', '1.5 GiB', '500m', '1kb', '10', '1T', 7].map(parseByteCount)).toEqual([
    2 ** 31,
    1.5 * 2 ** 30,
    500 * 2 ** 20,
    1024,
    10,
    2 ** 40,
    7,
  ]);
  expect(['', 'x', '-1', '2 Q', 0, 1.5, Number.NaN].map(parseByteCount)).toEqual(Array(7).fill(undefined));
});

it('formatSize', () => {
  expect([1, 1536, 2 ** 31].map(formatSize)).toEqual(['1 B', '1.5 KiB', '2 GiB']);
});
