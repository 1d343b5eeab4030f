/** Readable forms of times and counts. */

/** Formats a duration: `0.84 s`, `12 s`, `1 min 12 s`, `2 h 3 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min ${total % 60} s`;
  return `${Math.floor(total / 3600)} h ${Math.floor(total / 60) % 60} min`;
}

/** 0:07, 12:34, 1:02:03. */
export function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const total = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** 950, 12.3k, 4.56M. */
export function shortCount(value: number): string {
  if (value < 1000) return value.toFixed(0);
  const [scaled, unit] =
    value < 1e6 ? [value / 1e3, 'k'] : value < 1e9 ? [value / 1e6, 'M'] : [value / 1e9, 'G'];
  return `${scaled.toPrecision(3)}${unit}`;
}
