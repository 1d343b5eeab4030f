/** A table of counts as shaded cells: rows are true classes, columns predicted ones. */
import { shorten } from './frame.js';
import { element, label, type Panel, seriesClass } from './svg.js';

export interface MatrixChartOptions {
  readonly title: string;
  readonly rows: string;
  readonly columns: string;
  readonly names: readonly string[];
  /** counts[row][column] */
  readonly counts: readonly (readonly number[])[];
}

export function matrixChart({ title, rows, columns, names, counts }: MatrixChartOptions): Panel {
  const cell = Math.max(14, Math.min(44, 420 / Math.max(1, names.length)));
  const short = names.map((name) => shorten(name, 16));
  const left = 34 + 7 * Math.max(0, ...short.map(({ length }) => length));
  const top = 34;
  const size = cell * names.length;
  const cells = counts.flatMap((row, r) => {
    const sum = row.reduce((total, value) => total + value, 0);
    return row.map((value, c) => drawCell(value, sum, { x: left + c * cell, y: top + r * cell, cell }));
  });
  const texts = short.flatMap((name, i) => {
    const middle = (i + 0.5) * cell;
    const below = `translate(${left + middle + 4} ${top + size + 10}) rotate(-60)`;
    return [
      label(name, left - 6, top + middle + 4, { 'text-anchor': 'end' }),
      label(name, 0, 0, { 'text-anchor': 'end', transform: below }),
    ];
  });
  const bottom = top + size + 16 + 6.2 * Math.max(0, ...short.map(({ length }) => length));
  const body = [
    label(title, left, 14, { class: 'title' }),
    element('g', { class: seriesClass(0) }, ...cells),
    ...texts,
    label(columns, left + size / 2, bottom + 12, { 'text-anchor': 'middle', class: 'faint' }),
    label(rows, 0, 0, {
      'text-anchor': 'middle',
      class: 'faint',
      transform: `translate(12 ${top + size / 2}) rotate(-90)`,
    }),
  ];
  return { width: Math.max(left + size + 12, 240), height: bottom + 20, body: body.join('') };
}

function drawCell(
  value: number,
  sum: number,
  { x, y, cell }: { readonly x: number; readonly y: number; readonly cell: number },
): string {
  const share = sum === 0 ? 0 : value / sum;
  const box = { x: x + 0.5, y: y + 0.5, width: cell - 1, height: cell - 1 };
  const parts = [
    element('rect', { class: 'grid', ...box }),
    element('rect', { class: 'fill', ...box, opacity: Math.round(100 * share) / 100 }),
  ];
  const text = String(value);
  if (value > 0 && cell >= 7 * text.length + 4)
    parts.push(label(text, x + cell / 2, y + cell / 2 + 4, { 'text-anchor': 'middle', class: 'halo' }));
  return parts.join('');
}
