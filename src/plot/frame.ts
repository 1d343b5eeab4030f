/** The frame of a chart: title, axes with ticks and grid lines, legend. */
import { type Scale, tickText } from './scale.js';
import { element, label, type Panel, seriesClass } from './svg.js';

export interface Axis {
  readonly label: string;
  readonly scale: Scale;
  /** Text of a tick. Default: the number. */
  readonly format?: (tick: number) => string;
}

export interface LegendEntry {
  readonly name: string;
  /** Number of its colour. */
  readonly series: number;
  readonly dashed?: boolean;
}

export interface FrameOptions {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly legend?: readonly LegendEntry[];
  readonly width?: number;
  readonly height?: number;
}

/** Maps values to coordinates within the axes. */
export interface PlotArea {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const margin = { left: 54, right: 12, top: 28, bottom: 40 };
const legendRow = 16;
/** Width of a letter at 12 px, an estimate that errs on the wide side. */
const letter = 6.6;

/** Returns a chart: `draw` returns what is inside the axes. */
export function frame(options: FrameOptions, draw: (area: PlotArea) => string): Panel {
  const { title, x, y, legend = [], width = 460 } = options;
  const rows = legendRows(legend, width - margin.left - margin.right);
  const height = (options.height ?? 280) + rows.length * legendRow;
  const area = areaOf(x.scale, y.scale, width, height, rows.length * legendRow);
  const { left, right, top, bottom } = area;
  const vertical = y.scale.ticks.map((tick) => {
    const at = area.y(tick);
    return (
      element('line', { class: 'grid', x1: left, x2: right, y1: at, y2: at }) +
      label((y.format ?? tickText)(tick), left - 6, at + 4, { class: 'faint', 'text-anchor': 'end' })
    );
  });
  const horizontal = x.scale.ticks.map((tick) => {
    const at = area.x(tick);
    return (
      element('line', { class: 'axis', x1: at, x2: at, y1: bottom, y2: bottom + 4 }) +
      label((x.format ?? tickText)(tick), at, bottom + 17, { class: 'faint', 'text-anchor': 'middle' })
    );
  });
  const body = [
    label(title, left, 14, { class: 'title' }),
    ...vertical,
    ...horizontal,
    element('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom }),
    label(x.label, (left + right) / 2, bottom + 34, { 'text-anchor': 'middle' }),
    label(y.label, 0, 0, {
      'text-anchor': 'middle',
      transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`,
    }),
    draw(area),
    ...drawLegend(rows, left, height),
  ];
  return { width, height, body: body.join('') };
}

function areaOf(x: Scale, y: Scale, width: number, height: number, legend: number): PlotArea {
  const [left, right] = [margin.left, width - margin.right];
  const [top, bottom] = [margin.top, height - margin.bottom - legend];
  return {
    ...{ left, right, top, bottom },
    x: (value) => left + x.map(value) * (right - left),
    y: (value) => bottom - y.map(value) * (bottom - top),
  };
}

interface PlacedEntry extends LegendEntry {
  readonly x: number;
}

/** Returns the entries of a legend in rows of a width. */
function legendRows(entries: readonly LegendEntry[], width: number): PlacedEntry[][] {
  const rows: PlacedEntry[][] = [];
  let x = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const needed = 26 + Math.min(entry.name.length, 48) * letter;
    if (x + needed > width) {
      rows.push([]);
      x = 0;
    }
    rows[rows.length - 1].push({ ...entry, x });
    x += needed;
  }
  return rows;
}

function drawLegend(rows: readonly (readonly PlacedEntry[])[], left: number, height: number): string[] {
  return rows.flatMap((row, i) => {
    const y = height - (rows.length - i) * legendRow + 10;
    return row.map(({ name, series, dashed, x }) =>
      element(
        'g',
        { class: seriesClass(series) },
        element('line', {
          class: dashed ? 'curve dash' : 'curve',
          ...{ x1: left + x, x2: left + x + 14, y1: y - 4, y2: y - 4 },
        }),
        label(shorten(name, 48), left + x + 18, y),
      ),
    );
  });
}

/** Returns text of at most `most` characters; a longer one keeps its start and its end. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = Math.ceil((most - 1) / 2);
  return `${text.slice(0, start)}…${text.slice(text.length - (most - 1 - start))}`;
}
