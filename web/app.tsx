/** The frame of the page: navigation, the choice of a run, and the view that the address names. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { get, type Loaded, useLoad } from './lib/api.js';
import { linkTo, type Route, useRoute } from './lib/router.js';
import type { RunList } from './lib/types.js';
import { Empty, Failure } from './parts/failure.js';
import { AskView } from './views/ask.js';
import { CompareView } from './views/compare.js';
import { FactsView } from './views/data.js';
import { ExploreView } from './views/explore.js';
import { MapView } from './views/map.js';
import { RunView } from './views/run.js';
import { RunsView } from './views/runs.js';
import { StreamView } from './views/stream.js';

export interface ViewProps {
  readonly route: Route;
  readonly list: RunList;
  readonly reload: () => void;
}

const views: Readonly<Record<string, ComponentType<ViewProps>>> = {
  ...{ runs: RunsView, compare: CompareView, run: RunView, map: MapView, explore: ExploreView },
  ...{ ask: AskView, data: FactsView, stream: StreamView },
};

/** Views of one run, in the order of the navigation. */
const ofRun = [
  ['run', 'Curves'],
  ['map', 'Map'],
  ['explore', 'Explore'],
  ['ask', 'Ask'],
  ['data', 'Data'],
  ['stream', 'Stream'],
] as const;

export function App() {
  const route = useRoute();
  const loaded = useLoad<RunList>('./runs', get);
  const { value: list, error } = loaded;
  const isUnknown = list !== null && route.run !== '' && list.runs.every(({ name }) => name !== route.run);
  useRefresh(loaded, route.view === 'runs', isUnknown);
  const View = Object.hasOwn(views, route.view) ? views[route.view] : RunsView;
  const isOpened = useRef(false);
  useEffect(() => {
    document.title = route.run === '' ? 'Skein' : `${route.run} · Skein`;
    // A reader of the screen hears which view has opened. The first one is read from the beginning of the page.
    if (isOpened.current) document.getElementById('view')?.focus({ preventScroll: true });
    isOpened.current = true;
  }, [route.view, route.run]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('view')?.focus()}>
        Skip to the view
      </button>
      <Header route={route} list={list} />
      <main id="view" tabIndex={-1}>
        {error !== null ? <Failure error={error} retry={loaded.reload} /> : null}
        {isUnknown ? <UnknownRun name={route.run} /> : null}
        {list !== null && !isUnknown ? (
          <Guarded key={`${route.view} ${route.run}`}>
            <View route={route} list={list} reload={loaded.reload} />
          </Guarded>
        ) : null}
        {list === null && error === null ? <p class="quiet">Reading runs …</p> : null}
      </main>
    </>
  );
}

function UnknownRun({ name }: { readonly name: string }) {
  return (
    <Empty title="Unknown run">
      <p role="alert">
        Expected the name of a run, got "{name}". See the <a href={linkTo('runs')}>list of runs</a>.
      </p>
    </Empty>
  );
}

/** Shows an error of a view in its place: the rest of the page continues to work. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error, retry] = useErrorBoundary();
  return error === undefined ? children : <Failure error={error as Error} retry={retry} />;
}

/** Reads the list again: often while a run is being trained or the first one is expected, seldom otherwise. */
function useRefresh({ value, reload }: Loaded<RunList>, isShown: boolean, isAwaited: boolean): void {
  const isTraining = value?.runs.some(({ state }) => state === 'training') ?? false;
  const isEmpty = isAwaited || value?.runs.length === 0;
  useEffect(() => {
    const every = isEmpty || (isShown && isTraining) ? 2000 : 10_000;
    const timer = setInterval(() => document.hidden || reload(), every);
    return () => clearInterval(timer);
  }, [isTraining, isEmpty, isShown, reload]);
}

function Header({ route, list }: { readonly route: Route; readonly list: RunList | null }) {
  const run = list?.runs.find(({ name }) => name === route.run);
  return (
    <header>
      <a class="brand" href={linkTo('runs')}>
        <img src="./icon.svg" alt="" width="22" height="22" /> Skein
      </a>
      <nav aria-label="Views">
        <a href={linkTo('runs')} aria-current={route.view === 'runs' ? 'page' : undefined}>
          Runs
        </a>
        {run === undefined
          ? null
          : ofRun
              .filter(([view]) => isOffered(view, run.task))
              .map(([view, label]) => (
                <a
                  key={view}
                  href={linkTo(view, run.name)}
                  aria-current={route.view === view ? 'page' : undefined}
                >
                  {label}
                </a>
              ))}
      </nav>
      {list === null || route.run === '' ? null : <RunChoice route={route} list={list} />}
      <ThemeChoice />
    </header>
  );
}

function isOffered(view: string, task: string): boolean {
  const isStream = task === 'TEMPORAL_LINK_PREDICTION';
  if (view === 'stream') return isStream;
  return !(isStream && view === 'map');
}

function RunChoice({ route, list }: { readonly route: Route; readonly list: RunList }) {
  return (
    <label class="choice">
      <span class="hidden">Run</span>
      <select
        value={route.run}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          const task = list.runs.find(({ name }) => name === chosen)?.task ?? '';
          location.hash = linkTo(isOffered(route.view, task) ? route.view : 'run', chosen);
        }}
      >
        {list.runs.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(
    () => (localStorage.getItem('theme') as Theme | null) ?? 'system',
  );
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem('theme', theme);
    // Charts on a canvas have no style sheet to follow.
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return (
    <label class="choice theme">
      <span class="hidden">Colours</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
        {themes.map((one) => (
          <option key={one} value={one}>
            {one === 'system' ? 'As the system' : one === 'light' ? 'Light' : 'Dark'}
          </option>
        ))}
      </select>
    </label>
  );
}
