/** Several runs: curves in one picture, results side by side, and the keys in which their configurations differ. */
import { useMemo } from 'preact/hooks';
import { isCount } from '../../src/util/metric-names.js';
import type { ViewProps } from '../app.js';
import { get, runPath, useLoad } from '../lib/api.js';
import { epochCurves, metricCurves, metricNames } from '../lib/curves.js';
import { isLower, namedMetric } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type { RunDetails } from '../lib/types.js';
import { Chart } from '../parts/chart.js';
import { CurveControls, settingsOf } from '../parts/curve-settings.js';
import { Empty, Failure } from '../parts/failure.js';

export function CompareView({ route }: ViewProps) {
  const names = (route.options.get('runs') ?? '').split(',').filter(Boolean);
  const key = names.length < 2 ? null : names.join(',');
  const {
    value: runs,
    error,
    reload,
  } = useLoad<RunDetails[]>(key, (_, signal) =>
    Promise.all(
      names.map((name) => get<RunDetails>(`${runPath(name)}?points=${pointsOf(names.length)}`, signal)),
    ),
  );
  if (key === null)
    return (
      <Empty title="Nothing to compare">
        <p>
          Choose two or more runs in the <a href={linkTo('runs')}>list</a>.
        </p>
      </Empty>
    );
  if (runs === null && error !== null) return <Failure error={error} retry={reload} />;
  if (runs === null) return <p class="quiet">Reading {names.length} runs …</p>;
  return <Comparison runs={runs} route={route} />;
}

/** Many curves share a chart, whose width has room for only so many points of each. */
const pointsOf = (runs: number): number => Math.max(200, Math.floor(8000 / runs));

function Comparison({
  runs,
  route,
}: {
  readonly runs: readonly RunDetails[];
  readonly route: ViewProps['route'];
}) {
  const settings = settingsOf(route);
  const { smoothing, logX, logY } = settings;
  const charts = useMemo(() => {
    const metrics = metricNames(runs, runs[0].metric).slice(0, 6);
    return [
      { title: 'Training loss', curves: epochCurves(runs, ({ loss }) => loss, smoothing) },
      ...metrics.map((name) => ({
        title: `${name} on validation`,
        curves: metricCurves(runs, name, smoothing),
      })),
      { title: 'Items a second', curves: epochCurves(runs, ({ rate }) => rate, smoothing) },
    ].filter(({ curves }) => curves.length > 0);
  }, [runs, smoothing]);
  return (
    <>
      <div class="bar">
        <h1>{runs.length} runs</h1>
        <CurveControls {...settings} />
      </div>
      <section>
        <div class="charts">
          {charts.map(({ title, curves }) => (
            <Chart key={title} title={title} xLabel="epoch" curves={curves} logX={logX} logY={logY} />
          ))}
        </div>
      </section>
      <div class="columns wide">
        <Results runs={runs} />
        <Differences runs={runs} />
      </div>
    </>
  );
}

/** Runs of which this is equal have figures that can be compared. */
const comparedBy = ({ task, dataset }: RunDetails): string => `${task} ${dataset}`;

/** Returns the positions of the best values, each among the comparable runs; of a single one there is none. */
function bestOf(
  runs: readonly RunDetails[],
  values: readonly number[],
  isLowerBetter: boolean,
): ReadonlySet<number> {
  const best = new Set<number>();
  for (const group of new Set(runs.map(comparedBy))) {
    const known = runs.flatMap((run, i) =>
      comparedBy(run) === group && !Number.isNaN(values[i]) ? [i] : [],
    );
    if (known.length < 2) continue;
    const some = known.map((i) => values[i]);
    const wanted = isLowerBetter ? Math.min(...some) : Math.max(...some);
    for (const i of known) if (values[i] === wanted) best.add(i);
  }
  return best;
}

function Results({ runs }: { readonly runs: readonly RunDetails[] }) {
  const rows = ['test', 'validation']
    .flatMap((split) => {
      const names = new Set(runs.flatMap(({ metrics }) => Object.keys(metrics[split] ?? {})));
      return [...names].map((name) => ({
        split,
        name,
        values: runs.map(({ metrics }) => metrics[split]?.[name] ?? Number.NaN),
      }));
    })
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>Results</h2>
      {new Set(runs.map(comparedBy)).size === 1 ? null : (
        <p class="quiet">
          These figures are not comparable across all runs: their tasks or data differ. The best one is marked
          only among runs of the same task and data.
        </p>
      )}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th />
              {runs.map(({ name }, i) => (
                <th key={name} class="number">
                  <span class={`dot s${i % 8}`} /> <a href={linkTo('run', name)}>{name}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ split, name, values }) => {
              const best = isCount(name) ? new Set<number>() : bestOf(runs, values, isLower(name));
              return (
                <tr key={`${split} ${name}`}>
                  <th scope="row">
                    {name} <small>{split}</small>
                  </th>
                  {values.map((value, i) => (
                    <td key={runs[i].name} class={best.has(i) ? 'number best' : 'number'}>
                      {namedMetric(name, value)}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Returns a value of a configuration as it is shown: an empty one says as little as one that is absent. */
const shown = (value: string | undefined): string =>
  value === undefined || value === '' || value === 'null' ? '–' : value;

function Differences({ runs }: { readonly runs: readonly RunDetails[] }) {
  const keys = [...new Set(runs.flatMap(({ settings }) => Object.keys(settings)))];
  const rows = keys.flatMap((key) => {
    const values = runs.map(({ settings }) => shown(settings[key]));
    return new Set(values).size > 1 ? [{ key, values }] : [];
  });
  return (
    <section>
      <h2>Differences of the configurations</h2>
      {rows.length === 0 ? (
        <p class="quiet">The configurations are the same.</p>
      ) : (
        <div class="scroll">
          <table class="settings">
            <thead>
              <tr>
                <th />
                {runs.map(({ name }, i) => (
                  <th key={name}>
                    <span class={`dot s${i % 8}`} /> {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ key, values }) => (
                <tr key={key}>
                  <th scope="row">{key}</th>
                  {values.map((value, i) => (
                    <td key={runs[i].name}>{value}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
