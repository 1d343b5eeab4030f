/** Numbers and times as people read them. */
import { isCount } from '../../src/util/metric-names.js';

export const count = (value: number): string => value.toLocaleString('en');

export function metric(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  return Math.abs(value) < 10 ? value.toFixed(4) : value.toFixed(Math.abs(value) < 1000 ? 1 : 0);
}

/** Returns a value among the metrics of an evaluation: numbers of items are whole. */
export const namedMetric = (name: string, value: number | null | undefined): string =>
  isCount(name) && typeof value === 'number' && Number.isFinite(value) ? count(value) : metric(value);

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function size(bytes: number): string {
  if (!Number.isFinite(bytes)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export const moment = (iso: string | null): string =>
  iso === null ? '–' : new Date(iso).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });

/** Whether less is better. */
export const isLower = (name: string): boolean => /(^|_)(loss|mr|rmse|mae|mse|error)$/i.test(name);

/** Returns text for shells: in single quotes, with those inside escaped. */
export const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns text as a word of a shell, quoted if it has to be. */
export const shellWord = (text: string): string => (/^[\w./@:+-]+$/.test(text) ? text : shellText(text));

/** Whether times are seconds between 1980 and 2100. */
export const isUnixTime = (time: number): boolean => time > 315_532_800 && time < 4_102_444_800;

/** Returns the time of an event: a date if it is between 1980 and 2100 in seconds. */
export const eventTime = (time: number): string =>
  isUnixTime(time)
    ? new Date(time * 1000).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })
    : count(time);
