/** metrics.jsonl of a run, written by RunDirectory: one JSON object per line. */
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { FormatError } from '../../util/errors.js';

/** A line of metrics.jsonl. */
export type MetricsRecord = Readonly<Record<string, unknown>>;

/** Fields of metric lines that are not metrics. */
const notMetrics = new Set(['epoch', 'tested_epoch', 'seconds', 'items']);

/** Returns the metrics of a line. */
export function metricsOf(line: MetricsRecord): Record<string, number> {
  return Object.fromEntries(
    Object.entries(line).flatMap(([name, value]) =>
      typeof value === 'number' && !notMetrics.has(name) ? [[name, value]] : [],
    ),
  );
}

/** Reads the complete lines of a file that may still be written, or whose writer was killed; none if there is no file. */
export function* readCompleteRecords(path: string): Generator<MetricsRecord> {
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    try {
      const value: unknown = JSON.parse(line);
      if (typeof value === 'object' && value !== null) yield value as MetricsRecord;
    } catch {
      // The last line may be half written.
    }
  }
}

/** Reads all lines; an error names a damaged one. */
export function readRecords(path: string): MetricsRecord[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line, i) => (line === '' ? [] : [parseRecord(line, path, i + 1)]));
}

function parseRecord(line: string, path: string, number: number): MetricsRecord {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as MetricsRecord;
  } catch {
    // Falls through to the message for everything that is not a record.
  }
  throw new FormatError(
    `${path}: expected a JSON object in line ${number}, got ${JSON.stringify(line.slice(0, 80))}. The file is damaged; remove the line to continue without it.`,
    { path, line: number },
  );
}

/** Drops the incomplete last line that a killed process leaves. */
export function dropTornLine(path: string): void {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(10) + 1;
  if (end === bytes.length) return;
  const file = openSync(path, 'r+');
  ftruncateSync(file, end);
  closeSync(file);
}
