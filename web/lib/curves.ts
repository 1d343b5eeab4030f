/** Curves of runs, as charts take them. */
import type { Curve } from '../../src/plot/index.js';
import { smooth } from '../../src/plot/index.js';
import { isCount } from '../../src/util/metric-names.js';
import type { EpochPoint, RunCurves } from './types.js';

type WorkerPoint = EpochPoint['workers'][number];

export interface NamedCurves {
  readonly name: string;
  readonly curves: RunCurves;
}

/** Returns a curve of a number of each epoch for each run; runs without any are left out. */
export function epochCurves(
  runs: readonly NamedCurves[],
  pick: (point: EpochPoint) => number,
  smoothing: number,
): Curve[] {
  return runs.flatMap(({ name, curves }, series) => {
    const points = curves.epochs.filter((point) => Number.isFinite(pick(point)));
    if (points.length === 0) return [];
    const y = points.map(pick);
    return [
      { name, series, x: points.map(({ epoch }) => epoch), y: smoothing > 0 ? smooth(y, smoothing) : y },
    ];
  });
}

/** Returns a curve of a metric on validation for each run. */
export function metricCurves(runs: readonly NamedCurves[], metric: string, smoothing: number): Curve[] {
  return runs.flatMap(({ name, curves }, series) => {
    const points = curves.evaluations.filter(
      ({ set, metrics }) => set === 'validation' && Number.isFinite(metrics[metric]),
    );
    if (points.length === 0) return [];
    const y = points.map(({ metrics }) => metrics[metric]);
    return [
      { name, series, x: points.map(({ epoch }) => epoch), y: smoothing > 0 ? smooth(y, smoothing) : y },
    ];
  });
}

/** Returns the names of the metrics on validation, the deciding one first; numbers of items are none. */
export function metricNames(runs: readonly NamedCurves[], first: string | null): string[] {
  const names = new Set<string>(first === null ? [] : [first]);
  for (const { curves } of runs)
    for (const { set, metrics } of curves.evaluations)
      if (set === 'validation') for (const name of Object.keys(metrics)) names.add(name);
  return [...names].filter((name) => !isCount(name));
}

/** Returns a curve of a number of each worker, by rank; none for a run on one worker. */
export function workerCurves({ epochs }: RunCurves, pick: (worker: WorkerPoint) => number): Curve[] {
  const size = Math.max(0, ...epochs.map(({ workers }) => workers.length));
  return Array.from({ length: size }, (_, rank) => {
    const points = epochs.filter(({ workers }) => workers.length > rank);
    return {
      ...{ name: `worker ${rank}`, series: rank, x: points.map(({ epoch }) => epoch) },
      y: points.map(({ workers }) => pick(workers[rank])),
    };
  });
}

/** Returns a curve for each stage of an epoch, in seconds. */
export function stageCurves({ epochs }: RunCurves): Curve[] {
  const names = new Set(epochs.flatMap(({ stages }) => Object.keys(stages)));
  return [...names].map((name, series) => ({
    ...{ name, series },
    x: epochs.map(({ epoch }) => epoch),
    y: epochs.map(({ stages }) => stages[name] ?? 0),
  }));
}
