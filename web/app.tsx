/** The frame of the page: navigation, the choice of a run, and the view that the address names. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get, type Loaded, useLoad } from './lib/api.js';
import { linkTo, type Route, useRoute } from './lib/router.js';
import type { RunList } from './lib/types.js';
import { Failure } from './parts/failure.js';
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
  useRefresh(loaded, route.view === 'runs');
  const View = views[route.view] ?? RunsView;
  useEffect(() => {
    document.title = route.run === '' ? 'Skein' : `${route.run} · Skein`;
    // A reader of the screen hears which view has opened.
    document.getElementById('view')?.focus({ preventScroll: true });
  }, [route.view, route.run]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('view')?.focus()}>
        Skip to the view
      </button>
      <Header route={route} list={list} />
      <main id="view" tabIndex={-1}>
        {error !== null && list === null ? <Failure error={error} retry={loaded.reload} /> : null}
        {list !== null ? (
          <View key={`${route.view} ${route.run}`} route={route} list={list} reload={loaded.reload} />
        ) : null}
        {list === null && error === null ? <p class="quiet">Reading runs …</p> : null}
      </main>
    </>
  );
}

/** Reads the list again while a run is being trained, and slowly otherwise: new runs appear in it. */
function useRefresh({ value, reload }: Loaded<RunList>, isShown: boolean): void {
  const isTraining = value?.runs.some(({ state }) => state === 'training') ?? false;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), isShown && isTraining ? 2000 : 10_000);
    return () => clearInterval(timer);
  }, [isTraining, isShown, reload]);
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
          location.hash = linkTo(route.view, event.currentTarget.value);
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
