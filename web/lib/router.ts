/** Addresses of views: behind the hash, so that a link works below any path and needs nothing of the server. */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  readonly view: string;
  /** The run, or '' for a view of several. */
  readonly run: string;
  readonly options: URLSearchParams;
}

function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view = '', run = ''] = path.split('/').map(decode);
  return { view: view === '' ? 'runs' : view, run, options: new URLSearchParams(query) };
}

/** Decodes a part of an address; one that cannot be decoded stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a view. Options without a value are left out. */
export function linkTo(
  view: string,
  run = '',
  options: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && value !== '') query.set(name, String(value));
  const path = run === '' ? `#/${view}` : `#/${view}/${encodeURIComponent(run)}`;
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Changes options of the view that is open, without a new entry in the history. */
export function replaceOptions(changes: Readonly<Record<string, string | number | undefined>>): void {
  const { view, run, options } = parseRoute(location.hash);
  history.replaceState(null, '', linkTo(view, run, { ...Object.fromEntries(options), ...changes }));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = (): void => setRoute(parseRoute(location.hash));
    // The address may have changed between the first drawing and this effect.
    read();
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}
