/**
 * Parses request bodies. They are checked without a schema, so that every error states where, what was expected and what was
 * received. Nodes have the names of the stream's files if `nodes` is given, else numbers.
 */
import type { EventNodes, EventSide } from '../data/temporal/event-nodes.js';
import type { TemporalEvents } from '../graph/index.js';
import { describe } from '../util/errors.js';

/** An error of the client: status 400. */
export class BadRequest extends Error {}

type Fields = Readonly<Record<string, unknown>>;

export interface BodyRules {
  /** Null: nodes are numbers, checked against the graph. */
  readonly nodes: EventNodes | null;
  /** Number of features of every event. */
  readonly featureWidth: number;
}

export interface ScoreRequest {
  readonly src: number[];
  readonly dst: number[];
  readonly time: number | undefined;
}

const maxDestinations = 100_000;
const eventForms =
  'columns {"src": […], "dst": […], "time": […]}, one event object {"src", "dst", "time"} or a list of such objects';

/** Parses events from columns, one object, or a list of objects. */
export function parseEvents(body: unknown, rules: BodyRules): TemporalEvents {
  if (Array.isArray(body)) {
    if (body.length === 0) throw badValue('body', eventForms, 'an empty list');
    return toColumns(body.map((event, i) => parseEvent(event, `${i}.`, rules)));
  }
  if (!isFields(body)) throw badValue('body', eventForms, body);
  const columns = Array.isArray(body['src']) || Array.isArray(body['dst']) || Array.isArray(body['time']);
  if (!columns) return toColumns([parseEvent(body, '', rules)]);
  checkKeys(body, ['src', 'dst', 'time', 'types', 'features'], '');
  const { types, features } = body;
  const src = parseList(body['src'], 'src', (raw, at) => parseNode(raw, at, 'src', rules));
  const column = <T>(key: string, read: Reader<T>): T[] => {
    const list = parseList(body[key], key, read);
    if (list.length === src.length) return list;
    throw badValue(key, `as many entries as src has, ${src.length}`, `${list.length}`);
  };
  const dst = column('dst', (raw, at) => parseNode(raw, at, 'dst', rules));
  const time = column('time', parseNumber);
  if (features === undefined && src.length > 0) checkNoFeatures('features', rules);
  return {
    ...{ src, dst, time },
    ...(types === undefined ? {} : { types: column('types', parseInteger) }),
    ...(features === undefined
      ? {}
      : { features: flatten(column('features', (row, at) => parseRow(row, at, rules.featureWidth))) }),
  };
}

function checkNoFeatures(at: string, { featureWidth: width }: BodyRules): void {
  if (width > 0)
    throw badValue(at, `${width} ${width === 1 ? 'number' : 'numbers'} for each event`, undefined);
}

interface OneEvent {
  readonly src: number;
  readonly dst: number;
  readonly time: number;
  readonly type: number | undefined;
  readonly features: readonly number[] | undefined;
}

function parseEvent(event: unknown, prefix: string, rules: BodyRules): OneEvent {
  if (!isFields(event))
    throw badValue(prefix.slice(0, -1) || 'body', 'an event object {"src", "dst", "time"}', event);
  checkKeys(event, ['src', 'dst', 'time', 'type', 'features'], prefix);
  const { type, features } = event;
  const read = {
    src: parseNode(event['src'], `${prefix}src`, 'src', rules),
    dst: parseNode(event['dst'], `${prefix}dst`, 'dst', rules),
    time: parseNumber(event['time'], `${prefix}time`),
    type: type === undefined ? undefined : parseInteger(type, `${prefix}type`),
    features:
      features === undefined ? undefined : parseRow(features, `${prefix}features`, rules.featureWidth),
  };
  if (features === undefined) checkNoFeatures(`${prefix}features`, rules);
  return read;
}

function toColumns(events: readonly OneEvent[]): TemporalEvents {
  const [{ type, features }] = events;
  for (const [i, event] of events.entries())
    if ((event.type === undefined) !== (type === undefined))
      throw badValue(`${i}.type`, 'a type in every event or in none', event.type);
  return {
    src: events.map((event) => event.src),
    dst: events.map((event) => event.dst),
    time: events.map((event) => event.time),
    ...(type === undefined ? {} : { types: events.map((event) => event.type as number) }),
    ...(features === undefined
      ? {}
      : { features: flatten(events.map((event) => event.features as readonly number[])) }),
  };
}

/** Parses the body of `/score`: one source for all destinations, or one for each. */
export function parseScoreRequest(body: unknown, rules: BodyRules): ScoreRequest {
  const fields = parseFields(body, ['src', 'dst', 'time']);
  const src = oneOrMore(fields['src'], 'src', (raw, at) => parseNode(raw, at, 'src', rules));
  const dst = oneOrMore(fields['dst'], 'dst', (raw, at) => parseNode(raw, at, 'dst', rules));
  if (dst.length === 0 || dst.length > maxDestinations)
    throw badValue('dst', `from 1 to ${maxDestinations} nodes`, `a list of ${dst.length}`);
  if (src.length !== 1 && src.length !== dst.length)
    throw badValue('src', dst.length === 1 ? '1 source' : `1 or ${dst.length} sources`, `${src.length}`);
  return { src, dst, time: parseTime(fields) };
}

/** Parses the body of `/recommend`. */
export function parseRecommendRequest(
  body: unknown,
  rules: BodyRules,
): { src: number; k: number; time: number | undefined } {
  const fields = parseFields(body, ['src', 'k', 'time']);
  const { k = 10 } = fields;
  if (!Number.isInteger(k) || (k as number) < 1 || (k as number) > 10_000)
    throw badValue('k', 'a whole number from 1 to 10000', k);
  return { src: parseNode(fields['src'], 'src', 'src', rules), k: k as number, time: parseTime(fields) };
}

const parseTime = ({ time }: Fields): number | undefined =>
  time === undefined ? undefined : parseNumber(time, 'time');

function parseFields(body: unknown, known: readonly string[]): Fields {
  if (!isFields(body)) throw badValue('body', `an object with ${known.join(', ')}`, body);
  checkKeys(body, known, '');
  return body;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkKeys(fields: Fields, known: readonly string[], prefix: string): void {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new BadRequest(
      `${prefix}${unknown}: expected one of the keys ${known.join(', ')}, got an unknown key.`,
    );
}

type Reader<T> = (value: unknown, at: string) => T;

function parseList<T>(value: unknown, at: string, read: Reader<T>): T[] {
  if (!Array.isArray(value)) throw badValue(at, 'a list', value);
  return value.map((part, i) => read(part, `${at}.${i}`));
}

const oneOrMore = <T>(value: unknown, at: string, read: Reader<T>): T[] =>
  Array.isArray(value) ? parseList(value, at, read) : [read(value, at)];

function parseNode(raw: unknown, at: string, side: EventSide, { nodes }: BodyRules): number {
  if (nodes === null) {
    if (Number.isInteger(raw) && (raw as number) >= 0) return raw as number;
    throw badValue(at, 'the number of a node', raw);
  }
  if (typeof raw !== 'string' && typeof raw !== 'number')
    throw badValue(at, 'the id of a node, a number or a string', raw);
  const id = nodes.idOf(raw, side);
  if (id !== undefined) return id;
  throw new BadRequest(
    `${at}: expected the name of a ${side === 'src' ? 'source' : 'destination'} that the model was trained with, as in the event file, got ${describe(raw)}.`,
  );
}

function parseNumber(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw badValue(at, 'a finite number', value);
}

function parseInteger(value: unknown, at: string): number {
  if (Number.isInteger(value) && (value as number) >= 0) return value as number;
  throw badValue(at, 'a whole number from 0', value);
}

function parseRow(value: unknown, at: string, width: number): number[] {
  const row = parseList(value, at, (entry, position) => {
    if (Number.isFinite(Math.fround(parseNumber(entry, position)))) return entry as number;
    throw badValue(position, 'a number that fits 32-bit floats', entry);
  });
  if (row.length === width) return row;
  throw new BadRequest(`${at}: expected ${width} numbers, got ${row.length}.`);
}

function flatten(rows: readonly (readonly number[])[]): Float32Array {
  return Float32Array.from(rows.flat());
}

function badValue(at: string, what: string, got: unknown): BadRequest {
  const text =
    got === undefined
      ? 'nothing'
      : typeof got === 'string' && /^(an? |\d)/.test(got)
        ? got
        : isFields(got)
          ? 'an object'
          : Array.isArray(got)
            ? `a list of ${got.length}`
            : describe(got);
  return new BadRequest(`${at}: expected ${what}, got ${text}.`);
}
