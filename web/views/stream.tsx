/** A stream that is served: events as they arrive, the watermark, the quality of predictions, and what was set apart. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ViewProps } from '../app.js';
import { get, modelPath, post, runPath, useLoad } from '../lib/api.js';
import { count, duration, eventTime, shellText, shellWord } from '../lib/format.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import type { RankedName } from '../lib/types.js';
import { Chart } from '../parts/chart.js';
import { Empty, Failure } from '../parts/failure.js';
import { NameInput } from '../parts/name-input.js';
import { Quarantine } from '../parts/quarantine.js';

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

export function StreamView({ route, list }: ViewProps) {
  const { status, samples, events, error } = useStream(route.run);
  if (error !== null) return <Failure error={error} />;
  if (status === null) return <p class="quiet">Reading the stream …</p>;
  const chosen = route.options.get('node') ?? '';
  const followed = chosen === '' ? events[0]?.head : chosen;
  const path = list.runs.find(({ name }) => name === route.run)?.path ?? route.run;
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
          Events are kept in memory only. <code>skein serve {shellWord(path)} --state folder</code> keeps
          them, puts late ones in order and measures the quality of predictions.
        </p>
      )}
      {(status.notices ?? []).map((notice) => (
        <p key={notice} class="quiet" role="status">
          {notice}
        </p>
      ))}
      <Numbers status={status} />
      <div class="charts">
        <Curve title="Events a second" samples={samples} value={({ rate }) => rate} />
        <Curve title="Events that wait for the model" samples={samples} value={({ lag }) => lag} />
        {samples.some(({ mrr }) => Number.isFinite(mrr)) ? (
          <Curve
            title="MRR of predictions before their events, among 20 sampled destinations"
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
              <p>Send some; they appear here as they arrive.</p>
            </Empty>
          ) : (
            <ol class="feed">
              {events.map(({ head, tail, time }, i) => (
                <li key={`${head} ${tail} ${time} ${events.length - i}`}>
                  <a href={linkTo('explore', route.run, { node: head })}>{head}</a> →{' '}
                  <a href={linkTo('explore', route.run, { node: tail })}>{tail}</a>{' '}
                  <small>{eventTime(time)}</small>
                </li>
              ))}
            </ol>
          )}
          <Append run={route.run} />
        </section>
        {followed === undefined ? null : (
          <Recommendations run={route.run} name={followed} isChosen={chosen !== ''} events={status.events} />
        )}
        {status.inQuarantine !== undefined ? (
          <Quarantine run={route.run} waiting={status.inQuarantine} />
        ) : null}
      </div>
    </>
  );
}

/** How a program appends events. The time of the example stays while the stream is read again. */
function Append({ run }: { readonly run: string }) {
  const text = useMemo(() => sendExample(run), [run]);
  return (
    <details>
      <summary>Append events from a program</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable with the keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

/** Returns a command that sends an event. */
function sendExample(run: string): string {
  const address = new URL(modelPath(run, 'events'), document.baseURI).href;
  const body = { events: [{ head: 'a', tail: 'b', time: Math.floor(Date.now() / 1000) }] };
  return `curl ${shellText(address)} \\\n  -H 'content-type: application/json' \\\n  -d ${shellText(JSON.stringify(body))}`;
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
        const { events: rankedEvents = 0, mrr: lastMrr } = now.quality ?? {};
        const mrr = rankedEvents === 0 ? Number.NaN : (lastMrr ?? Number.NaN);
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

/** The metrics of predictions that were ranked before their events came; none before the first. docs/streams.md tells how. */
function qualityOf({ quality }: Status): (readonly [string, string])[] {
  const { events = 0, mrr, hits10 } = quality ?? {};
  if (events === 0) return [];
  const label = (name: string): string =>
    `${name} among 20 sampled destinations, of ${count(events)} ${events === 1 ? 'event' : 'events'}`;
  return Object.entries({ MRR: mrr, 'hits@10': hits10 }).flatMap(([name, value]) =>
    value === undefined ? [] : [[label(name), value.toPrecision(4)] as const],
  );
}

function Numbers({ status }: { readonly status: Status }) {
  const { score } = status;
  const values: readonly (readonly [string, string])[] = [
    ['events', count(status.events)],
    ['nodes', count(status.nodes)],
    ['watermark', status.watermark === null ? '–' : eventTime(status.watermark)],
    ...(status.watermarkLag === undefined
      ? []
      : [['behind the latest event', duration(status.watermarkLag)] as const]),
    ...(['waiting', 'late', 'duplicates'] as const).flatMap((name) =>
      status[name] === undefined ? [] : [[name, count(status[name])] as const],
    ),
    ...(status.inQuarantine === undefined ? [] : [['in quarantine', count(status.inQuarantine)] as const]),
    ...qualityOf(status),
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

interface RecommendationsProps {
  readonly run: string;
  readonly name: string;
  /** Whether the name was chosen, instead of that of the latest event. */
  readonly isChosen: boolean;
  /** Events so far: answers change with them. */
  readonly events: number;
}

function Recommendations({ run, name, isChosen, events }: RecommendationsProps) {
  const [shown, setShown] = useState<readonly RankedName[]>([]);
  const { value } = useLoad<RankedName[]>(`${run} ${name} ${events}`, async (_, signal) => {
    const body = { names: [name], k: 8 };
    return (await post<{ answers: RankedName[][] }>(modelPath(run, 'recommend'), body, signal)).answers[0];
  });
  // The last answer stays until the next one has come.
  useEffect(() => {
    if (value !== null) setShown(value);
  }, [value]);
  return (
    <section>
      <h2>Next for {name}</h2>
      <NameInput
        run={run}
        of="nodes"
        label="Follow"
        value={isChosen ? name : ''}
        placeholder="that of the latest event"
        onChoose={(chosen) => replaceOptions({ node: chosen })}
      />
      <ol class="feed">
        {shown.map((one) => (
          <li key={one.name}>
            <a href={linkTo('explore', run, { node: one.name })}>{one.name}</a>{' '}
            <small>{one.score.toFixed(3)}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}
