/** Points on a plane, coloured by group: maps of embeddings. */
import { shorten } from './frame.js';
import { element, escapeText, label, type Panel, seriesClass } from './svg.js';

export interface ScatterPoint {
  readonly x: number;
  readonly y: number;
  /** Shown by browsers when the pointer rests on the point. */
  readonly name: string;
  /** Index into `groups`; null: none of them. */
  readonly group: number | null;
  /** Whether the name is written next to the point. */
  readonly labelled?: boolean;
}

export interface ScatterChartOptions {
  readonly title: string;
  readonly points: readonly ScatterPoint[];
  readonly groups: readonly string[];
  readonly size?: number;
}

/** Axes of a map have no unit, so none are drawn; both have the same scale. */
export function scatterChart({ title, points, groups, size = 620 }: ScatterChartOptions): Panel {
  const finite = points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  const xs = finite.map(({ x }) => x);
  const ys = finite.map(({ y }) => y);
  const [lowX, lowY] = [least(xs), least(ys)];
  const span = Math.max(most(xs) - lowX, most(ys) - lowY) || 1;
  const at = ({ x, y }: ScatterPoint): [number, number] => [
    8 + ((x - lowX) / span) * (size - 16),
    30 + (1 - (y - lowY) / span) * (size - 16),
  ];
  const radius = Math.max(1.2, Math.min(4, 90 / Math.sqrt(finite.length + 1)));
  const layers = new Map<number, string[]>();
  for (const point of finite) {
    const [cx, cy] = at(point);
    const series = point.group ?? seriesOfOthers;
    const dot = element(
      'circle',
      { class: 'fill', cx, cy, r: radius },
      element('title', {}, escapeText(point.name)),
    );
    const layer = layers.get(series);
    if (layer === undefined) layers.set(series, [dot]);
    else layer.push(dot);
  }
  const drawn = [...layers].map(([series, dots]) =>
    element('g', { class: seriesClass(series), opacity: series === seriesOfOthers ? 0.5 : 0.8 }, ...dots),
  );
  const names = finite
    .filter(({ labelled }) => labelled)
    .map((point) => {
      const [x, y] = at(point);
      return label(shorten(point.name, 30), x + radius + 2, y + 4, { class: 'small halo' });
    });
  const legend = groups
    .slice(0, seriesOfOthers)
    .map((name, i) =>
      element(
        'g',
        { class: seriesClass(i) },
        element('circle', { class: 'fill', cx: 14, cy: size + 34 + 16 * i, r: 4 }),
        label(shorten(name, 60), 24, size + 38 + 16 * i),
      ),
    );
  const body = [label(title, 8, 14, { class: 'title' }), ...drawn, ...names, ...legend];
  return { width: size, height: size + 34 + 16 * legend.length, body: body.join('') };
}

/** Points without a group, and those of groups beyond the colours, are grey. */
export const seriesOfOthers = 7;

const least = (values: readonly number[]): number =>
  values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
const most = (values: readonly number[]): number =>
  values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY);
