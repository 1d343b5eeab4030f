/** metrics.jsonl of a run: a JSON object a line, as RunDirectory writes it. */
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { FormatError } from '../../util/errors.js';

/** A line of metrics.jsonl. */
export type MetricsRecord = Readonly<Record<string, unknown>>;

/** Every line; a damaged one is named. */
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
    // Falls through to the one message for all that is not a record.
  }
  throw new FormatError(
    `${path}: expected a JSON object in line ${number}, got ${JSON.stringify(line.slice(0, 80))}. The file is damaged; remove the line to go on without it.`,
    { path, line: number },
  );
}

/** A process killed while it wrote leaves half a line; it counts for nothing. */
export function dropTornLine(path: string): void {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(10) + 1;
  if (end === bytes.length) return;
  const file = openSync(path, 'r+');
  ftruncateSync(file, end);
  closeSync(file);
}
