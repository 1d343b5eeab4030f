/** Bars: histograms over ranges, and amounts by name. */
import { frame } from './frame.js';
import { linearScale } from './scale.js';
import { element, type Panel, seriesClass } from './svg.js';

export interface BarSeries {
  readonly name: string;
  readonly values: readonly number[];
}

export interface BarChartOptions {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** One per bar. */
  readonly names: readonly string[];
  readonly series: readonly BarSeries[];
  readonly width?: number;
  readonly height?: number;
}

/** Draws a group of bars for each name, one bar per series. */
export function barChart({ title, x, y, names, series, width = 460, height }: BarChartOptions): Panel {
  const positions = names.map((_, i) => i + 0.5);
  const every = Math.max(
    1,
    Math.ceil((names.length * 7 * Math.max(...names.map(({ length }) => length), 1)) / (width - 66)),
  );
  const ticks = positions.filter((_, i) => i % every === 0);
  const bars = series.map(({ values }) => values.filter(Number.isFinite));
  return frame(
    {
      title,
      x: {
        label: x,
        scale: { ticks, map: (value) => value / names.length },
        format: (tick) => names[Math.floor(tick)],
      },
      y: { label: y, scale: linearScale(bars.flat(), { from: 0 }) },
      ...(series.length > 1 ? { legend: series.map(({ name }, i) => ({ name, series: i })) } : {}),
      ...{ width, ...(height === undefined ? {} : { height }) },
    },
    (area) => {
      const full = (area.right - area.left) / Math.max(1, names.length);
      const wide = (full * 0.86) / series.length;
      return series
        .map(({ values }, s) =>
          element(
            'g',
            { class: seriesClass(s) },
            ...values.map((value, i) => {
              const left = area.left + i * full + full * 0.07 + s * wide;
              const at = area.y(Number.isFinite(value) ? value : 0);
              const box = {
                x: left,
                width: wide,
                y: Math.min(at, area.y(0)),
                height: Math.abs(area.y(0) - at),
              };
              return element('rect', { class: 'fill', ...box }, element('title', {}, `${value}`));
            }),
          ),
        )
        .join('');
    },
  );
}
