/** Metrics of one server in the text format of Prometheus, in a registry of its own. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServedModel } from './served-model.js';

export interface AnsweredRequest {
  readonly route: string;
  readonly model: string;
  readonly status: number;
  readonly seconds: number;
}

type Status = Readonly<Record<string, unknown>>;

interface StreamGauge {
  readonly help: string;
  value(status: Status): unknown;
}

const gauge = (key: string, help: string): StreamGauge => ({ help, value: (status) => status[key] });

const percentile = (key: string, help: string): StreamGauge => ({
  help,
  value: (status) => {
    const p99 = (status[key] as { readonly p99?: number } | undefined)?.p99;
    return p99 === undefined ? undefined : p99 / 1000;
  },
});

/** Numbers of a stream's status. Those that count since the stream was created survive restarts, so they are set, not added. */
const streamGauges: Readonly<Record<string, StreamGauge>> = {
  events: gauge('events', 'Events of the stream'),
  nodes: gauge('nodes', 'Nodes of the stream'),
  accepted: gauge('accepted', 'Accepted events since the stream was created'),
  duplicates: gauge('duplicates', 'Repeated events since the stream was created'),
  late: gauge('late', 'Late events since the stream was created'),
  quarantined: gauge('quarantined', 'Quarantined events since the stream was created'),
  in_quarantine: gauge('inQuarantine', 'Events in quarantine'),
  new_nodes: gauge('newNodes', 'New nodes since the stream was created'),
  busy: gauge('busy', 'Requests refused because too many events waited'),
  waiting: gauge('waiting', 'Events that wait for the watermark'),
  lag: gauge('lag', 'Events that wait for the model'),
  watermark_lag: gauge('watermarkLag', 'Distance of the watermark to the latest event'),
  log_bytes: gauge('logBytes', 'Size of the log'),
  apply_rate: gauge('applyRate', 'Events that the model takes per second'),
  fsync_p99_seconds: percentile('fsync', 'Time to write to the disk'),
  score_p99_seconds: percentile('score', 'Time to score'),
  replay_seconds: {
    help: 'Time to read the log at the start',
    value: ({ replayed }) => (replayed as { readonly seconds?: number } | undefined)?.seconds,
  },
  mrr: {
    help: 'Rolling mean reciprocal rank of events before they are applied',
    value: ({ quality }) => (quality as { readonly mrr?: number } | null | undefined)?.mrr,
  },
  failed: {
    help: 'Whether the stream has stopped',
    value: ({ failure }) => ((failure ?? null) === null ? 0 : 1),
  },
};

export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<'route' | 'model' | 'status'>;
  readonly #seconds: Histogram<'route' | 'model'>;
  readonly #callSeconds: Histogram<'model' | 'ability'>;
  readonly #callItems: Counter<'model' | 'ability'>;
  readonly #callRequests: Counter<'model' | 'ability'>;
  readonly #reloads: Counter<'model'>;
  readonly #models: () => readonly ServedModel[];
  readonly #streams: readonly { readonly gauge: Gauge<'model'>; value(status: Status): unknown }[];
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: 10 });

  constructor(models: () => readonly ServedModel[], inFlight: () => number) {
    const registers = [this.#registry];
    this.#models = models;
    this.#requests = new Counter({
      ...{ name: 'skein_http_requests_total', help: 'Answered requests', registers },
      labelNames: ['route', 'model', 'status'] as const,
    });
    this.#seconds = new Histogram({
      ...{ name: 'skein_http_request_seconds', help: 'Time from the headers to the answer', registers },
      labelNames: ['route', 'model'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    });
    const labelNames = ['model', 'ability'] as const;
    this.#callSeconds = new Histogram({
      ...{ name: 'skein_model_call_seconds', help: 'Time of a call of the model', registers, labelNames },
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    });
    this.#callItems = new Counter({
      ...{ name: 'skein_model_items_total', help: 'Questions answered by calls', registers, labelNames },
    });
    this.#callRequests = new Counter({
      ...{
        name: 'skein_model_call_requests_total',
        help: 'Requests that calls answered',
        registers,
        labelNames,
      },
    });
    this.#reloads = new Counter({
      ...{ name: 'skein_model_reloads_total', help: 'Newer models taken over', registers },
      labelNames: ['model'] as const,
    });
    this.#gauge('skein_http_requests_in_flight', 'Requests being answered', inFlight);
    this.#gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
    this.#gauge('process_uptime_seconds', 'Time since the process began', () => process.uptime());
    this.#gauge('nodejs_eventloop_delay_p99_seconds', 'Delay of the event loop since the last look', () => {
      const seconds = this.#delay.percentile(99) / 1e9;
      this.#delay.reset();
      return seconds;
    });
    const waiting = new Gauge({
      ...{ name: 'skein_model_waiting_requests', help: 'Requests that wait for a model', registers },
      labelNames: ['model', 'kind'] as const,
      collect: () => {
        waiting.reset();
        for (const { name, waiting: count, predictor } of models())
          waiting.set({ model: name, kind: predictor.kind }, count);
      },
    });
    this.#streams = Object.entries(streamGauges).map(([name, { help, value }]) => ({
      value,
      gauge: new Gauge({
        ...{ name: `skein_stream_${name}`, help, registers, labelNames: ['model'] as const },
      }),
    }));
    this.#delay.enable();
  }

  get registry(): Registry {
    return this.#registry;
  }

  answered({ route, model, status, seconds }: AnsweredRequest): void {
    this.#requests.inc({ route, model, status });
    this.#seconds.observe({ route, model }, seconds);
  }

  called(model: string, call: { kind: string; items: number; requests: number; seconds: number }): void {
    const labels = { model, ability: call.kind };
    this.#callSeconds.observe(labels, call.seconds);
    this.#callItems.inc(labels, call.items);
    this.#callRequests.inc(labels, call.requests);
  }

  reloaded(model: string): void {
    this.#reloads.inc({ model });
  }

  text(): Promise<string> {
    this.#readStreams();
    return this.#registry.metrics();
  }

  close(): void {
    this.#delay.disable();
  }

  /** Sets the gauges of all streams. A status sorts latencies, so each stream is asked for one only. */
  #readStreams(): void {
    for (const { gauge } of this.#streams) gauge.reset();
    for (const { name: model, stream } of this.#models()) {
      if (stream === null) continue;
      const status = stream.status();
      for (const { gauge, value } of this.#streams) {
        const found = value(status);
        if (typeof found === 'number') gauge.set({ model }, found);
      }
    }
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(value()),
    });
  }
}
