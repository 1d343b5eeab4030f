/** A stream that is served: events as they arrive, the watermark, the quality of predictions, and what was set apart. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ViewProps } from '../app.js';
import { get, modelPath, post, runPath, useLoad } from '../lib/api.js';
import { count, duration } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type { RankedName } from '../lib/types.js';
import { Chart } from '../parts/chart.js';
import { Empty, Failure } from '../parts/failure.js';
import { timeText } from './data.js';

interface Status {
  readonly durable: boolean;
  readonly nodes: number;
  readonly events: number;
  readonly lag: number;
  readonly watermark: number | null;
  readonly accepted?: number;
  readonly duplicates?: number;
  readonly late?: number;
  readonly waiting?: number;
  readonly inQuarantine?: number;
  readonly watermarkLag?: number;
  readonly quality?: Readonly<Record<string, number>> | null;
  readonly score: { readonly p50: number; readonly p99: number };
  readonly notices?: readonly string[];
  readonly failure?: string | null;
}

interface Event {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
}

interface Sample {
  readonly seconds: number;
  readonly events: number;
  readonly rate: number;
  readonly lag: number;
  readonly mrr: number;
}

/** Seconds between looks, and looks that the curves show. */
const every = 1;
const mostSamples = 300;

export function StreamView({ route }: ViewProps) {
  const { status, samples, events, error } = useStream(route.run);
  if (error !== null) return <Failure error={error} />;
  if (status === null) return <p class="quiet">Reading the stream …</p>;
  const [latest] = events;
  return (
    <>
      <div class="bar">
        <h1>Stream of {route.run}</h1>
        <span class="badge live">live</span>
      </div>
      {status.failure ? (
        <p class="problem" role="alert">
          The stream has stopped: {status.failure}
        </p>
      ) : null}
      {status.durable ? null : (
        <p class="quiet">
          Events are kept in memory only. <code>skein serve {route.run} --state folder</code> keeps them, puts
          late ones in order and measures the quality of predictions.
        </p>
      )}
      <Numbers status={status} />
      <div class="charts">
        <Curve title="Events a second" samples={samples} value={({ rate }) => rate} />
        <Curve title="Events that wait for the model" samples={samples} value={({ lag }) => lag} />
        {samples.some(({ mrr }) => Number.isFinite(mrr)) ? (
          <Curve
            title="MRR of the last predictions before their events"
            samples={samples}
            value={({ mrr }) => mrr}
          />
        ) : null}
      </div>
      <div class="columns">
        <section>
          <h2>Latest events</h2>
          {events.length === 0 ? (
            <Empty title="No events yet">
              <p>Send some with POST /events.</p>
            </Empty>
          ) : (
            <ol class="feed">
              {events.map(({ head, tail, time }, i) => (
                <li key={`${head} ${tail} ${time} ${events.length - i}`}>
                  <a href={linkTo('explore', route.run, { node: head })}>{head}</a> →{' '}
                  <a href={linkTo('explore', route.run, { node: tail })}>{tail}</a>{' '}
                  <small>{timeText(time)}</small>
                </li>
              ))}
            </ol>
          )}
        </section>
        {latest === undefined ? null : <Recommendations run={route.run} name={latest.head} />}
        {status.inQuarantine !== undefined ? (
          <Quarantine run={route.run} waiting={status.inQuarantine} />
        ) : null}
      </div>
    </>
  );
}

function useStream(run: string) {
  const [status, setStatus] = useState<Status | null>(null);
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const [events, setEvents] = useState<readonly Event[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const began = useRef(performance.now());
  useEffect(() => {
    const ending = new AbortController();
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      const now = await get<Status>(modelPath(run, 'status'), ending.signal);
      const found = await get<{ events: Event[] }>(`${runPath(run, 'recent')}?limit=14`, ending.signal);
      const seconds = (performance.now() - began.current) / 1000;
      setStatus(now);
      setEvents(found.events);
      setError(null);
      setSamples((before) => {
        const last = before.at(-1);
        const rate =
          last === undefined ? 0 : (now.events - last.events) / Math.max(0.1, seconds - last.seconds);
        const mrr = now.quality?.['mrr'] ?? Number.NaN;
        return [...before.slice(1 - mostSamples), { seconds, events: now.events, rate, lag: now.lag, mrr }];
      });
    };
    const tick = (): void => {
      look().catch((thrown: Error) => ending.signal.aborted || setError(thrown));
    };
    tick();
    const timer = setInterval(tick, every * 1000);
    return () => {
      clearInterval(timer);
      ending.abort();
    };
  }, [run]);
  return { status, samples, events, error };
}

interface CurveProps {
  readonly title: string;
  readonly samples: readonly Sample[];
  readonly value: (sample: Sample) => number;
}

function Curve({ title, samples, value }: CurveProps) {
  const x = samples.map(({ seconds }) => seconds);
  return (
    <Chart
      title={title}
      xLabel="seconds on this page"
      curves={[{ name: title, x, y: samples.map(value) }]}
      height={180}
    />
  );
}

function Numbers({ status }: { readonly status: Status }) {
  const { quality, score } = status;
  const values: readonly (readonly [string, string])[] = [
    ['events', count(status.events)],
    ['nodes', count(status.nodes)],
    ['watermark', status.watermark === null ? '–' : timeText(status.watermark)],
    ...(status.watermarkLag === undefined
      ? []
      : [['behind the latest event', duration(status.watermarkLag)] as const]),
    ...(['waiting', 'late', 'duplicates'] as const).flatMap((name) =>
      status[name] === undefined ? [] : [[name, count(status[name])] as const],
    ),
    ...(status.inQuarantine === undefined ? [] : [['in quarantine', count(status.inQuarantine)] as const]),
    ...Object.entries(quality ?? {}).map(([name, value]) => [name, value.toPrecision(4)] as const),
    ['score, median', `${score.p50.toFixed(1)} ms`],
  ];
  return (
    <dl class="numbers">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Recommendations({ run, name }: { readonly run: string; readonly name: string }) {
  const { value } = useLoad<RankedName[]>(`${run} ${name}`, async (_, signal) => {
    const body = { names: [name], k: 8 };
    return (await post<{ answers: RankedName[][] }>(modelPath(run, 'recommend'), body, signal)).answers[0];
  });
  return (
    <section>
      <h2>Next for {name}</h2>
      <ol class="feed">
        {(value ?? []).map((one) => (
          <li key={one.name}>
            {one.name} <small>{one.score.toFixed(3)}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Quarantine({ run, waiting }: { readonly run: string; readonly waiting: number }) {
  const { value } = useLoad<{ events: (Event & { key: number; reason: string })[] }>(
    `${modelPath(run, 'quarantine')}?limit=20&seen=${waiting}`.replace(/&seen=\d+$/, ''),
  );
  return (
    <section>
      <h2>Quarantine</h2>
      {waiting === 0 ? <p class="quiet">Empty: no event had an impossible time or name.</p> : null}
      <ol class="feed">
        {(value?.events ?? []).map(({ key, head, tail, time, reason }) => (
          <li key={key}>
            {head} → {tail} <small>{timeText(time)}</small> <em>{reason}</em>
          </li>
        ))}
      </ol>
    </section>
  );
}
