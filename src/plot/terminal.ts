/** Pictures of one line, for terminals and logs. */

const levels = '▁▂▃▄▅▆▇█';
const eighths = ' ▏▎▍▌▋▊▉█';

/** Returns values as bars of eight heights; more values than `width` are averaged. */
export function sparkline(values: readonly number[], width = 40): string {
  const shown = resample(values, width);
  const finite = shown.filter(Number.isFinite);
  if (finite.length === 0) return '';
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  return shown
    .map((value) => {
      if (!Number.isFinite(value)) return ' ';
      const level = high === low ? 3 : Math.round(((value - low) / (high - low)) * (levels.length - 1));
      return levels[level];
    })
    .join('');
}

/** Returns a horizontal bar for a fraction of `width` characters. */
export function bar(fraction: number, width = 20): string {
  const units = Math.round(Math.max(0, Math.min(1, Number.isFinite(fraction) ? fraction : 0)) * width * 8);
  const rest = units % 8;
  return `${'█'.repeat(units >> 3)}${rest === 0 ? '' : eighths[rest]}`;
}

function resample(values: readonly number[], width: number): number[] {
  if (values.length <= width) return [...values];
  return Array.from({ length: width }, (_, i) => {
    const part = values
      .slice(Math.floor((i * values.length) / width), Math.floor(((i + 1) * values.length) / width))
      .filter(Number.isFinite);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}
