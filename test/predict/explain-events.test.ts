/** Reasons of events: a planted trigger, occlusion of statistics and of neighbours, and models that cannot be explained. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openModel } from 'skein/predict';
import { afterAll, describe, expect, it } from 'vitest';
import { measureTrigger } from '../../examples/shared/planted-reasons.js';
import { type Kind, trainedRun } from './stream-fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-explain-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('finds the event that triggered the next one', async () => {
  const { found, control, sanity, plus, minus } = await measureTrigger();
  expect(found).toBeGreaterThanOrEqual(0.8);
  expect(control).toBeLessThan(0.2);
  expect(Math.abs(sanity)).toBeLessThan(0.5);
  expect(plus).toBeGreaterThan(minus);
}, 120_000);

describe.each([
  ['statistics', 'statistics'],
  ['tgn', 'neighbors'],
  ['mixer', 'neighbors'],
] as const)('a model of kind %s', (kind: Kind, method) => {
  it('leaves out past events, and changes nothing', async () => {
    const model = await openModel(await trainedRun(folder, kind));
    expect(model.answers).toContain('explain');
    const edge = { head: 'user 3', tail: 'item 2' };
    const before = await model.score(edge);
    const ranked = await model.rank({ head: 'user 3' }, { k: 8 });
    const one = await model.explain(edge, { k: 3, events: 12, randomize: true });
    expect(one).toMatchObject({ kind: 'event', ...edge, method });
    expect(one.score).toBeCloseTo(before, 5);
    expect('events' in one && one.events).toHaveLength(3);
    if (!('events' in one)) return;
    for (const { head, tail, time } of one.events) {
      expect(head === 'user 3' || tail === 'item 2').toBe(true);
      expect(time).toBeLessThan(1400);
    }
    // Some past event matters to each of these models.
    expect(one.events.some(({ weight }) => weight !== 0)).toBe(true);
    expect(one.fidelity.sparsity).toBeCloseTo(1 - 3 / 12, 12);
    expect(one.sanity?.compared).toBe(12);
    expect(await model.score(edge)).toBe(before);
    expect(await model.rank({ head: 'user 3' }, { k: 8 })).toEqual(ranked);
    expect(await model.explain(edge, { k: 3, events: 12, randomize: true })).toEqual(one);
    await model.append([{ ...edge, time: 1500 }]);
    const later = await model.explain(edge, { events: 5 });
    expect('events' in later && later.events.some(({ time }) => time === 1500)).toBe(true);
    await expect(model.explain('user 3')).rejects.toThrow(/expected an edge/);
    await expect(model.explain({ ...edge, relation: 'r' })).rejects.toThrow(/expected no relation/);
    await expect(model.explain(edge, { steps: 3 })).rejects.toThrow(/expected no option for steps/);
    await model.close();
  }, 60_000);
});

it.each(['baseline', 'jodie'] as const)(
  '%s cannot be explained',
  async (kind) => {
    const model = await openModel(await trainedRun(folder, kind));
    expect(model.answers).not.toContain('explain');
    await expect(model.explain({ head: 'user 3', tail: 'item 2' })).rejects.toThrow(
      /explain: expected a model that can explain its answers, got one of events/,
    );
    await model.close();
  },
  60_000,
);
