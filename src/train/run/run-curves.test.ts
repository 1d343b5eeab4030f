/** Curves of metrics.jsonl: a resumed run is one line, and workers have points of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readCurves } from './run-curves.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-curves-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function curvesOf(...records: object[]) {
  writeFileSync(
    join(folder, 'metrics.jsonl'),
    records.map((record) => `${JSON.stringify(record)}\n`).join(''),
  );
  return readCurves(folder);
}

it('counts epochs that a resumed run trained again once, as they were trained last', () => {
  const { epochs, evaluations } = curvesOf(
    { event: 'epoch', epoch: 1, loss: 5 },
    { event: 'epoch', epoch: 2, loss: 4 },
    { event: 'eval', set: 'validation', epoch: 2, mrr: 0.1 },
    { event: 'epoch', epoch: 2, loss: 3 },
    { event: 'eval', set: 'validation', epoch: 2, mrr: 0.2 },
  );
  expect(epochs.map(({ epoch, loss }) => [epoch, loss])).toEqual([
    [1, 5],
    [2, 3],
  ]);
  expect(evaluations.map(({ metrics }) => metrics['mrr'])).toEqual([0.2]);
});

it('has the memory and the stages of each worker, and none for one worker', () => {
  const workers = [
    { memory: 100, stages: { compute: 1 } },
    { memory: 200, stages: { compute: 2 } },
  ];
  const { epochs } = curvesOf(
    { event: 'epoch', epoch: 1, loss: 5, memory: 100, stages: { compute: 1 } },
    { event: 'epoch', epoch: 2, loss: 4, ...workers[0], workers },
  );
  expect(epochs[0].workers).toEqual([]);
  expect(epochs[1].workers).toEqual(workers);
  expect(epochs[1].memory).toBe(100);
});
