/** The parts of the demo: the invented bank, counting members, and opening a browser. */
import { expect, it } from 'vitest';
import { membersAmong } from './find-ring.js';
import { fraudRing } from './fraud-ring.js';
import { browserCommand } from './open-browser.js';

it('makes the same bank from the same seed, and another from another', () => {
  expect(fraudRing(1)).toEqual(fraudRing(1));
  expect(fraudRing(2)).not.toEqual(fraudRing(1));
});

it('has payments between existing accounts, none to itself and none twice', () => {
  const { accounts, payments } = fraudRing(3);
  const names = new Set(accounts.map(({ id }) => id));
  expect(names.size).toBe(accounts.length);
  expect(payments.every(([from, to]) => names.has(from) && names.has(to) && from !== to)).toBe(true);
  expect(new Set(payments.map((pair) => pair.join(' '))).size).toBe(payments.length);
  expect(accounts.filter(({ kind }) => kind === 'ring')).toHaveLength(120);
});

it('counts members among the highest scores; equal ones count by their share', () => {
  const isMember = [true, false, true, false];
  expect(membersAmong([4, 3, 2, 1], isMember, 2)).toBe(1);
  expect(membersAmong([4, 1, 3, 1], isMember, 2)).toBe(2);
  // Two of three equal scores are taken, of which one is a member.
  expect(membersAmong([0, 5, 5, 5], isMember, 2)).toBeCloseTo(2 / 3, 12);
  expect(membersAmong([1, 1, 1, 1], isMember, 2)).toBe(1);
});

it('opens a browser where there is a display', () => {
  const address = 'http://127.0.0.1:8088/#/map/demo?a=1&b=2';
  expect(browserCommand(address, 'linux', {})).toBeNull();
  expect(browserCommand(address, 'linux', { DISPLAY: ':0' })).toEqual(['xdg-open', address]);
  expect(browserCommand(address, 'darwin', {})).toEqual(['open', address]);
  expect(browserCommand(address, 'win32', {})?.at(-1)).toContain('a=1^&b=2');
});
