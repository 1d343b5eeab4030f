/** Group I: sizes as text, and the errors for wrong ones. */
import { CGPUFeature } from 'skein/gpu';
import { ValueError } from 'skein/util';
import { parseSize } from '#internal/util/index.js';
import { equal, throws } from './assert.js';
import type { GpuCase } from './case.js';

const group = 'I';

export const cases: readonly GpuCase[] = [
  {
    group,
    name: 'valid sizes',
    async run() {
      const table: [string | number, number][] = [
        ['0.1G', 107374182],
        ['.1G', 107374182],
        ['200M', 200 * 2 ** 20],
        ['3GB', 3 * 2 ** 30],
        ['1kb', 1024],
        [0, 0],
        [12.7, 12],
      ];
      for (const [text, bytes] of table) equal(parseSize(text), bytes, String(text));
    },
  },
  {
    group,
    name: 'invalid sizes, also in a store',
    async run(gpu) {
      for (const text of ['10', '1T', '', '-1G', Number.NaN]) {
        await throws(() => parseSize(text), ValueError, /expected a text such as "0.1G"/);
        await throws(() => new CGPUFeature(null, gpu, text), ValueError, /CGPUFeature: expected .* for size/);
      }
    },
  },
];
