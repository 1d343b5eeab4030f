/** Lines of metrics.jsonl as a page takes them. */
import type { MetricsRecord } from '../../train/run/metrics-file.js';

/** Returns null for a line that is not a record of a run: curves could not be drawn with its values. */
export function parseRecord(line: string): MetricsRecord | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is MetricsRecord {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { time, epoch, seconds } = value as MetricsRecord;
  return isTime(time) && isAmount(epoch) && isAmount(seconds);
}

const isTime = (time: unknown): boolean =>
  time === undefined || (typeof time === 'string' && Number.isFinite(Date.parse(time)));

/** Missing numbers are allowed: not every record has them, and JSON has null for those that are not finite. */
const isAmount = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER);
