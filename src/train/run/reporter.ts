/**
 * Reporters collect results batch by batch and turn them into metrics: `addResult` adds a batch, `report` returns text,
 * `save` writes a file, `clear` prepares the next round.
 */
import { join } from 'node:path';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { Metric } from './metric.js';

/** Values by metric name, in the order in which the metrics were added. */
export type MetricValues = Readonly<Record<string, number>>;

export abstract class Reporter<M extends Metric = Metric> {
  readonly metrics: M[] = [];

  addMetric(metric: M): this {
    this.metrics.push(metric);
    return this;
  }

  /** Number of results. */
  abstract readonly size: number;

  /** Computes all metrics of the results so far. */
  abstract results(): MetricValues;

  /** Drops the results and keeps the metrics. */
  abstract clear(): void;

  /** Returns the metrics as text, one per line. */
  report(): string {
    const values = Object.entries(this.results());
    const width = Math.max(0, ...values.map(([name]) => name.length));
    return values.map(([name, value]) => `${name.padEnd(width)}  ${formatMetric(value)}`).join('\n');
  }

  /** Writes `metrics.txt` into a directory. */
  async save(directory: string): Promise<void> {
    makeFolder(directory);
    const lines = Object.entries(this.results()).map(([name, value]) => `${name}: ${value}`);
    const text = `${[...lines, `items evaluated: ${this.size}`].join('\n')}\n`;
    await writeFileAtomic(join(directory, 'metrics.txt'), new TextEncoder().encode(text));
  }
}

/** Formats a value: four decimals below 10, fewer above. */
export function formatMetric(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  return Math.abs(value) < 10 ? value.toFixed(4) : value.toFixed(Math.abs(value) < 1000 ? 2 : 0);
}

/** Formats a metric with its name; counts are whole numbers. */
export function metricCell(name: string, value: number): string {
  const counts = /(^|_)(events|count)$/.test(name);
  return `${name} ${counts ? Math.round(value).toLocaleString('en') : formatMetric(value)}`;
}
