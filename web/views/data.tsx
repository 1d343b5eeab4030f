/** The data of a run: sizes, degrees, relations, classes, components, and what is unusual. */
import type { ViewProps } from '../app.js';
import { runPath, useLoad } from '../lib/api.js';
import { count, eventTime, isUnixTime } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type { EventFacts, GraphFacts } from '../lib/types.js';
import { Bars } from '../parts/bars.js';
import { Chart } from '../parts/chart.js';
import { Failure } from '../parts/failure.js';

type Facts = ({ readonly kind: 'links' | 'nodes' } & GraphFacts) | ({ readonly kind: 'events' } & EventFacts);

export function FactsView({ route }: ViewProps) {
  const { value: facts, error, reload } = useLoad<Facts>(runPath(route.run, 'data'));
  return (
    <>
      <div class="bar">
        <h1>Data of {route.run}</h1>
      </div>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {facts === null && error === null ? <p class="quiet">Counting …</p> : null}
      {facts === null ? null : facts.kind === 'events' ? (
        <EventData facts={facts} run={route.run} />
      ) : (
        <GraphData facts={facts} run={route.run} />
      )}
    </>
  );
}

function Numbers({ values }: { readonly values: readonly (readonly [string, number | string])[] }) {
  return (
    <dl class="numbers">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'number' ? count(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Degrees({ curves }: { readonly curves: GraphFacts['degrees'] }) {
  return (
    <Chart
      title="Degrees: share of nodes with at least so many edges"
      xLabel="edges"
      curves={curves.map(({ name, degrees, shares }) => ({ name, x: [...degrees], y: [...shares] }))}
      logX
      logY
    />
  );
}

function Hubs({ run, hubs }: { readonly run: string; readonly hubs: GraphFacts['hubs'] }) {
  return (
    <Bars
      title="Nodes with the most edges"
      rows={hubs.map(({ name, edges }) => ({
        name,
        value: edges,
        href: linkTo('explore', run, { node: name }),
      }))}
    />
  );
}

function GraphData({ facts, run }: { readonly facts: GraphFacts; readonly run: string }) {
  const { nodes, edges, components, nodeSplits, features } = facts;
  return (
    <>
      <Numbers
        values={[
          ['nodes', nodes],
          ...Object.entries(edges).map(([split, value]) => [`edges, ${split}`, value] as const),
          ...Object.entries(nodeSplits ?? {}).map(([split, value]) => [`nodes, ${split}`, value] as const),
          ...(facts.relations.length > 0 ? [['relations', facts.relations.length] as const] : []),
          ...(features > 0 ? [['features', features] as const] : []),
          ...(facts.unlabelled > 0 ? [['nodes without a class', facts.unlabelled] as const] : []),
          ['components', components.count],
          ['self loops', facts.selfLoops],
          ['repeated edges', facts.duplicates],
        ]}
      />
      <section>
        <h2>What is unusual</h2>
        {facts.notes.length === 0 ? (
          <p class="quiet">
            Nothing: no isolated nodes, no repeated edges, no unseen nodes, no dominant hub.
          </p>
        ) : (
          <ul>
            {facts.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </section>
      <div class="charts">
        <Degrees curves={facts.degrees} />
        <Hubs run={run} hubs={facts.hubs} />
        {facts.relations.length > 0 ? (
          <Bars
            title="Edges of each relation"
            rows={facts.relations.map(({ name, edges: value }) => ({ name, value }))}
          />
        ) : null}
        {facts.types.length > 0 ? (
          <Bars
            title="Nodes of each type"
            rows={facts.types.map(({ name, nodes: value }) => ({ name, value }))}
          />
        ) : null}
        <Columns columns={facts.columns} />
        {facts.classes.length > 0 ? (
          <Bars
            title="Nodes of each class"
            rows={facts.classes.map(({ name, nodes: value }) => ({ name, value }))}
          />
        ) : null}
      </div>
    </>
  );
}

/** The columns of the node table, with their missing values. */
function Columns({ columns }: { readonly columns: GraphFacts['columns'] }) {
  if (columns.length === 0) return null;
  return (
    <figure class="bars">
      <figcaption>Columns of the node table</figcaption>
      <table>
        <thead>
          <tr>
            <th>column</th>
            <th>kind</th>
            <th class="number">missing</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, kind, values, missing }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{values === null ? kind : `${kind}, ${count(values)} values`}</td>
              <td class={missing > 0 ? 'number problem' : 'number'}>{count(missing)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function EventData({ facts, run }: { readonly facts: EventFacts; readonly run: string }) {
  const { first, last, histogram } = facts;
  const width = (last - first) / histogram.length;
  return (
    <>
      <Numbers
        values={[
          ['events', facts.events],
          ['nodes', facts.nodes],
          ['sources', facts.sources],
          ['destinations', facts.destinations],
          ['repeated pairs', `${(100 * facts.repeated).toFixed(1)} %`],
          ['from', eventTime(first)],
          ['to', eventTime(last)],
        ]}
      />
      {facts.notes.length === 0 ? null : (
        <section>
          <h2>What stands out</h2>
          <ul>
            {facts.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </section>
      )}
      <div class="charts">
        <Chart
          title="Events over time"
          xLabel="time"
          isTime={isUnixTime(first) && isUnixTime(last)}
          curves={[
            { name: 'events', x: histogram.map((_, i) => first + (i + 0.5) * width), y: [...histogram] },
          ]}
        />
        <Degrees curves={facts.degrees} />
        <Hubs run={run} hubs={facts.hubs} />
      </div>
    </>
  );
}
