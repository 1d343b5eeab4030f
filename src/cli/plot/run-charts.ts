/** Charts of what a run recorded: losses and metrics over epochs. */
import { type Curve, lineChart, type Panel, smooth } from '../../plot/index.js';
import type { RunCurves } from '../../train/run/run-curves.js';
import { ValueError } from '../../util/errors.js';

export interface NamedRun {
  readonly name: string;
  readonly curves: RunCurves;
}

export interface CurveOptions {
  /** Metrics to draw; empty: one that most users look at first. */
  readonly metrics: readonly string[];
  readonly logX: boolean;
  readonly logY: boolean;
  /** Weight of the moving average of the loss, 0 to 1. */
  readonly smooth: number;
}

/** Metrics that are drawn without being asked for; the first that all runs have. */
const usual = ['mrr', 'accuracy', 'ap', 'recall@10', 'auc'];

/** Returns a chart of the loss and one for each metric; runs share colours between charts. */
export function curveCharts(runs: readonly NamedRun[], options: CurveOptions): Panel[] {
  const names = options.metrics.length > 0 ? options.metrics : usualMetric(runs);
  for (const name of names) checkMetric(runs, name);
  const axes = { x: 'epoch', wholeX: true, logX: options.logX };
  const losses = runs.flatMap(({ name, curves: { epochs } }, series): Curve[] => {
    const x = epochs.map(({ epoch }) => epoch);
    const y = epochs.map(({ loss }) => loss);
    return epochs.length === 0
      ? []
      : [{ name, series, x, y: options.smooth > 0 ? smooth(y, options.smooth) : y }];
  });
  const charts =
    losses.length === 0
      ? []
      : [
          lineChart({
            ...axes,
            title: 'Training loss',
            y: 'loss',
            logY: options.logY,
            curves: losses,
            legend: runs.length > 1,
          }),
        ];
  for (const metric of names)
    charts.push(
      lineChart({
        ...axes,
        title: `${metric} on validation`,
        y: metric,
        legend: runs.length > 1,
        curves: runs.map(({ name, curves: { evaluations } }, series) => {
          const points = evaluations.filter(({ set, metrics }) => set === 'validation' && metric in metrics);
          return {
            name,
            series,
            x: points.map(({ epoch }) => epoch),
            y: points.map(({ metrics }) => metrics[metric]),
          };
        }),
      }),
    );
  return charts;
}

function metricsOf(runs: readonly NamedRun[]): string[] {
  const all = runs.flatMap(({ curves }) =>
    curves.evaluations.flatMap(({ set, metrics }) => (set === 'validation' ? Object.keys(metrics) : [])),
  );
  return [...new Set(all)];
}

function usualMetric(runs: readonly NamedRun[]): string[] {
  const known = metricsOf(runs);
  const first = usual.find((name) => known.includes(name)) ?? known[0];
  return first === undefined ? [] : [first];
}

function checkMetric(runs: readonly NamedRun[], name: string): void {
  const known = metricsOf(runs);
  if (known.includes(name)) return;
  throw new ValueError(
    `plot: expected a metric of validation for --metric, got ${name}. ${known.length === 0 ? 'The runs have none; leave it out.' : `There are ${known.join(', ')}.`}`,
  );
}
