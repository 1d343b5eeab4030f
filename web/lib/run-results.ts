/** The result of a run that a list shows, and the best run by it. */
import { isCount } from '../../src/util/metric-names.js';
import { isLower } from './format.js';
import type { RunSummary } from './types.js';

export interface RunResult {
  readonly name: string;
  readonly split: 'test' | 'validation';
  readonly value: number;
  /** The metric on validation, by which runs are chosen; null without that split. */
  readonly validation: number | null;
}

/** Returns the deciding metric on the test split, before its end on validation. */
export function resultOf({ metric: deciding, metrics, best }: RunSummary): RunResult | null {
  for (const split of ['test', 'validation'] as const) {
    const values = metrics[split] ?? {};
    // A loss decides about epochs, but tells a reader less than an accuracy.
    const name = isPlain(deciding) ? Object.keys(values).find((one) => !isPlain(one)) : deciding;
    if (name !== null && name !== undefined && values[name] !== undefined)
      return { name, split, value: values[name], validation: metrics['validation']?.[name] ?? null };
  }
  return deciding === null || best === null
    ? null
    : { name: deciding, split: 'validation', value: best.value, validation: best.value };
}

const isPlain = (name: string | null): boolean => name === null || name === 'loss' || isCount(name);

/**
 * Returns, of the runs with the same data, metric and split, those with the best value; alone a run is not the best. Validation
 * decides where there is one: a run that is chosen by its test split has been fitted to it.
 */
export function bestOf(runs: readonly RunSummary[]): ReadonlySet<string> {
  const groups = new Map<string, { readonly run: string; readonly value: number }[]>();
  for (const run of runs) {
    const result = resultOf(run);
    if (result === null) continue;
    const split = result.validation === null ? result.split : 'validation';
    const key = `${run.task} ${run.dataset} ${result.name} ${split}`;
    groups.set(key, [
      ...(groups.get(key) ?? []),
      { run: run.name, value: result.validation ?? result.value },
    ]);
  }
  const found = [...groups].filter(([, group]) => group.length > 1);
  return new Set(
    found.map(([key, group]) => {
      const sign = isLower(key.split(' ').at(-2) ?? '') ? -1 : 1;
      return group.reduce((best, one) => (sign * one.value > sign * best.value ? one : best)).run;
    }),
  );
}
