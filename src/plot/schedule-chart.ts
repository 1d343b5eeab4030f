/**
 * The schedule of a partition buffer: which partitions are in memory in each buffer state, and the buckets of edges that have been
 * trained, are being trained and follow. Cells are paths in units of one, so that a page and a picture draw the same ones.
 */
import { element, label, type Panel, seriesClass } from './svg.js';

export interface Schedule {
  readonly partitions: number;
  /** The partitions in memory, by state. */
  readonly states: readonly (readonly number[])[];
  /** The buckets a·p + b that each state trains; null: they are not drawn. */
  readonly buckets: readonly (readonly number[])[] | null;
}

/** Cells as SVG paths; a cell is one unit wide and high. */
export interface ScheduleCells {
  /** The first state that is drawn, and how many are. */
  readonly from: number;
  readonly count: number;
  /** x is the state, y the partition. */
  readonly past: string;
  readonly now: string;
  /** Partitions that the current state has read. */
  readonly admitted: string;
  readonly later: string;
  /** x is the partition of the destination, y that of the source; null without buckets. */
  readonly buckets: { readonly done: string; readonly now: string; readonly later: string } | null;
}

/** States side by side; of more, those around the current one are drawn. */
const mostStates = 120;

export function scheduleCells({ partitions, states, buckets }: Schedule, state: number): ScheduleCells {
  const count = Math.min(mostStates, states.length);
  const from = Math.max(0, Math.min(state - Math.floor(count / 2), states.length - count));
  const before = new Set(states[state - 1] ?? []);
  const [past, now, admitted, later]: string[][] = [[], [], [], []];
  for (const [i, resident] of states.slice(from, from + count).entries())
    for (const k of resident) {
      const list = i + from < state ? past : i + from > state ? later : before.has(k) ? now : admitted;
      list.push(cell(i, k));
    }
  return {
    ...{ from, count, past: past.join(''), now: now.join('') },
    ...{ admitted: admitted.join(''), later: later.join('') },
    buckets: buckets === null ? null : bucketCells(buckets, partitions, state),
  };
}

function bucketCells(buckets: readonly (readonly number[])[], partitions: number, state: number) {
  const [done, now, later]: string[][] = [[], [], []];
  for (const [s, own] of buckets.entries())
    for (const bucket of own) {
      const list = s < state ? done : s > state ? later : now;
      list.push(cell(bucket % partitions, Math.floor(bucket / partitions)));
    }
  return { done: done.join(''), now: now.join(''), later: later.join('') };
}

const cell = (x: number, y: number): string => `M${x + 0.06} ${y + 0.06}h.88v.88h-.88z`;

export interface ScheduleChartOptions {
  readonly title: string;
  readonly schedule: Schedule;
  readonly state: number;
}

const height = 260;
const [left, top] = [56, 34];

/** Draws both next to each other. */
export function scheduleChart({ title, schedule, state }: ScheduleChartOptions): Panel {
  const { partitions } = schedule;
  const cells = scheduleCells(schedule, state);
  const width = Math.max(200, Math.min(560, 18 * cells.count));
  const group = (x: number, scaleX: number, scaleY: number, ...paths: readonly string[]): string =>
    element('g', { transform: `translate(${x} ${top}) scale(${scaleX} ${scaleY})` }, ...paths);
  const path = (d: string, series: number, opacity: number): string =>
    d === ''
      ? ''
      : element('g', { class: seriesClass(series), opacity }, element('path', { class: 'fill', d }));
  const at = left + width + 64;
  const middle = top + height / 2;
  const sideways = (text: string, x: number): string =>
    label(text, 0, 0, {
      ...{ 'text-anchor': 'middle', class: 'faint' },
      transform: `translate(${x} ${middle}) rotate(-90)`,
    });
  const body = [
    label(title, left, 14, { class: 'title' }),
    group(
      ...([left, width / cells.count, height / partitions] as const),
      ...[path(cells.past, 0, 0.25), path(cells.later, 0, 0.6), path(cells.now, 1, 0.7)],
      path(cells.admitted, 1, 1),
    ),
    label(`buffer states ${cells.from + 1} to ${cells.from + cells.count}`, left, top + height + 18, {
      class: 'faint',
    }),
    sideways('partition', left - 14),
    ...(cells.buckets === null
      ? []
      : [
          group(
            ...([at, height / partitions, height / partitions] as const),
            ...[path(cells.buckets.later, 7, 0.25), path(cells.buckets.done, 2, 0.7)],
            path(cells.buckets.now, 1, 1),
          ),
          label('destination', at, top + height + 18, { class: 'faint' }),
          sideways('source', at - 14),
        ]),
  ];
  return {
    width: cells.buckets === null ? left + width + 16 : at + height + 16,
    height: top + height + 30,
    body: body.join(''),
  };
}
