/** Requests to the server, with the errors that it states. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export class RequestError extends Error {
  readonly status: number;
  readonly suggestions: readonly string[];

  constructor(status: number, message: string, suggestions: readonly string[] = []) {
    super(message);
    this.status = status;
    this.suggestions = suggestions;
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  // Rejects if the request is aborted while the answer is read.
  if (response.ok) return (await response.json()) as T;
  const body = (await response.json().catch(() => null)) as { error?: string; suggestions?: string[] } | null;
  throw new RequestError(
    response.status,
    body?.error ?? `The server answered ${response.status}.`,
    body?.suggestions,
  );
}

/** @param path relative to the page */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answerOf<T>(
    await fetch(path, { headers: { accept: 'application/json' }, ...(signal ? { signal } : {}) }),
  );
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  return answerOf<T>(response);
}

export const runPath = (run: string, part = ''): string =>
  `./runs/${encodeURIComponent(run)}${part === '' ? '' : `/${part}`}`;

export const modelPath = (run: string, question: string): string =>
  `./models/${encodeURIComponent(run)}/${question}`;

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: RequestError | Error | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads a value when `key` changes; an answer that is no longer wanted is dropped. Null loads nothing. */
export function useLoad<T>(
  key: string | null,
  load: (key: string, signal: AbortSignal) => Promise<T> = get,
): Loaded<T> {
  const [state, setState] = useState<{
    key: string | null;
    value: T | null;
    error: Error | null;
    isLoading: boolean;
  }>({
    key: null,
    value: null,
    error: null,
    isLoading: false,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === null) {
      setState({ key, value: null, error: null, isLoading: false });
      return undefined;
    }
    const ending = new AbortController();
    // The value of the same key stays on the page while it is loaded again.
    setState((before) => ({
      key,
      value: before.key === key ? before.value : null,
      error: null,
      isLoading: true,
    }));
    latest.current(key, ending.signal).then(
      (value) => setState({ key, value, error: null, isLoading: false }),
      (error: Error) => {
        // What was loaded before stays on the page, beside the error.
        if (!ending.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => ending.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const { value, error, isLoading } = state;
  return { value: state.key === key ? value : null, error, isLoading, reload };
}
