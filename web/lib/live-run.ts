/** A run whose curves grow while it is being trained. */
import { useEffect, useRef, useState } from 'preact/hooks';
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
  const latest = useRef(loaded);
  latest.current = loaded;
  const follows = value !== null && value.state !== 'finished';
  useEffect(() => {
    if (!follows) return undefined;
    const { value: shown } = latest.current;
    const source = new EventSource(`${runPath(name, 'live')}?from=${shown?.position ?? 0}`);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        // Another request would end the one under way, and perhaps none would ever get its answer.
        if (latest.current.isLoading) look();
        else reload();
      }, pause);
    };
    source.addEventListener('records', look);
    source.addEventListener('restart', look);
    source.addEventListener('buffer', ({ data }: MessageEvent<string>) =>
      setBuffer(JSON.parse(data) as BufferRecord),
    );
    source.addEventListener('state', (event) => {
      const { state } = JSON.parse((event as MessageEvent<string>).data) as { state: string };
      if (state !== latest.current.value?.state) look();
    });
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
