/** The map of a model's nodes: points of the plane, coloured by group or degree, with search, lasso and neighbours. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { picture, scatterChart } from '../../src/plot/index.js';
import type { ViewProps } from '../app.js';
import { modelPath, post, runPath, useLoad } from '../lib/api.js';
import { count } from '../lib/format.js';
import { PointCanvas } from '../lib/points.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import { useDark } from '../lib/theme.js';
import type { NamedMap, RankedName } from '../lib/types.js';
import { Failure } from '../parts/failure.js';
import { NameInput } from '../parts/name-input.js';
import { SaveButtons } from '../parts/save-buttons.js';

/** A map whose numbers have been decoded. */
interface DecodedMap extends Omit<NamedMap, 'x' | 'y' | 'group' | 'degree'> {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly group: Int8Array;
  readonly degree: Int32Array;
  readonly placeOf: ReadonlyMap<string, number>;
}

export function MapView({ route }: ViewProps) {
  const method = route.options.get('method') === 'umap' ? 'umap' : 'pca';
  const { value, error, reload, isLoading } = useLoad<NamedMap>(
    `${runPath(route.run, 'map')}?method=${method}`,
  );
  const map = useMemo(() => (value === null ? null : decode(value)), [value]);
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

type Colouring = 'group' | 'degree';

function MapOf({ map, route }: { readonly map: DecodedMap; readonly route: ViewProps['route'] }) {
  const chosen = route.options.get('node') ?? '';
  const [colouring, setColouring] = useState<Colouring>(map.groups.length > 0 ? 'group' : 'degree');
  const [selected, setSelected] = useState<readonly number[]>([]);
  const [mode, setMode] = useState<'move' | 'lasso'>('move');
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
        <Canvas
          {...{ map, colouring, mode, selected, neighbors }}
          chosen={map.placeOf.get(chosen) ?? -1}
          onChoose={(i) => choose(i < 0 ? '' : map.names[i])}
          onSelect={setSelected}
        />
        <Legend map={map} colouring={colouring} />
      </div>
      <aside>
        <NameInput run={route.run} of="nodes" label="Find a node" value={chosen} onChoose={choose} />
        <div class="controls">
          <label>
            Colour{' '}
            <select
              value={colouring}
              onChange={(event) => setColouring(event.currentTarget.value as Colouring)}
            >
              {map.groups.length > 0 ? <option value="group">by {map.groupedBy}</option> : null}
              <option value="degree">by number of edges</option>
            </select>
          </label>
          <button
            type="button"
            aria-pressed={mode === 'lasso'}
            onClick={() => setMode(mode === 'lasso' ? 'move' : 'lasso')}
          >
            Lasso
          </button>
          <SaveButtons title={`Map of ${route.run}`} draw={() => drawSvg(map, route.run)} />
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
            title={`${count(selected.length)} nodes in the lasso`}
            names={selected.slice(0, 200).map((i) => map.names[i])}
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

function Legend({ map, colouring }: { readonly map: DecodedMap; readonly colouring: Colouring }) {
  const entries = colouring === 'group' ? map.groups : degreeNames(map.degree);
  return (
    <ul class="legend">
      {entries.map((name, i) => (
        <li key={name}>
          <span class={`dot s${i}`} />{' '}
          {colouring === 'group' && map.groupedBy === 'relation' ? `head of ${name}` : name}
        </li>
      ))}
      {colouring === 'group' && map.group.includes(-1) ? (
        <li>
          <span class="dot" /> others
        </li>
      ) : null}
    </ul>
  );
}

/** Returns the class of a degree: 0, 1, 2 to 3, 4 to 7, … of which the last has no end. */
const degreeClass = (degree: number): number =>
  Math.min(6, degree === 0 ? 0 : 1 + Math.floor(Math.log2(degree)));

function degreeNames(degree: Int32Array): string[] {
  const most = degreeClass(degree.reduce((largest, value) => Math.max(largest, value), 0));
  const names = ['no edge', '1 edge', '2 to 3', '4 to 7', '8 to 15', '16 to 31', '32 and more'];
  return names.slice(0, most + 1);
}

interface CanvasProps {
  readonly map: DecodedMap;
  readonly colouring: Colouring;
  readonly mode: 'move' | 'lasso';
  readonly chosen: number;
  readonly neighbors: readonly number[];
  readonly selected: readonly number[];
  readonly onChoose: (point: number) => void;
  readonly onSelect: (points: readonly number[]) => void;
}

function Canvas(props: CanvasProps) {
  const { map, colouring, chosen, neighbors, selected } = props;
  const element = useRef<HTMLCanvasElement>(null);
  const points = useRef<PointCanvas | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [hover, setHover] = useState<{
    readonly i: number;
    readonly left: number;
    readonly top: number;
  } | null>(null);
  const [lasso, setLasso] = useState<readonly (readonly [number, number])[]>([]);
  const dark = useDark();
  useEffect(() => {
    const canvas = element.current;
    if (canvas === null) return undefined;
    const color =
      colouring === 'group'
        ? Uint8Array.from(map.group, (group) => (group < 0 ? 255 : group))
        : Uint8Array.from(map.degree, degreeClass);
    try {
      points.current = new PointCanvas(canvas, { x: map.x, y: map.y, color });
    } catch (thrown) {
      setError(thrown as Error);
      return undefined;
    }
    const drawn = points.current;
    drawn.draw();
    const observer = new ResizeObserver(() => drawn.draw());
    observer.observe(canvas);
    return () => {
      observer.disconnect();
      drawn.close();
      points.current = null;
    };
  }, [map, colouring]);
  // The colours of the theme are read while drawing.
  useEffect(() => points.current?.draw(), [dark]);
  useEffect(() => {
    const marks = new Int8Array(map.x.length).fill(chosen >= 0 || selected.length > 0 ? -1 : 0);
    for (const i of selected) marks[i] = 1;
    for (const i of neighbors) marks[i] = 1;
    if (chosen >= 0) marks[chosen] = 2;
    points.current?.mark(marks);
  }, [map, colouring, chosen, neighbors, selected]);
  const handlers = usePointer({ ...props, points, setHover, lasso, setLasso });
  if (error !== null) return <Failure error={error} />;
  return (
    <div class="canvas">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: The canvas has keys of its own, which the role lets through. */}
      <canvas
        ref={element}
        tabIndex={0}
        role="application"
        aria-label="Map of nodes: arrows move it, plus and minus zoom, the field beside it finds nodes"
        {...handlers}
      />
      {lasso.length > 1 ? (
        <svg class="lasso" aria-hidden="true">
          <polygon points={lasso.map((one) => one.join(',')).join(' ')} />
        </svg>
      ) : null}
      {hover === null ? null : (
        <div class="hint" style={{ left: `${hover.left}px`, top: `${hover.top}px` }}>
          {map.names[hover.i]}
          <small>
            {map.group[hover.i] >= 0 ? `${map.groups[map.group[hover.i]]}, ` : ''}
            {count(map.degree[hover.i])} edges
          </small>
        </div>
      )}
    </div>
  );
}

interface PointerState extends CanvasProps {
  readonly points: { readonly current: PointCanvas | null };
  readonly setHover: (hover: { i: number; left: number; top: number } | null) => void;
  readonly lasso: readonly (readonly [number, number])[];
  readonly setLasso: (lasso: readonly (readonly [number, number])[]) => void;
}

/** Moves, zooms, chooses and selects with pointer, wheel and keys. */
function usePointer({ points, mode, onChoose, onSelect, setHover, lasso, setLasso }: PointerState) {
  const pressed = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const place = (event: { offsetX: number; offsetY: number }): [number, number] => [
    event.offsetX,
    event.offsetY,
  ];
  const zoom = (factor: number, [px, py]: readonly [number, number]): void => {
    const drawn = points.current;
    if (drawn === null) return;
    const at = drawn.toData(px, py);
    const { x, y, scale } = drawn.view;
    // The point below the pointer stays where it is.
    drawn.view = { x: at.x + (x - at.x) / factor, y: at.y + (y - at.y) / factor, scale: scale * factor };
  };
  const move = (dx: number, dy: number): void => {
    const drawn = points.current;
    if (drawn === null) return;
    const { x, y, scale } = drawn.view;
    drawn.view = { x: x - dx / scale, y: y + dy / scale, scale };
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      pressed.current = { x: event.offsetX, y: event.offsetY, moved: false };
      if (mode === 'lasso') setLasso([place(event)]);
    },
    onPointerMove: (event: PointerEvent) => {
      const from = pressed.current;
      if (from === null) {
        const i = points.current?.near(...place(event)) ?? -1;
        setHover(i < 0 ? null : { i, left: event.offsetX + 12, top: event.offsetY + 12 });
        return;
      }
      if (mode === 'lasso') {
        setLasso([...lasso, place(event)]);
        return;
      }
      const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
      if (from.moved || Math.hypot(dx, dy) > 3) {
        move(dx, dy);
        pressed.current = { x: event.offsetX, y: event.offsetY, moved: true };
      }
    },
    onPointerUp: (event: PointerEvent) => {
      const from = pressed.current;
      pressed.current = null;
      if (mode === 'lasso') {
        onSelect(lasso.length > 2 ? (points.current?.inside(lasso) ?? []) : []);
        setLasso([]);
      } else if (from !== null && !from.moved) onChoose(points.current?.near(...place(event)) ?? -1);
    },
    onPointerLeave: () => setHover(null),
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.0015), place(event));
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[
        event.key
      ];
      const drawn = points.current;
      if (drawn === null) return;
      if (step !== undefined) move(step[0], step[1]);
      else if (event.key === '+' || event.key === '=')
        drawn.view = { ...drawn.view, scale: drawn.view.scale * 1.25 };
      else if (event.key === '-') drawn.view = { ...drawn.view, scale: drawn.view.scale / 1.25 };
      else if (event.key === '0' || event.key === 'Home') drawn.view = drawn.whole();
      else if (event.key === 'Escape') onChoose(-1);
      else return;
      event.preventDefault();
    },
  };
}

function decode(map: NamedMap): DecodedMap {
  const bytes = (text: string): ArrayBuffer =>
    Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  return {
    ...map,
    x: new Float32Array(bytes(map.x)),
    y: new Float32Array(bytes(map.y)),
    group: new Int8Array(bytes(map.group)),
    degree: new Int32Array(bytes(map.degree)),
    placeOf: new Map(map.names.map((name, i) => [name, i])),
  };
}

/** Points of a saved picture; more are slow to open and show no more. */
const mostDrawn = 5000;

function drawSvg({ names, x, y, group, groups, method }: DecodedMap, run: string): string {
  const every = Math.ceil(names.length / mostDrawn);
  const points = Array.from({ length: Math.ceil(names.length / every) }, (_, k) => k * every).map((i) => ({
    ...{ x: x[i], y: y[i], name: names[i], group: group[i] < 0 ? null : group[i] },
    labelled: false,
  }));
  const title = `Map of ${run}`;
  const chart = scatterChart({ title, groups: [...groups], points });
  return picture([chart], {
    title,
    description: `Nodes by ${method === 'umap' ? 'UMAP' : 'principal components'}`,
    columns: 1,
  });
}
