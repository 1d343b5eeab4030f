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

export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<'route' | 'model' | 'status'>;
  readonly #seconds: Histogram<'route' | 'model'>;
  readonly #callSeconds: Histogram<'model' | 'ability'>;
  readonly #callItems: Counter<'model' | 'ability'>;
  readonly #callRequests: Counter<'model' | 'ability'>;
  readonly #reloads: Counter<'model'>;
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: 10 });

  constructor(models: () => readonly ServedModel[], inFlight: () => number) {
    const registers = [this.#registry];
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
    return this.#registry.metrics();
  }

  close(): void {
    this.#delay.disable();
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
