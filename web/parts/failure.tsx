/** Errors and empty views, each with what to do. */
import type { ComponentChildren } from 'preact';
import { RequestError } from '../lib/api.js';

export function Failure({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const isSession = error instanceof RequestError && error.status === 401;
  return (
    <div class="failure" role="alert">
      <p>
        {error instanceof TypeError
          ? 'The server does not answer. Is "skein ui" still running?'
          : error.message}
      </p>
      {isSession ? <p>Open the link that the server printed, or ask it for a new one.</p> : null}
      {error instanceof RequestError && error.suggestions.length > 0 ? (
        <p>Did you mean {error.suggestions.join(', ')}?</p>
      ) : null}
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A view without content says what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
