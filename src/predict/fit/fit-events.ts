/** Prediction of events in a stream in one call. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { writeQuery } from '../../data/formats/table-files.js';
import { checkTableSource, isTableQuery, isTableSource } from '../../data/formats/table-source.js';
import {
  type ReadTemporalOptions,
  readTemporal,
  type TableQuery,
  type TableSource,
} from '../../data/index.js';
import { checkEventColumns } from '../../data/temporal/read-temporal.js';
import { type GraphologyGraph, isGraphology } from '../../graph/graphology.js';
import { resolveTemporalConfig } from '../../train/index.js';
import { streamOptions } from '../../train/tasks/events/stream-options.js';
import { temporalTemplate } from '../../train/tasks/events/temporal-template.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { EventStreamPredictor, Name } from '../predictor.js';
import { writeCsv } from './csv-table.js';
import { checkInputRows, checkRow, fieldOf, nameText } from './edge-input.js';
import { checkFitOptions, type FitRunOptions, fitRun, fitRunOptionNames, overridesOf } from './fit-run.js';

/** An event as a tuple. */
export type EventTuple = readonly [head: Name, tail: Name, time: number | Date];

/** An event as an object; all events have the same number of features. */
export interface EventRecord {
  readonly head: Name;
  readonly tail: Name;
  readonly time: number | Date;
  readonly features?: readonly number[];
}

/** Events in any order, a graphology graph whose edges have a time, the path of a file, or a query. */
export type EventSource = readonly (EventTuple | EventRecord)[] | GraphologyGraph | TableSource;

export interface FitEventsOptions extends FitRunOptions {
  /** Edge attribute of a graphology graph that holds the time. Default: `time`. */
  readonly time?: string;
  /**
   * Names of two types of nodes, for example `['user', 'item']`, when sources and destinations have separate ids: user 7
   * is then not item 7. Default: both sides share their ids; a file's column names decide.
   */
  readonly nodeTypes?: readonly [source: string, destination: string];
}

const where = 'fitEvents';

/** Each of the three splits needs some events: training 70 %, validation and test 15 % each. */
const fewest = 20;

function checkAmount(count: number): void {
  if (count < fewest)
    throw new ValueError(
      expected(where, `at least ${fewest} events to learn from and to test on`, 'events', count),
    );
}

/** Larger files have enough events. */
const smallFile = 64 * 1024;

/**
 * Trains `pair_statistics`, or the model that `config` chooses, on the events before a point in time, and returns a predictor that scores and ranks future
 * events by name and takes new ones (`append`). `model.metrics.test` has the metrics on the last events.
 *
 * @example
 * const model = await fitEvents([['ana', 'bob', 1700000000], ['bob', 'carl', 1700000060], …]);
 * const [answers] = await model.rank([{ head: 'ana' }], { k: 3 });
 * await model.close();
 */
export async function fitEvents(
  events: EventSource,
  options: FitEventsOptions = {},
): Promise<EventStreamPredictor> {
  checkOptionNames(where, options, { ...fitRunOptionNames, time: true, nodeTypes: true });
  checkFitOptions(where, options);
  if (options.time !== undefined && !isGraphology(events))
    throw new ValueError(
      expected(where, 'a graphology graph', 'events with the option time', events, 'Leave time out.'),
    );
  const rows = isTableSource(events) ? null : eventRows(events, options);
  if (isTableSource(events)) checkTableSource(where, 'events', events);
  return fitRun(where, options, async ({ data, run }) => {
    const path = await eventFile(events, rows, join(data, 'events.csv'));
    const { epochs, seed, nodeTypes, config = {} } = options;
    const keys = {
      'storage.model_dir': run,
      'dataset.sort': true,
      ...(isTableQuery(events) ? { 'dataset.header': true } : {}),
      ...(epochs === undefined ? {} : { 'train.epoch': epochs }),
      ...(seed === undefined ? {} : { 'training.random_seed': seed }),
      ...(nodeTypes === undefined ? {} : { 'dataset.node_types': nodeTypes }),
      ...config,
    };
    const overrides = overridesOf(keys);
    const resolved = resolveTemporalConfig(parse(temporalTemplate({ path }, overrides)), overrides).config;
    if (rows === null) await checkEventFile(path, streamOptions(resolved));
    return resolved;
  });
}

/** Throws for a file without times, and for one with too few events. */
async function checkEventFile(path: string, options: ReadTemporalOptions): Promise<void> {
  await checkEventColumns(path, options);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > smallFile) return;
  checkAmount((await readTemporal(path, { ...options, sort: true })).events.src.length);
}

/** Returns the file of the events; rows in memory and results of queries are written to `path`. */
async function eventFile(
  events: EventSource,
  rows: readonly CheckedEvent[] | null,
  path: string,
): Promise<string> {
  if (typeof events === 'string') return events;
  if (rows !== null) return writeEvents(path, rows);
  await writeQuery(where, events as TableQuery, path);
  return path;
}

/** An event whose fields have been checked. */
interface CheckedEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
  readonly features: readonly number[];
}

function eventRows(
  events: Exclude<EventSource, TableSource>,
  { time = 'time' }: FitEventsOptions,
): CheckedEvent[] {
  const rows = isGraphology(events) ? graphRows(events, time) : checkInputRows(where, 'events', events);
  const checked = rows.map((row, i) => {
    checkRow(where, `events[${i}]`, row, {
      form: '[head, tail, time] or an object with head, tail and time',
      fields: ['head', 'tail', 'time'],
      optional: ['features'],
      lengths: [3],
    });
    return {
      head: nameText(where, `events[${i}] head`, fieldOf(row, 'head', 0)),
      tail: nameText(where, `events[${i}] tail`, fieldOf(row, 'tail', 1)),
      time: seconds(`events[${i}] time`, fieldOf(row, 'time', 2)),
      features: Array.isArray(row) ? [] : ((row as EventRecord).features ?? []),
    };
  });
  const width = checked[0].features.length;
  const wrong = checked.findIndex(
    ({ features }) =>
      !Array.isArray(features) || features.length !== width || !features.every(Number.isFinite),
  );
  if (wrong >= 0)
    throw new ValueError(
      expected(
        where,
        `${width} finite numbers, as the first event has`,
        `events[${wrong}].features`,
        checked[wrong].features,
      ),
    );
  checkAmount(checked.length);
  return checked;
}

/** A time as a number; a `Date` is seconds since 1970. */
function seconds(name: string, value: unknown): number {
  const number = value instanceof Date ? value.getTime() / 1000 : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new ValueError(expected(where, 'a finite number or a Date', name, value));
}

function graphRows(graph: GraphologyGraph, attribute: string): readonly unknown[] {
  const rows: unknown[] = [];
  graph.forEachEdge((_edge, attributes, head, tail) => {
    rows.push([head, tail, attributes[attribute]]);
  });
  return checkInputRows(where, 'the edges of the graph', rows);
}

function writeEvents(path: string, events: readonly CheckedEvent[]): Promise<string> {
  const width = events[0].features.length;
  const features = Array.from({ length: width }, (_, i) => `f${i}`);
  return writeCsv(
    path,
    ['src', 'dst', 'time', ...features],
    events.map(({ head, tail, time, features: values }) => [head, tail, time, ...values]),
  );
}
