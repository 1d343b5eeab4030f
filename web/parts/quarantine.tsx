/** Events that a stream set apart, with the two decisions about them: to apply them after all, or to forget them. */
import { useState } from 'preact/hooks';
import { get, modelPath, post, useLoad } from '../lib/api.js';
import { count, eventTime } from '../lib/format.js';
import { Failure } from './failure.js';

interface Entry {
  readonly key: number;
  readonly reason: string;
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly arrived: number;
  readonly event?: { readonly head: unknown; readonly tail: unknown; readonly time: number };
  /** A message that is not an event. */
  readonly text?: string;
}

const shown = 20;

interface QuarantineProps {
  readonly run: string;
  readonly waiting: number;
}

export function Quarantine({ run, waiting }: QuarantineProps) {
  const [error, setError] = useState<Error | null>(null);
  const { value, reload } = useLoad<{ events: Entry[] }>(`${run} ${waiting}`, (_, signal) =>
    get(`${modelPath(run, 'quarantine')}?limit=${shown}`, signal),
  );
  const entries = value?.events ?? [];
  const decide = (decision: 'release' | 'delete', keys: readonly number[]): void => {
    setError(null);
    post(modelPath(run, `quarantine/${decision}`), { keys }).then(reload, setError);
  };
  const readable = entries.filter(({ event }) => event !== undefined).map(({ key }) => key);
  return (
    <section class="quarantine">
      <h2>Quarantine</h2>
      {waiting === 0 ? <p class="quiet">Empty: no event had an impossible time or name.</p> : null}
      {error === null ? null : <Failure error={error} />}
      {entries.length < 2 ? null : (
        <p class="controls">
          {waiting > entries.length ? `The first ${entries.length} of ${count(waiting)}: ` : 'All: '}
          <button type="button" disabled={readable.length === 0} onClick={() => decide('release', readable)}>
            Apply
          </button>
          <button
            type="button"
            onClick={() =>
              decide(
                'delete',
                entries.map(({ key }) => key),
              )
            }
          >
            Delete
          </button>
        </p>
      )}
      <ol class="feed">
        {entries.map((entry) => (
          <li key={entry.key}>
            {textOf(entry)} <em>{entry.reason}</em>
            <span class="save">
              {entry.event === undefined ? null : (
                <button
                  type="button"
                  class="small"
                  aria-label={`Apply ${textOf(entry)}`}
                  onClick={() => decide('release', [entry.key])}
                >
                  Apply
                </button>
              )}
              <button
                type="button"
                class="small"
                aria-label={`Delete ${textOf(entry)}`}
                onClick={() => decide('delete', [entry.key])}
              >
                Delete
              </button>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function textOf({ event, text = 'a message that is not an event' }: Entry): string {
  if (event !== undefined) return `${event.head} → ${event.tail}, ${eventTime(event.time)}`;
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
