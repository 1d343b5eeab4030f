/** The result of a run in the list, and the best run by the result that is shown. */
import { expect, it } from 'vitest';
import { bestOf, resultOf } from '../../web/lib/run-results.js';
import type { RunSummary } from '../../web/lib/types.js';

function run(name: string, fields: Partial<RunSummary>): RunSummary {
  return {
    ...{ name, path: name, state: 'finished', task: 'nodes', model: 'GNN', dataset: 'data/a b' },
    ...{ epochs: 2, plannedEpochs: 2, started: null, seconds: 1, metric: 'loss', best: null },
    ...{ metrics: {}, baselines: {}, course: { loss: [], validation: [] }, problem: null },
    ...fields,
  } as RunSummary;
}

it('shows the accuracy of a node model, and compares runs by it, not by the loss', () => {
  const sure = run('sure', { metrics: { test: { loss: 0.2, accuracy: 0.8 } } });
  const right = run('right', { metrics: { test: { loss: 0.9, accuracy: 0.95 } } });
  expect(resultOf(right)).toEqual({ name: 'accuracy', split: 'test', value: 0.95, validation: null });
  expect([...bestOf([sure, right])]).toEqual(['right']);
});

it('compares errors by the lowest value, and only runs with the same data and metric', () => {
  const fields = (rmse: number): Partial<RunSummary> => ({ metric: 'rmse', metrics: { test: { rmse } } });
  const other = run('other', { ...fields(0.1), dataset: 'elsewhere' });
  expect([...bestOf([run('high', fields(3)), run('low', fields(2)), other])]).toEqual(['low']);
});

it('shows what decides about epochs before other metrics are known', () => {
  const best = { epoch: 1, value: 0.7 } as RunSummary['best'];
  expect(resultOf(run('begun', { best }))).toEqual({
    name: 'loss',
    split: 'validation',
    value: 0.7,
    validation: 0.7,
  });
  expect(resultOf(run('new', { metric: null }))).toBeNull();
});
