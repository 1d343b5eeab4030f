/**
 * Bodies of requests, checked by hand so that every refusal says where, what was expected and what came. Nodes are called
 * as the stream's files call them where `nodes` is given, else by number.
 */
import type { EventNodes, EventSide } from '../data/index.js';
import type { TemporalEvents } from '../graph/index.js';
import { describe } from '../util/errors.js';

/** What a client did wrong: status 400. */
export class BadRequest extends Error {}

type Fields = Readonly<Record<string, unknown>>;

export interface BodyRules {
  /** Null: nodes are numbers, and the graph says which there are. */
  readonly nodes: EventNodes | null;
  /** Numbers that every event has. */
  readonly featureWidth: number;
}

export interface Question {
  readonly src: number[];
  readonly dst: number[];
  readonly time: number | undefined;
}

const mostDestinations = 100_000;
const eventForms =
  'columns {"src": […], "dst": […], "time": […]}, one event object {"src", "dst", "time"} or a list of such';

/** Events from columns, one object, or a list of objects. */
export function eventsOf(body: unknown, rules: BodyRules): TemporalEvents {
  if (Array.isArray(body)) {
    if (body.length === 0) throw refusal('body', eventForms, 'an empty list');
    return joined(body.map((event, i) => oneEvent(event, `${i}.`, rules)));
  }
  if (!isFields(body)) throw refusal('body', eventForms, body);
  const columns = Array.isArray(body['src']) || Array.isArray(body['dst']) || Array.isArray(body['time']);
  if (!columns) return joined([oneEvent(body, '', rules)]);
  checkKeys(body, ['src', 'dst', 'time', 'types', 'features'], '');
  const { types, features } = body;
  const src = listOf(body['src'], 'src', (raw, at) => nodeOf(raw, at, 'src', rules));
  const column = <T>(key: string, read: Reader<T>): T[] => {
    const list = listOf(body[key], key, read);
    if (list.length === src.length) return list;
    throw refusal(key, `as many entries as src has, ${src.length}`, `${list.length}`);
  };
  const dst = column('dst', (raw, at) => nodeOf(raw, at, 'dst', rules));
  const time = column('time', numberOf);
  if (features === undefined && src.length > 0) checkNoFeatures('features', rules);
  return {
    ...{ src, dst, time },
    ...(types === undefined ? {} : { types: column('types', wholeOf) }),
    ...(features === undefined
      ? {}
      : { features: flat(column('features', (row, at) => rowOf(row, at, rules.featureWidth))) }),
  };
}

function checkNoFeatures(at: string, { featureWidth: width }: BodyRules): void {
  if (width > 0)
    throw refusal(at, `${width} ${width === 1 ? 'number' : 'numbers'} for each event`, undefined);
}

interface OneEvent {
  readonly src: number;
  readonly dst: number;
  readonly time: number;
  readonly type: number | undefined;
  readonly features: readonly number[] | undefined;
}

function oneEvent(event: unknown, prefix: string, rules: BodyRules): OneEvent {
  if (!isFields(event))
    throw refusal(prefix.slice(0, -1) || 'body', 'an event object {"src", "dst", "time"}', event);
  checkKeys(event, ['src', 'dst', 'time', 'type', 'features'], prefix);
  const { type, features } = event;
  const read = {
    src: nodeOf(event['src'], `${prefix}src`, 'src', rules),
    dst: nodeOf(event['dst'], `${prefix}dst`, 'dst', rules),
    time: numberOf(event['time'], `${prefix}time`),
    type: type === undefined ? undefined : wholeOf(type, `${prefix}type`),
    features: features === undefined ? undefined : rowOf(features, `${prefix}features`, rules.featureWidth),
  };
  if (features === undefined) checkNoFeatures(`${prefix}features`, rules);
  return read;
}

function joined(events: readonly OneEvent[]): TemporalEvents {
  const [{ type, features }] = events;
  for (const [i, event] of events.entries())
    if ((event.type === undefined) !== (type === undefined))
      throw refusal(`${i}.type`, 'it in every event or in none', event.type);
  return {
    src: events.map((event) => event.src),
    dst: events.map((event) => event.dst),
    time: events.map((event) => event.time),
    ...(type === undefined ? {} : { types: events.map((event) => event.type as number) }),
    ...(features === undefined
      ? {}
      : { features: flat(events.map((event) => event.features as readonly number[])) }),
  };
}

/** The body of `/score`: one source for all destinations, or as many as these. */
export function questionOf(body: unknown, rules: BodyRules): Question {
  const fields = fieldsOf(body, ['src', 'dst', 'time']);
  const src = oneOrMore(fields['src'], 'src', (raw, at) => nodeOf(raw, at, 'src', rules));
  const dst = oneOrMore(fields['dst'], 'dst', (raw, at) => nodeOf(raw, at, 'dst', rules));
  if (dst.length === 0 || dst.length > mostDestinations)
    throw refusal('dst', `from 1 to ${mostDestinations} nodes`, `a list of ${dst.length}`);
  if (src.length !== 1 && src.length !== dst.length)
    throw refusal('src', dst.length === 1 ? '1 source' : `1 or ${dst.length} sources`, `${src.length}`);
  return { src, dst, time: timeOf(fields) };
}

/** The body of `/recommend`. */
export function wishOf(
  body: unknown,
  rules: BodyRules,
): { src: number; k: number; time: number | undefined } {
  const fields = fieldsOf(body, ['src', 'k', 'time']);
  const { k = 10 } = fields;
  if (!Number.isInteger(k) || (k as number) < 1 || (k as number) > 10_000)
    throw refusal('k', 'a whole number from 1 to 10000', k);
  return { src: nodeOf(fields['src'], 'src', 'src', rules), k: k as number, time: timeOf(fields) };
}

const timeOf = ({ time }: Fields): number | undefined =>
  time === undefined ? undefined : numberOf(time, 'time');

function fieldsOf(body: unknown, known: readonly string[]): Fields {
  if (!isFields(body)) throw refusal('body', `an object with ${known.join(', ')}`, body);
  checkKeys(body, known, '');
  return body;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkKeys(fields: Fields, known: readonly string[], prefix: string): void {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new BadRequest(`${prefix}${unknown}: expected one of ${known.join(', ')}, got another key.`);
}

type Reader<T> = (value: unknown, at: string) => T;

function listOf<T>(value: unknown, at: string, read: Reader<T>): T[] {
  if (!Array.isArray(value)) throw refusal(at, 'a list', value);
  return value.map((part, i) => read(part, `${at}.${i}`));
}

const oneOrMore = <T>(value: unknown, at: string, read: Reader<T>): T[] =>
  Array.isArray(value) ? listOf(value, at, read) : [read(value, at)];

function nodeOf(raw: unknown, at: string, side: EventSide, { nodes }: BodyRules): number {
  if (nodes === null) {
    if (Number.isInteger(raw) && (raw as number) >= 0) return raw as number;
    throw refusal(at, 'the number of a node', raw);
  }
  if (typeof raw !== 'string' && typeof raw !== 'number')
    throw refusal(at, 'the id of a node, a number or a string', raw);
  const id = nodes.idOf(raw, side);
  if (id !== undefined) return id;
  throw new BadRequest(
    `${at}: expected a node that the model was trained with, as the event file calls ${side === 'src' ? 'sources' : 'destinations'}, got ${describe(raw)}.`,
  );
}

function numberOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw refusal(at, 'a finite number', value);
}

function wholeOf(value: unknown, at: string): number {
  if (Number.isInteger(value) && (value as number) >= 0) return value as number;
  throw refusal(at, 'a whole number from 0', value);
}

function rowOf(value: unknown, at: string, width: number): number[] {
  const row = listOf(value, at, (part, place) => {
    if (Number.isFinite(Math.fround(numberOf(part, place)))) return part as number;
    throw refusal(place, 'a number that fits 32-bit floats', part);
  });
  if (row.length === width) return row;
  throw new BadRequest(`${at}: expected ${width} numbers, got ${row.length}.`);
}

function flat(rows: readonly (readonly number[])[]): Float32Array {
  return Float32Array.from(rows.flat());
}

function refusal(at: string, what: string, got: unknown): BadRequest {
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
