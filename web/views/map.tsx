/** The map of a model's nodes: points of the plane, coloured by group or degree, with search, lasso and neighbours. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { picture, scatterChart } from '../../src/plot/index.js';
import type { ViewProps } from '../app.js';
import { modelPath, post, runPath, useLoad } from '../lib/api.js';
import { type Colouring, type DecodedMap, decodeMap } from '../lib/decode-map.js';
import { count } from '../lib/format.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import type { NamedMap, RankedName } from '../lib/types.js';
import { Failure } from '../parts/failure.js';
import { MapCanvas } from '../parts/map-canvas.js';
import { NameInput } from '../parts/name-input.js';
import { SaveButtons } from '../parts/save-buttons.js';

/** Names of a list; more are not read. */
const mostListed = 200;

export function MapView({ route }: ViewProps) {
  const method = route.options.get('method') === 'umap' ? 'umap' : 'pca';
  const { value, error, reload, isLoading } = useLoad<NamedMap>(
    `${runPath(route.run, 'map')}?method=${method}`,
  );
  const map = useMemo(() => (value === null ? null : decodeMap(value)), [value]);
  return (
    <>
      <div class="bar">
        <h1>Map of {route.run}</h1>
        <label>
          Layout{' '}
          <select value={method} onChange={(event) => replaceOptions({ method: event.currentTarget.value })}>
            <option value="pca">principal components</option>
            <option value="umap">UMAP</option>
          </select>
        </label>
      </div>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {map === null && isLoading ? (
        <p class="quiet">
          {method === 'umap' ? 'Laying out neighbours, which takes some seconds …' : 'Reading rows …'}
        </p>
      ) : null}
      {map === null ? null : <MapOf map={map} route={route} />}
    </>
  );
}

function MapOf({ map, route }: { readonly map: DecodedMap; readonly route: ViewProps['route'] }) {
  const chosen = route.options.get('node') ?? '';
  const wanted = route.options.get('colour');
  const colouring = map.colourings.find(({ key }) => key === wanted) ?? map.colourings[0];
  const [selected, setSelected] = useState<readonly number[]>([]);
  const [mode, setMode] = useState<'move' | 'lasso'>('move');
  const inView = useRef<(() => readonly number[]) | null>(null);
  const near = useLoad<RankedName[]>(
    chosen === '' || !map.placeOf.has(chosen) ? null : chosen,
    async (name, signal) => {
      const body = { names: [name], k: 15 };
      return (await post<{ answers: RankedName[][] }>(modelPath(route.run, 'neighbors'), body, signal))
        .answers[0];
    },
  );
  const neighbors = useMemo(
    () => (near.value ?? []).flatMap(({ name }) => map.placeOf.get(name) ?? []),
    [near.value, map],
  );
  const choose = (name: string): void => replaceOptions({ node: name });
  return (
    <div class="map">
      <div class="map-place">
        <MapCanvas
          {...{ map, colouring, mode, selected, neighbors }}
          chosen={map.placeOf.get(chosen) ?? -1}
          onChoose={(i) => choose(i < 0 ? '' : map.names[i])}
          onSelect={setSelected}
          inView={inView}
        />
        <Legend colouring={colouring} />
      </div>
      <aside>
        <NameInput run={route.run} of="nodes" label="Find a node" value={chosen} onChoose={choose} />
        <div class="controls">
          <label>
            Colour{' '}
            <select
              value={colouring.key}
              onChange={(event) => replaceOptions({ colour: event.currentTarget.value })}
            >
              {map.colourings.map(({ key, label }) => (
                <option key={key} value={key}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            aria-pressed={mode === 'lasso'}
            onClick={() => setMode(mode === 'lasso' ? 'move' : 'lasso')}
          >
            Lasso
          </button>
          <button type="button" onClick={() => setSelected(inView.current?.() ?? [])}>
            List what is in view
          </button>
          <SaveButtons title={`Map of ${route.run}`} draw={() => drawSvg(map, colouring, route.run)} />
        </div>
        <p class="quiet">{describeMap(map)}</p>
        {near.error === null ? null : <Failure error={near.error} />}
        {chosen === '' || near.value === null ? null : (
          <NameList
            title={`Nearest to ${chosen}`}
            names={near.value.map(({ name }) => name)}
            choose={choose}
            run={route.run}
          />
        )}
        {selected.length === 0 ? null : (
          <NameList
            title={`${count(selected.length)} nodes ${selected.length > mostListed ? `selected, the first ${mostListed}` : 'selected'}`}
            names={selected.slice(0, mostListed).map((i) => map.names[i])}
            {...{ choose, run: route.run }}
          />
        )}
      </aside>
    </div>
  );
}

function describeMap({ names, total, method, explained }: DecodedMap): string {
  const some =
    names.length < total ? `${count(names.length)} of ${count(total)} nodes` : `${count(total)} nodes`;
  const how =
    method === 'umap'
      ? 'Neighbours lie together; distances between groups mean little.'
      : `The plane keeps ${Math.round(100 * (explained ?? 0))} % of the variance.`;
  return `${some}. ${how} Drag to move, scroll to zoom, click a point for its neighbours.`;
}

interface NameListProps {
  readonly title: string;
  readonly names: readonly string[];
  readonly choose: (name: string) => void;
  readonly run: string;
}

function NameList({ title, names, choose, run }: NameListProps) {
  return (
    <section class="names">
      <h2>{title}</h2>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <button type="button" class="plain" onClick={() => choose(name)}>
              {name}
            </button>{' '}
            <a href={linkTo('explore', run, { node: name })} aria-label={`Explore ${name}`}>
              explore
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Legend({ colouring: { names, group } }: { readonly colouring: Colouring }) {
  return (
    <ul class="legend">
      {names.map((name, i) => (
        <li key={name}>
          <span class={`dot s${i}`} /> {name}
        </li>
      ))}
      {group.includes(-1) ? (
        <li>
          <span class="dot" /> others
        </li>
      ) : null}
    </ul>
  );
}

/** Points of a saved picture; more are slow to open and show no more. */
const mostDrawn = 5000;

function drawSvg(
  { names, x, y, method }: DecodedMap,
  { names: groups, group }: Colouring,
  run: string,
): string {
  const every = Math.ceil(names.length / mostDrawn);
  const points = Array.from({ length: Math.ceil(names.length / every) }, (_, k) => k * every).map((i) => ({
    ...{ x: x[i], y: y[i], name: names[i], group: group[i] < 0 ? null : group[i] },
    labelled: false,
  }));
  const title = `Map of ${run}`;
  const chart = scatterChart({ title: '', groups: [...groups], points });
  return picture([chart], {
    title,
    description: `Nodes by ${method === 'umap' ? 'UMAP' : 'principal components'}`,
    columns: 1,
  });
}
