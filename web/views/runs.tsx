/** All runs: state, best result, course. */
import { useState } from 'preact/hooks';
import type { ViewProps } from '../app.js';
import { duration, isLower, metric, moment } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import { bestOf, resultOf } from '../lib/run-results.js';
import type { RunSummary } from '../lib/types.js';
import { Empty } from '../parts/failure.js';
import { Sparkline } from '../parts/sparkline.js';

type Order = 'name' | 'started' | 'result' | 'seconds';

export function RunsView({ list }: ViewProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [order, setOrder] = useState<Order>('started');
  const [filter, setFilter] = useState('');
  if (list.runs.length === 0) return <NoRuns roots={list.roots} />;
  const wanted = filter.trim().toLowerCase();
  const shown = list.runs
    .filter(({ name, model, dataset }) => `${name} ${model} ${dataset}`.toLowerCase().includes(wanted))
    .sort(comparison(order));
  const best = bestOf(list.runs);
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  return (
    <>
      <div class="bar">
        <h1>Runs</h1>
        <input
          type="search"
          placeholder="Name, model or data"
          aria-label="Filter runs"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <a
          class={chosen.size < 2 ? 'button off' : 'button'}
          aria-disabled={chosen.size < 2}
          href={chosen.size < 2 ? undefined : linkTo('compare', '', { runs: [...chosen].join(',') })}
        >
          {chosen.size < 2 ? 'Choose two or more to compare' : `Compare ${chosen.size} runs`}
        </a>
      </div>
      <div class="scroll">
        <table class="runs">
          <thead>
            <tr>
              <th>
                <span class="hidden">Compare</span>
              </th>
              <Sorted order="name" now={order} set={setOrder} label="Run" />
              <th>State</th>
              <Sorted order="result" now={order} set={setOrder} label="Result" />
              <th>Validation</th>
              <th>Loss</th>
              <th>Model</th>
              <Sorted order="seconds" now={order} set={setOrder} label="Training" />
              <Sorted order="started" now={order} set={setOrder} label="Started" />
            </tr>
          </thead>
          <tbody>
            {shown.map((run) => (
              <RunRow
                key={run.name}
                run={run}
                isBest={best.has(run.name)}
                isChosen={chosen.has(run.name)}
                toggle={() => toggle(run.name)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 ? <p class="quiet">No run has "{filter}" in its name, model or data.</p> : null}
    </>
  );
}

interface SortedProps {
  readonly order: Order;
  readonly now: Order;
  readonly set: (order: Order) => void;
  readonly label: string;
}

function Sorted({ order, now, set, label }: SortedProps) {
  return (
    <th
      class={order === 'result' || order === 'seconds' ? 'number' : ''}
      aria-sort={order === now ? (order === 'name' ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="plain" onClick={() => set(order)}>
        {label}
        {order === now ? ' ↓' : ''}
      </button>
    </th>
  );
}

interface RunRowProps {
  readonly run: RunSummary;
  readonly isBest: boolean;
  readonly isChosen: boolean;
  readonly toggle: () => void;
}

function RunRow({ run, isBest, isChosen, toggle }: RunRowProps) {
  const { name, state, problem, model, dataset, course, metric: deciding } = run;
  if (problem !== null)
    return (
      <tr>
        <td />
        <th scope="row">{name}</th>
        <td colSpan={7} class="problem">
          {problem}
        </td>
      </tr>
    );
  const result = resultOf(run);
  return (
    <tr>
      <td>
        <input type="checkbox" aria-label={`Compare ${name}`} checked={isChosen} onChange={toggle} />
      </td>
      <th scope="row">
        <a href={linkTo('run', name)}>{name}</a>
        <small>{lastPart(dataset)}</small>
      </th>
      <td>
        <State run={run} />
      </td>
      <td class="number">
        {result === null ? (
          '–'
        ) : (
          <>
            {metric(result.value)} {isBest ? <span class="badge">best</span> : null}
            <small>
              {result.name} on {result.split}
              {result.split === 'test' && result.validation !== null
                ? `, ${metric(result.validation)} on validation`
                : ''}
            </small>
          </>
        )}
      </td>
      <td>
        <Sparkline
          values={course.validation}
          series={2}
          label={`${deciding ?? 'Metric'} of ${name} on validation by epoch`}
        />
        {deciding === null ? null : <small>{deciding}</small>}
      </td>
      <td>
        <Sparkline values={course.loss} label={`Loss of ${name} by epoch`} />
      </td>
      <td class="model" title={model}>
        <span>{model}</span>
      </td>
      <td class="number">{duration(run.seconds)}</td>
      <td>{state === 'training' && run.started === null ? 'just now' : moment(run.started)}</td>
    </tr>
  );
}

export function State({ run }: { readonly run: RunSummary }) {
  const { state, epochs, plannedEpochs } = run;
  const text = { finished: 'finished', training: 'training', stopped: 'stopped' }[state];
  return (
    <span class={`state ${state}`}>
      {text}
      <small>
        epoch {epochs} of {plannedEpochs}
      </small>
    </span>
  );
}

function comparison(order: Order): (a: RunSummary, b: RunSummary) => number {
  if (order === 'name') return (a, b) => a.name.localeCompare(b.name, 'en', { numeric: true });
  if (order === 'seconds') return (a, b) => b.seconds - a.seconds;
  if (order === 'started') return (a, b) => (b.started ?? '9').localeCompare(a.started ?? '9');
  const rankOf = (run: RunSummary): number => {
    const result = resultOf(run);
    if (result === null) return Number.NEGATIVE_INFINITY;
    return isLower(result.name) ? -result.value : result.value;
  };
  return (a, b) => rankOf(b) - rankOf(a);
}

const lastPart = (path: string): string => path.split('/').filter(Boolean).at(-1) ?? '';

/** Commands from a file of edges, one head, relation and tail on each line, to a run. */
const firstCommands = `skein preprocess --edges edges.tsv --output-directory facts --dataset-split 0.9 0.05 0.05
skein config facts > skein.yaml
skein train skein.yaml`;

function NoRuns({ roots }: { readonly roots: readonly string[] }) {
  return (
    <Empty title="No runs yet">
      <p>There is no run in {roots.join(', ')}. One appears here as soon as training begins:</p>
      <pre>{firstCommands}</pre>
      <p>
        Without data of your own, <code>skein demo</code> makes a run in some seconds.
      </p>
    </Empty>
  );
}
