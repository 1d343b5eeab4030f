/** The window of ids against a plain map. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdWindow } from './id-window.js';

test('knows the last ids exactly, whatever is added and removed', () => {
  const steps = fc.array(
    fc.record({
      id: fc.oneof(fc.string({ maxLength: 3 }), fc.string({ unit: 'grapheme', maxLength: 30 })),
      step: fc.nat(3),
      save: fc.boolean(),
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 30 }),
      (all, most, span) => {
        let window = new IdWindow();
        const known: { id: string; time: number }[] = [];
        let time = 0;
        for (const { id, step, save } of all) {
          time += step;
          const has = known.some((one) => one.id === id);
          expect(window.has(id)).toBe(has);
          if (!has) {
            window.add(id, time, most);
            known.push({ id, time });
            if (known.length > most) known.shift();
          }
          window.removeBefore(time - span);
          while (known.length > 0 && known[0].time < time - span) known.shift();
          expect(window.count).toBe(known.length);
          if (save) {
            const copy = new IdWindow();
            copy.load(window.save());
            expect(copy.save()).toEqual(window.save());
            window = copy;
          }
        }
        for (const { id } of known) expect(window.has(id)).toBe(true);
      },
    ),
  );
});

test('half a million ids, of which the last are kept', () => {
  const window = new IdWindow();
  for (let i = 0; i < 500_000; i++) window.add(`event ${i}`, i, 100_000);
  expect(window.count).toBe(100_000);
  expect(window.has('event 399999')).toBe(false);
  for (let i = 400_000; i < 500_000; i += 997) expect(window.has(`event ${i}`)).toBe(true);
  expect(() => window.has('x'.repeat(129))).toThrow('128 bytes');
});
