import { expect, it } from 'vitest';
import { describe } from './errors.js';

class Thing {}

it.each<[unknown, string]>([
  [[1, 'a', null, undefined, Symbol('s')], '[1, a, null, undefined, Symbol(s)]'],
  [[{ toString: 1 }, Object.create(null), new Thing()], '[Object, object, Thing]'],
  [[[1, 2], 3], '[[… (2)], 3]'],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9], '[1, 2, 3, 4, 5, 6, 7, 8, … (9)]'],
  [{ constructor: { name: { toString: 1 } } }, 'Object'],
  [{ constructor: 'x' }, 'Object'],
  [JSON.parse('{ "__proto__": { "constructor": null } }'), 'Object'],
  [new Thing(), 'Thing'],
  [new DataView(new ArrayBuffer(3)), 'DataView(3)'],
  [new Float32Array(2), 'Float32Array(2)'],
  [1n, '1'],
  ['x'.repeat(200), `"${'x'.repeat(200)}"`],
  ['x'.repeat(11_500), `"${'x'.repeat(200)}…" (11,500 characters)`],
  [['x'.repeat(201)], `[${'x'.repeat(200)}…]`],
])('describes %o', (value, text) => {
  expect(describe(value)).toBe(text);
});
