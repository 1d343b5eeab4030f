/** Curves with a legend that shows the values at the pointer; drawn by uPlot, saved by the charts of `skein plot`. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Curve, lineChart, picture } from '../../src/plot/index.js';
import { eventTime } from '../lib/format.js';
import { seriesColor, styleColor, useDark } from '../lib/theme.js';
import { SaveButtons } from './save-buttons.js';

export interface ChartProps {
  readonly title: string;
  readonly xLabel: string;
  readonly curves: readonly Curve[];
  readonly logX?: boolean;
  readonly logY?: boolean;
  readonly height?: number;
  /** Whether x is a time in seconds since 1970. */
  readonly isTime?: boolean;
  /** Formats a value of y. */
  readonly format?: (value: number) => string;
}

/** Charts of one page show the values at the same x. */
const sync = 'curves';

export function Chart(props: ChartProps) {
  const { title, curves, xLabel, logX = false, logY = false, height = 240, isTime = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const data = useMemo(() => align(curves, logX, logY), [curves, logX, logY]);
  const drawn = useRef<{ readonly chart: uPlot; data: uPlot.AlignedData } | null>(null);
  const shape = JSON.stringify(curves.map(({ name, series, dashed }) => [name, series, dashed]));
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const chart = new uPlot(optionsOf(props, element.clientWidth), data, element);
    drawn.current = { chart, data };
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      drawn.current = null;
    };
  }, [shape, dark, title, xLabel, logX, logY, height, isTime]);
  useEffect(() => {
    const { current } = drawn;
    if (current === null || current.data === data) return;
    show(current.chart, current.data, data);
    current.data = data;
  }, [data]);
  const last = curves
    .map(({ name, y }) => `${name} ends at ${y.at(-1)?.toPrecision(4) ?? 'nothing'}`)
    .join(', ');
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <SaveButtons title={title} draw={() => draw(props)} />
      </figcaption>
      <div ref={place} role="img" aria-label={`${title} by ${xLabel}: ${last}`} />
    </figure>
  );
}

/** Replaces the points of a chart. A part that its reader has zoomed into stays in view. */
function show(chart: uPlot, before: uPlot.AlignedData, data: uPlot.AlignedData): void {
  const { min = null, max = null } = chart.scales['x'];
  const [first, last] = [before[0][0], before[0].at(-1)];
  const isZoomed =
    min !== null && max !== null && first !== undefined && last !== undefined && (min > first || max < last);
  chart.setData(data, !isZoomed);
  if (isZoomed) chart.redraw();
}

function draw({ title, xLabel, curves, logX = false, logY = false }: ChartProps): string {
  // The picture has the title.
  const chart = lineChart({ title: '', x: xLabel, y: '', curves, logX, logY, width: 720, height: 360 });
  return picture([chart], { title, description: `${title} by ${xLabel}`, columns: 1 });
}

function align(curves: readonly Curve[], logX: boolean, logY: boolean): uPlot.AlignedData {
  const tables = curves.map(({ x, y }): uPlot.AlignedData => {
    const shown = Array.from(x.keys()).filter(
      (i) => Number.isFinite(y[i]) && (!logX || x[i] > 0) && (!logY || y[i] > 0),
    );
    return [shown.map((i) => x[i]), shown.map((i) => y[i])];
  });
  if (tables.length === 0) return [[]];
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

function optionsOf(
  { xLabel, curves, logX, logY, height = 240, isTime = false, format }: ChartProps,
  width: number,
): uPlot.Options {
  const [text, line] = [styleColor('faint'), styleColor('line')];
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const shown =
    format ??
    ((value: number) =>
      Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(4));
  return {
    ...{ width: Math.max(200, width), height },
    cursor: { sync: { key: sync }, points: { size: 6 }, drag: { x: true, y: false } },
    scales: { x: { time: isTime, distr: logX ? 3 : 1 }, y: { distr: logY ? 3 : 1 } },
    axes: [
      {
        ...axis,
        // There is no epoch 1.2.
        ...(xLabel === 'epoch' && !logX ? { incrs: wholeSteps } : {}),
        label: xLabel,
        labelSize: 18,
        size: 34,
        font: '11px system-ui',
        labelFont: '11px system-ui',
      },
      {
        ...axis,
        font: '11px system-ui',
        size: (_, labels) => axisWidth(labels),
        values: (_, splits) =>
          splits.map((value) => (value === null ? '' : format === undefined ? tick(value) : format(value))),
      },
    ],
    series: [
      {
        label: xLabel,
        value: (_, value) => (value === null ? '–' : isTime ? eventTime(value) : String(value)),
      },
      ...curves.map((curve, i) => ({
        label: curve.name,
        stroke: seriesColor(curve.series ?? i),
        width: 1.75,
        spanGaps: true,
        ...(curve.dashed ? { dash: [5, 4] } : {}),
        points: { show: (chart: uPlot) => chart.data[0].length <= 20 },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : shown(value)),
      })),
    ],
  };
}

const wholeSteps = Array.from({ length: 8 }, (_, i) => [1, 2, 5].map((step) => step * 10 ** i)).flat();

/** Returns the pixels that the longest label of an axis needs in its font. */
function axisWidth(labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map(({ length }) => length));
  return Math.max(48, 18 + 6.3 * longest);
}

function tick(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6) return `${value / 1e6}M`;
  if (size >= 1e4) return `${value / 1e3}k`;
  return size < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(6)));
}
