/** A small graph: named nodes, edges coloured by relation, predicted edges dashed. */
import { forceLayout } from './force-layout.js';
import { shorten } from './frame.js';
import { element, escapeText, label, type Panel, seriesClass } from './svg.js';

export interface GraphChartNode {
  readonly name: string;
  /** Edges between it and the node in question; 0 is that node. */
  readonly distance: number;
}

export interface GraphChartEdge {
  /** Numbers of nodes. */
  readonly from: number;
  readonly to: number;
  /** Index into `relations`; null: edges have none. */
  readonly relation: number | null;
  /** Shown by browsers when the pointer rests on the edge. */
  readonly note?: string;
  readonly predicted?: boolean;
}

export interface GraphChartOptions {
  readonly title: string;
  readonly nodes: readonly GraphChartNode[];
  readonly edges: readonly GraphChartEdge[];
  readonly relations: readonly string[];
  readonly size?: number;
}

/** Colours of lines; grey is the last. */
const numSeries = 8;

/**
 * Returns the colour of each relation: the most frequent ones have their own, and if there are more relations than colours,
 * the others share the last.
 */
export function relationSeries<T>(relations: readonly T[]): ReadonlyMap<T, number> {
  const counts = new Map<T, number>();
  for (const relation of relations) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  const ordered = [...counts].sort(([, a], [, b]) => b - a);
  return new Map(ordered.map(([relation], i) => [relation, Math.min(i, numSeries - 1)]));
}

/** Returns a name for each colour. */
export function seriesNames(series: ReadonlyMap<string, number>): readonly string[] {
  const names: string[] = [];
  for (const [name, i] of series) names[i] ??= name;
  if (series.size > numSeries) names[numSeries - 1] = 'other relations';
  return names;
}

export function graphChart({ title, nodes, edges, relations, size = 640 }: GraphChartOptions): Panel {
  const pairs = edges.map(({ from, to }) => [from, to] as const);
  const { x, y } = forceLayout(nodes.length, pairs);
  const place = fit(x, y, size);
  const series = relationSeries(
    edges.flatMap(({ relation }) => (relation === null ? [] : [relations[relation]])),
  );
  const lines = edges.map(({ from, to, relation, note, predicted }) => {
    const [ax, ay] = place(from);
    const [bx, by] = place(to);
    const name = relation === null ? '' : relations[relation];
    const text = [nodes[from].name, name, nodes[to].name, note].filter(Boolean).join(' ');
    return element(
      'g',
      { class: seriesClass(series.get(name) ?? numSeries - 1) },
      element(
        'path',
        { class: predicted ? 'edge dash' : 'edge', d: bend(ax, ay, bx, by), 'marker-end': 'url(#arrow)' },
        element('title', {}, escapeText(text)),
      ),
    );
  });
  const dots = nodes.map(({ distance }, i) => {
    const [cx, cy] = place(i);
    return element('circle', {
      class: `fill ${seriesClass(distance === 0 ? 1 : 0)}`,
      ...{ cx, cy, r: distance === 0 ? 7 : 5, opacity: distance > 1 ? 0.6 : 1 },
    });
  });
  const names = nodes.map(({ name, distance }, i) => {
    const [left, top] = place(i);
    // Towards the middle on the right side, so that names stay in the picture.
    const isRight = left > size * 0.72;
    return label(shorten(name, 28), left + (isRight ? -9 : 9), top + 4, {
      class: distance === 0 ? 'title halo' : 'halo',
      ...(isRight ? { 'text-anchor': 'end' } : {}),
    });
  });
  const legend = legendOf(edges, series, size);
  const body = [arrow, label(title, 8, 14, { class: 'title' }), ...[...lines, ...dots, ...names], ...legend];
  return { width: size, height: size + 34 + 16 * legend.length, body: body.join('') };
}

/** The colour of a head is that of its line where browsers support it, else grey. */
const arrow = element(
  'defs',
  {},
  element(
    'marker',
    { id: 'arrow', viewBox: '0 0 8 8', refX: 13, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    element('path', { d: 'M0 0.5 L8 4 L0 7.5 Z', class: 'faint' }),
  ),
);

/** A slightly bent line: edges in both directions between two nodes lie apart. */
function bend(ax: number, ay: number, bx: number, by: number): string {
  const numbers = [ax, ay, (ax + bx) / 2 + (by - ay) * 0.06, (ay + by) / 2 - (bx - ax) * 0.06, bx, by];
  const [x1, y1, x2, y2, x3, y3] = numbers.map((value) => value.toFixed(1));
  return `M${x1} ${y1}Q${x2} ${y2} ${x3} ${y3}`;
}

/** Returns the place of a node in a picture of a size. */
function fit(x: Float64Array, y: Float64Array, size: number): (node: number) => [number, number] {
  const range = (values: Float64Array): [number, number] => [
    values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY),
    values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY),
  ];
  const [[left, right], [low, high]] = [range(x), range(y)];
  const [border, scale] = [36, Math.max(right - left, high - low) || 1];
  const inner = size - 2 * border;
  const offset = (from: number, to: number): number => border + ((1 - (to - from) / scale) * inner) / 2;
  return (node) => [
    offset(left, right) + ((x[node] - left) / scale) * inner,
    20 + offset(low, high) + ((y[node] - low) / scale) * inner,
  ];
}

function legendOf(
  edges: readonly GraphChartEdge[],
  series: ReadonlyMap<string, number>,
  size: number,
): string[] {
  const entries = seriesNames(series).map((name, i) => ({ name, series: i, dash: '' }));
  if (edges.some(({ predicted }) => predicted)) entries.push({ name: 'predicted', series: 7, dash: ' dash' });
  return entries.map(({ name, series, dash }, i) =>
    element(
      'g',
      { class: seriesClass(series) },
      element('line', {
        class: `edge${dash}`,
        x1: 8,
        x2: 30,
        y1: size + 34 + 16 * i,
        y2: size + 34 + 16 * i,
      }),
      label(shorten(name, 70), 36, size + 38 + 16 * i),
    ),
  );
}
