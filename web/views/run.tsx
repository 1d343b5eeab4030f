/** One run: its result and baselines, its curves, its configuration, its log. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Curve } from '../../src/plot/index.js';
import type { ViewProps } from '../app.js';
import { runPath, useLoad } from '../lib/api.js';
import { epochCurves, metricCurves, metricNames, stageCurves, workerCurves } from '../lib/curves.js';
import { count, duration, metric, moment, namedMetric, size } from '../lib/format.js';
import { useLiveRun } from '../lib/live-run.js';
import type { RunDetails } from '../lib/types.js';
import { BufferPicture } from '../parts/buffer-picture.js';
import { Chart } from '../parts/chart.js';
import { CurveControls, type CurveSettings, settingsOf } from '../parts/curve-settings.js';
import { Empty, Failure } from '../parts/failure.js';
import { State } from './runs.js';

export function RunView({ route }: ViewProps) {
  const { value: run, error, reload, isLive, buffer } = useLiveRun(route.run);
  const settings = settingsOf(route);
  if (run === null && error !== null) return <Failure error={error} retry={reload} />;
  if (run === null) return <p class="quiet">Reading {route.run} …</p>;
  if (run.problem !== null)
    return (
      <Empty title={`${run.name} cannot be read`}>
        <p>{run.problem}</p>
      </Empty>
    );
  return (
    <>
      <div class="bar">
        <h1>{run.name}</h1>
        <State run={run} />
        {isLive && run.state === 'training' ? <span class="badge live">live</span> : null}
        <CurveControls {...settings} />
      </div>
      <Facts run={run} />
      <Results run={run} />
      {buffer === null ? null : <BufferPicture record={buffer} run={run.name} isLive={isLive} />}
      <Curves run={run} settings={settings} />
      <Settings run={run} />
      <Log name={run.name} epochs={run.epochs} />
    </>
  );
}

function Facts({ run }: { readonly run: RunDetails }) {
  const last = run.curves.epochs.at(-1);
  const facts: readonly (readonly [string, string])[] = [
    ['Model', run.model],
    ['Data', run.dataset],
    ['Training', `${duration(run.seconds)}, ${run.epochs} of ${run.plannedEpochs} epochs`],
    ['Started', moment(run.started)],
    ...(last === undefined || !Number.isFinite(last.rate)
      ? []
      : [['Rate', `${count(Math.round(last.rate))} a second`] as const]),
    ...(last === undefined || !Number.isFinite(last.memory) ? [] : [['Memory', size(last.memory)] as const]),
    ['Folder', run.path],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Results({ run }: { readonly run: RunDetails }) {
  const splits = Object.entries(run.metrics);
  if (splits.length === 0)
    return (
      <p class="quiet">No evaluation yet. The first follows after an epoch of evaluation.epochs_per_eval.</p>
    );
  const names = [...new Set(splits.flatMap(([, values]) => Object.keys(values)))];
  const rows = [
    ...splits.map(([name, values]) => ({ name, values, isBaseline: false })),
    ...run.baselines.map(({ name, metrics }) => ({ name, values: metrics, isBaseline: true })),
  ];
  return (
    <section>
      <h2>Results</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th />
              {names.map((name) => (
                <th key={name} class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, values, isBaseline }) => (
              <tr key={name} class={isBaseline ? 'quiet' : ''}>
                <th scope="row">{isBaseline ? `baseline: ${name}` : name}</th>
                {names.map((one) => (
                  <td key={one} class="number">
                    {namedMetric(one, values[one])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Candidates run={run} />
      {run.best === null ? null : (
        <p class="quiet">
          Best epoch on validation: {run.best.epoch}
          {run.best.metric === null ? '' : `, ${run.best.metric} ${metric(run.best.value)}`}.
        </p>
      )}
    </section>
  );
}

/** Says among how many destinations events are ranked: with few, every model looks good. */
function Candidates({ run }: { readonly run: RunDetails }) {
  const { settings } = run;
  const negatives = settings['evaluation.negatives'];
  if (run.task !== 'TEMPORAL_LINK_PREDICTION' || negatives === undefined) return null;
  const amount = Number(settings['evaluation.amount']);
  const all = negatives === 'all' || negatives === 'file' || (negatives === 'tgb' && !(amount > 0));
  if (all) return null;
  const count = Math.max(1, amount);
  return (
    <p class="quiet">
      mrr and hits@k rank the true destination among {count} sampled {count === 1 ? 'one' : 'ones'}: at random
      mrr would be {metric(randomMrr(count))}. evaluation.negatives: all ranks it among all destinations.
    </p>
  );
}

/** The mean of 1/rank over the ranks 1 … negatives + 1. */
function randomMrr(negatives: number): number {
  let sum = 0;
  for (let rank = 1; rank <= negatives + 1; rank++) sum += 1 / rank;
  return sum / (negatives + 1);
}

/** A chart, if it has curves. */
interface CourseChart {
  readonly title: string;
  readonly curves: Curve[];
  readonly logY?: boolean;
  readonly format?: (value: number) => string;
}

/** Metrics of validation that are shown before more are wanted. */
const fewMetrics = 3;

function chartsOf(run: RunDetails, smoothing: number): { course: CourseChart[]; metrics: CourseChart[] } {
  const { curves, metric: deciding, buffer } = run;
  const named = (name: string) => [{ name, curves }];
  const metrics = metricNames(named(''), deciding).map((name) => ({
    title: `${name} on validation`,
    curves: metricCurves(named('validation'), name, smoothing).map((one) => ({ ...one, series: 2 })),
  }));
  const workers = workerCurves(curves, ({ memory }) => memory);
  const memory = workers.length > 0 ? workers : epochCurves(named('memory'), (one) => one.memory, 0);
  const busy = workerCurves(curves, ({ stages }) => (stages['compute'] ?? 0) + (stages['load'] ?? 0));
  const isShown = (chart: CourseChart): boolean => chart.curves.length > 0;
  return {
    metrics: metrics.filter(isShown),
    course: [
      { title: 'Training loss', curves: epochCurves(named('training'), ({ loss }) => loss, smoothing) },
      {
        title: 'Items a second',
        curves: epochCurves(named('rate'), ({ rate }) => rate, smoothing),
        logY: false,
      },
      { title: 'Seconds of each stage', curves: stageCurves(curves) },
      {
        title: workers.length > 0 ? 'Memory of each worker' : 'Memory of the process',
        curves: withBudget(memory, buffer?.memory.budget ?? null),
        ...{ logY: false, format: size },
      },
      { title: 'Seconds of loading and computing, by worker', curves: busy },
    ].filter(isShown),
  };
}

function Curves({ run, settings }: { readonly run: RunDetails; readonly settings: CurveSettings }) {
  const { smoothing, logX, logY } = settings;
  const [more, setMore] = useState(false);
  const { course, metrics } = useMemo(() => chartsOf(run, smoothing), [run, smoothing]);
  if (course.length === 0 && metrics.length === 0)
    return (
      <Empty title="No epoch yet">
        <p>Curves appear after the first epoch.</p>
      </Empty>
    );
  const [loss, ...others] = course;
  const shown = [loss, ...(more ? metrics : metrics.slice(0, fewMetrics)), ...others];
  return (
    <section>
      <h2>Curves</h2>
      <div class="charts">
        {shown.map((chart) =>
          chart === undefined ? null : (
            <Chart key={chart.title} xLabel="epoch" {...{ logX, logY }} {...chart} />
          ),
        )}
      </div>
      {metrics.length > fewMetrics ? (
        <button type="button" onClick={() => setMore(!more)}>
          {more ? 'Fewer metrics' : `All ${metrics.length} metrics`}
        </button>
      ) : null}
    </section>
  );
}

/** Adds the memory budget as a dashed line. */
function withBudget(curves: Curve[], budget: number | null): Curve[] {
  if (budget === null || curves.length === 0) return curves;
  const [{ x }] = curves;
  return [...curves, { name: 'budget', x, y: x.map(() => budget), series: 6, dashed: true }];
}

function Settings({ run }: { readonly run: RunDetails }) {
  const entries = Object.entries(run.settings);
  return (
    <details>
      <summary>Configuration ({entries.length} keys)</summary>
      <div class="scroll">
        <table class="settings">
          <tbody>
            {entries.map(([key, value]) => (
              <tr key={key}>
                <th scope="row">{key}</th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

interface RunLog {
  readonly text: string;
  readonly isWhole: boolean;
  /** Why it cannot be shown. */
  readonly problem: string | null;
}

function Log({ name, epochs }: { readonly name: string; readonly epochs: number }) {
  const [isOpen, setOpen] = useState(false);
  const { value, error, reload } = useLoad<RunLog>(isOpen ? runPath(name, 'log') : null);
  // Each epoch adds lines. The text stays on the page while it is read again.
  useEffect(reload, [epochs, reload]);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Log</summary>
      {error === null ? null : <Failure error={error} />}
      {value === null ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable with the keyboard.
        <pre class="log" tabIndex={0}>
          {value.isWhole ? '' : '… earlier lines are in log.txt\n'}
          {value.text === '' ? (value.problem ?? 'The run has no log.') : value.text}
        </pre>
      )}
    </details>
  );
}
