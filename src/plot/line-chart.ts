/** Curves over numbers, such as the loss over epochs. */
import { frame } from './frame.js';
import { linearScale, logScale } from './scale.js';
import { element, type Panel, seriesClass } from './svg.js';

export interface Curve {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** Number of its colour. Default: its position. */
  readonly series?: number;
  readonly dashed?: boolean;
}

export interface LineChartOptions {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly curves: readonly Curve[];
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** Only whole numbers as ticks of x. */
  readonly wholeX?: boolean;
  readonly legend?: boolean;
  readonly width?: number;
  readonly height?: number;
}

/** Points of one curve beyond which several share a pixel. */
const mostPoints = 1200;

export function lineChart(options: LineChartOptions): Panel {
  const { title, curves, logX = false, logY = false, legend = curves.length > 1 } = options;
  const xs = curves.flatMap(({ x }) => [...x]);
  const ys = curves.flatMap(({ y }) => [...y]);
  const entries = curves.map(({ name, series, dashed = false }, i) => ({
    name,
    series: series ?? i,
    dashed,
  }));
  return frame(
    {
      title,
      x: {
        label: options.x,
        scale: logX ? logScale(xs) : linearScale(xs, { whole: options.wholeX ?? false }),
      },
      y: { label: options.y, scale: logY ? logScale(ys) : linearScale(ys) },
      ...(legend ? { legend: entries } : {}),
      ...(options.width === undefined ? {} : { width: options.width }),
      ...(options.height === undefined ? {} : { height: options.height }),
    },
    (area) =>
      curves
        .map((curve, i) => {
          const shown = thin(curve).filter(
            ([x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0),
          );
          const points = shown.map(([x, y]) => [area.x(x), area.y(y)] as const);
          const mark = { class: seriesClass(curve.series ?? i) };
          const line = element('polyline', {
            class: curve.dashed ? 'curve dash' : 'curve',
            points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' '),
          });
          // A single point has no line, and few points are marked as what they are.
          const dots =
            points.length > 20
              ? []
              : points.map(([cx, cy]) => element('circle', { class: 'fill', cx, cy, r: 2.5 }));
          return element('g', mark, line, ...dots);
        })
        .join(''),
  );
}

/** Returns the points of a curve; of a long one the lowest and the highest of each stretch, so that no peak is lost. */
function thin({ x, y }: Pick<Curve, 'x' | 'y'>, most = mostPoints): (readonly [number, number])[] {
  const count = Math.min(x.length, y.length);
  const all = Array.from({ length: count }, (_, i) => [x[i], y[i]] as const);
  if (count <= most) return all;
  const stretch = Math.ceil(count / (most / 2));
  const kept: (readonly [number, number])[] = [all[0]];
  for (let from = 1; from < count - 1; from += stretch) {
    let [low, high] = [from, from];
    for (let i = from; i < Math.min(from + stretch, count - 1); i++) {
      if (y[i] < y[low]) low = i;
      if (y[i] > y[high]) high = i;
    }
    for (const i of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) kept.push(all[i]);
  }
  kept.push(all[count - 1]);
  return kept;
}

/** Returns an exponential moving average: 0 changes nothing, values near 1 show the trend alone. */
export function smooth(values: readonly number[], weight: number): number[] {
  let [sum, total] = [0, 0];
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    // Divided by the sum of the weights: the start is not drawn towards 0.
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}
