/** A run whose curves grow while it is being trained. */
import { useEffect, useState } from 'preact/hooks';
import { type Loaded, runPath, useLoad } from './api.js';
import type { BufferRecord, RunDetails } from './types.js';

/** Milliseconds in which several records are answered by one look: short epochs would ask without a pause. */
const pause = 500;

export interface LiveRun extends Loaded<RunDetails> {
  readonly isLive: boolean;
  /** The latest state of the partition buffer; null without one. */
  readonly buffer: BufferRecord | null;
}

export function useLiveRun(name: string): LiveRun {
  const loaded = useLoad<RunDetails>(runPath(name));
  const { value, reload } = loaded;
  const [isLive, setLive] = useState(false);
  const [buffer, setBuffer] = useState<BufferRecord | null>(null);
  const follows = value !== null && value.state !== 'finished';
  useEffect(() => {
    if (!follows) return undefined;
    const source = new EventSource(runPath(name, 'live'));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    const look = (): void => {
      // The first records are those that have just been loaded.
      if (isFirst) {
        isFirst = false;
        return;
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        reload();
      }, pause);
    };
    source.addEventListener('records', look);
    source.addEventListener('restart', look);
    source.addEventListener('buffer', ({ data }: MessageEvent<string>) =>
      setBuffer(JSON.parse(data) as BufferRecord),
    );
    source.addEventListener('open', () => setLive(true));
    source.addEventListener('error', () => setLive(false));
    return () => {
      clearTimeout(timer);
      source.close();
      setLive(false);
    };
  }, [name, follows, reload]);
  return { ...loaded, isLive, buffer: buffer ?? value?.buffer ?? null };
}
