/** One run: its result beside baselines, its curves, its configuration, its log. */
import { useMemo, useState } from 'preact/hooks';
import type { ViewProps } from '../app.js';
import { runPath, useLoad } from '../lib/api.js';
import { epochCurves, metricCurves, metricNames, stageCurves } from '../lib/curves.js';
import { count, duration, metric, moment, size } from '../lib/format.js';
import { useLiveRun } from '../lib/live-run.js';
import type { RunDetails } from '../lib/types.js';
import { Chart } from '../parts/chart.js';
import { CurveControls, type CurveSettings, settingsOf } from '../parts/curve-settings.js';
import { Empty, Failure } from '../parts/failure.js';
import { State } from './runs.js';

export function RunView({ route }: ViewProps) {
  const { value: run, error, reload, isLive } = useLiveRun(route.run);
  const settings = settingsOf(route);
  if (error !== null) return <Failure error={error} retry={reload} />;
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
        {isLive ? <span class="badge live">live</span> : null}
        <CurveControls {...settings} />
      </div>
      <Facts run={run} />
      <Results run={run} />
      <Curves run={run} settings={settings} />
      <Settings run={run} />
      <Log name={run.name} key={run.epochs} />
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
                    {metric(values[one])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {run.best === null ? null : (
        <p class="quiet">
          Best epoch on validation: {run.best.epoch}
          {run.best.metric === null ? '' : `, ${run.best.metric} ${metric(run.best.value)}`}.
        </p>
      )}
    </section>
  );
}

function Curves({ run, settings }: { readonly run: RunDetails; readonly settings: CurveSettings }) {
  const { smoothing, logX, logY } = settings;
  const [more, setMore] = useState(false);
  const charts = useMemo(() => {
    const runs = [{ name: 'training', curves: run.curves }];
    const names = metricNames(runs, run.metric);
    const validation = (name: string) =>
      metricCurves([{ name: 'validation', curves: run.curves }], name, smoothing).map((one) => ({
        ...one,
        series: 2,
      }));
    return {
      loss: epochCurves(runs, ({ loss }) => loss, smoothing),
      metrics: names
        .map((name) => ({ name, curves: validation(name) }))
        .filter(({ curves }) => curves.length > 0),
      rate: epochCurves([{ name: 'rate', curves: run.curves }], ({ rate }) => rate, smoothing),
      memory: epochCurves([{ name: 'memory', curves: run.curves }], ({ memory }) => memory, 0),
      stages: stageCurves(run.curves),
    };
  }, [run.curves, run.metric, smoothing]);
  if (charts.loss.length === 0 && charts.metrics.length === 0)
    return (
      <Empty title="No epoch yet">
        <p>Curves appear after the first epoch.</p>
      </Empty>
    );
  const shown = more ? charts.metrics : charts.metrics.slice(0, 3);
  return (
    <section>
      <h2>Curves</h2>
      <div class="charts">
        {charts.loss.length > 0 ? (
          <Chart title="Training loss" xLabel="epoch" curves={charts.loss} logX={logX} logY={logY} />
        ) : null}
        {shown.map(({ name, curves }) => (
          <Chart
            key={name}
            title={`${name} on validation`}
            xLabel="epoch"
            curves={curves}
            logX={logX}
            logY={logY}
          />
        ))}
        {charts.rate.length > 0 ? (
          <Chart title="Items a second" xLabel="epoch" curves={charts.rate} logX={logX} />
        ) : null}
        {charts.stages.length > 0 ? (
          <Chart
            title="Seconds of each stage"
            xLabel="epoch"
            curves={charts.stages}
            logX={logX}
            logY={logY}
          />
        ) : null}
        {charts.memory.length > 0 ? (
          <Chart
            title="Memory of the process"
            xLabel="epoch"
            curves={charts.memory}
            logX={logX}
            format={size}
          />
        ) : null}
      </div>
      {charts.metrics.length > 3 ? (
        <button type="button" onClick={() => setMore(!more)}>
          {more ? 'Fewer metrics' : `All ${charts.metrics.length} metrics`}
        </button>
      ) : null}
    </section>
  );
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

function Log({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false);
  const { value, error } = useLoad<{ text: string; isWhole: boolean }>(isOpen ? runPath(name, 'log') : null);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Log</summary>
      {error === null ? null : <Failure error={error} />}
      {value === null ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable with the keyboard.
        <pre class="log" tabIndex={0}>
          {value.isWhole ? '' : '… earlier lines are in log.txt\n'}
          {value.text === '' ? 'The run has no log.' : value.text}
        </pre>
      )}
    </details>
  );
}
