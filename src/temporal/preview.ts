/** The content of a state after events that it has not observed, kept for further questions about the same events. */
import type { EventSlice } from './steps.js';

export interface Preview<C> {
  readonly events: EventSlice;
  readonly content: C;
}

export function isPreviewOf<C>(preview: Preview<C> | null, events: EventSlice): preview is Preview<C> {
  if (preview === null) return false;
  const { src, dst, times } = preview.events;
  return (
    src.length === events.src.length &&
    src.every((node, i) => node === events.src[i]) &&
    dst.every((node, i) => node === events.dst[i]) &&
    times.every((time, i) => time === events.times[i])
  );
}
