/**
 * Events of a temporal graph as columns: what callers hand over, how it is checked, and the growing arrays that keep it.
 *
 * All of a call is checked before any of it is taken. Arrays grow by doubling into new ones, and entries already there are
 * never written again, so a reader that holds the arrays of an earlier moment keeps reading the truth.
 */
import { kernels } from '../native/index.js';
import { type Ids, Tensor } from '../tensor/index.js';
import { describe, expected, ShapeError, ValueError } from '../util/errors.js';

/** Who met whom, and when. */
export interface TemporalEvents {
  readonly src: Ids;
  readonly dst: Ids;
  readonly time: Float64Array | readonly number[];
  /** The caller's name for each event; its position in the stream as received when not given. */
  readonly ids?: Ids;
  readonly types?: Ids;
  /** One row per event, row-major. */
  readonly features?: Float32Array;
}

/** Columns of one call, checked. */
export interface EventColumns {
  readonly count: number;
  readonly src: ArrayLike<number>;
  readonly dst: ArrayLike<number>;
  readonly time: ArrayLike<number>;
  readonly ids: ArrayLike<number> | null;
  readonly types: ArrayLike<number> | null;
  readonly features: Float32Array | null;
  /** The largest node id, −1 without events. */
  readonly maxNode: number;
}

/** Most events and most node ids: they are numbered with 32 bits. */
export const mostEvents = 2 ** 31 - 2;

/** Farthest time from 0: differences of any two must be numbers with 32 bits, which is how models see them. */
export const longest = 1.7e38;

/** What the columns of a call must agree with. */
export interface EventRules {
  /** Node ids lie below this. */
  readonly nodeLimit: number;
  /** What to do about a larger one. */
  readonly nodeAdvice: string;
  /** Numbers per event; −1: not known yet. */
  readonly featureWidth: number;
  /** Whether events have types; null: not known yet. */
  readonly typed: boolean | null;
}

export function checkEvents(where: string, events: TemporalEvents, rules: EventRules): EventColumns {
  if (typeof events !== 'object' || events === null)
    throw new ValueError(expected(where, 'an object with src, dst and time', 'events', events));
  const src = column(where, 'src', events.src);
  const count = src.length;
  const dst = sized(where, 'dst', column(where, 'dst', events.dst), count);
  const time = sized(where, 'time', timeColumn(where, events.time), count);
  const ids = events.ids === undefined ? null : sized(where, 'ids', column(where, 'ids', events.ids), count);
  const maxNode = Math.max(
    checkRange(where, 'src', src, rules.nodeLimit, rules.nodeAdvice),
    checkRange(where, 'dst', dst, rules.nodeLimit, rules.nodeAdvice),
  );
  for (let i = 0; i < count; i++) {
    // Also false for what is not a number.
    if (!(Math.abs(time[i]) <= longest)) {
      const what = Number.isFinite(time[i]) ? `numbers up to ${longest}` : 'finite numbers';
      throw new ValueError(expected(where, what, 'time', at(time[i], i)), { position: i });
    }
  }
  if (ids !== null) checkRange(where, 'ids', ids, 2 ** 31, 'Event ids are numbered with 32 bits.');
  const types = checkTypes(where, events, count, rules.typed);
  const features = checkFeatures(where, events.features, count, rules.featureWidth);
  return { count, src, dst, time, ids, types, features, maxNode };
}

/** The position of the first time that is earlier than the one before it (than `last` for the first), or −1. */
export function findDisorder(time: ArrayLike<number>, last: number): number {
  let before = last;
  for (let i = 0; i < time.length; i++) {
    if (time[i] < before) return i;
    before = time[i];
  }
  return -1;
}

/** Positions in time order; events of equal time keep their order. */
export function timeOrder(time: ArrayLike<number>): Int32Array {
  return Int32Array.from({ length: time.length }, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
}

/** The columns with entry order[i] at i; events without ids get their position from `firstId` on as id. */
export function reorder(
  columns: EventColumns,
  order: Int32Array,
  width: number,
  firstId: number,
): EventColumns {
  const { count, ids, types, features, maxNode } = columns;
  const pick = (from: ArrayLike<number>) => Int32Array.from(order, (i) => from[i]);
  let rows: Float32Array | null = null;
  if (features !== null) {
    rows = new Float32Array(features.length);
    for (let i = 0; i < count; i++) copyRow(features, order[i], rows, i, width);
  }
  return {
    ...{ count, maxNode, features: rows },
    src: pick(columns.src),
    dst: pick(columns.dst),
    time: Float64Array.from(order, (i) => columns.time[i]),
    ids: ids === null ? order.map((i) => firstId + i) : pick(ids),
    types: types === null ? null : pick(types),
  };
}

/** Growing arrays of events. */
export class EventStore {
  src = new Int32Array(0);
  dst = new Int32Array(0);
  time = new Float64Array(0);
  ids = new Int32Array(0);
  types: Int32Array | null = null;
  features: Float32Array | null = null;
  count = 0;
  /** Whether events have types; null until the first come. */
  typed: boolean | null = null;
  /** Numbers per event; −1 until the first come. */
  width = -1;

  /** Learns from the first events what was not known. */
  settle(columns: EventColumns): void {
    if (columns.count === 0) return;
    this.typed ??= columns.types !== null;
    if (this.width < 0) this.width = (columns.features?.length ?? 0) / columns.count;
  }

  /** Takes all events of a call, in its order. With `share`, the first features are kept as they are, not copied. */
  append(columns: EventColumns, firstId: number, share = false): void {
    const { count, src, dst, time, ids, types, features } = columns;
    const first = this.count;
    if (share && first === 0 && features !== null) this.features = features;
    this.reserve(first + count);
    for (let i = 0; i < count; i++) {
      this.src[first + i] = src[i];
      this.dst[first + i] = dst[i];
      // Minus zero is zero, so that equal times are equal bits.
      this.time[first + i] = time[i] + 0;
      this.ids[first + i] = ids === null ? firstId + i : ids[i];
    }
    if (types !== null && this.types !== null)
      for (let i = 0; i < count; i++) this.types[first + i] = types[i];
    if (features !== null && this.features !== null && this.features !== features)
      this.features.set(features, first * this.width);
    this.count = first + count;
  }

  /** Writes event `i` of the columns over entry `slot`. */
  write(slot: number, columns: EventColumns, i: number, id: number): void {
    this.src[slot] = columns.src[i];
    this.dst[slot] = columns.dst[i];
    this.time[slot] = columns.time[i] + 0;
    this.ids[slot] = id;
    if (columns.types !== null && this.types !== null) this.types[slot] = columns.types[i];
    if (columns.features !== null && this.features !== null)
      copyRow(columns.features, i, this.features, slot, this.width);
  }

  /** Makes room for `size` events. */
  reserve(size: number): void {
    if (size > this.time.length) {
      const room = Math.min(Math.max(size, 2 * this.time.length, 16), mostEvents);
      // Exactly as many as asked for at first: most streams come as one call.
      const rooms = this.time.length === 0 ? size : room;
      this.src = grown(this.src, new Int32Array(rooms), this.count);
      this.dst = grown(this.dst, new Int32Array(rooms), this.count);
      this.ids = grown(this.ids, new Int32Array(rooms), this.count);
      this.time = grown(this.time, new Float64Array(rooms), this.count);
    }
    const rooms = this.time.length;
    if (this.typed === true && (this.types?.length ?? 0) < size)
      this.types = grown(this.types ?? new Int32Array(0), new Int32Array(rooms), this.count);
    if (this.width > 0 && (this.features?.length ?? 0) < size * this.width)
      this.features = grown(
        this.features ?? new Float32Array(0),
        new Float32Array(rooms * this.width),
        this.count * this.width,
      );
  }
}

function grown<T extends Int32Array | Float64Array | Float32Array>(from: T, to: T, used: number): T {
  to.set(from.subarray(0, used));
  return to;
}

function copyRow(from: Float32Array, i: number, to: Float32Array, j: number, width: number): void {
  for (let k = 0; k < width; k++) to[j * width + k] = from[i * width + k];
}

function column(where: string, name: string, ids: Ids | undefined): ArrayLike<number> {
  if (ids instanceof Int32Array || Array.isArray(ids)) return ids as ArrayLike<number>;
  if (ids instanceof Tensor && ids.dtype === 'i32') return ids.dataSync() as Int32Array;
  throw new ValueError(
    expected(
      where,
      'an i32 tensor, an Int32Array or an array of numbers',
      name,
      ids instanceof Tensor ? ids.dtype : ids,
    ),
  );
}

function timeColumn(where: string, time: unknown): ArrayLike<number> {
  if (time instanceof Float64Array) return time;
  if (Array.isArray(time) && time.every((t) => typeof t === 'number')) return time;
  const advice = time instanceof Float32Array ? '32-bit times cannot tell seconds of our century apart.' : '';
  throw new ValueError(expected(where, 'a Float64Array or an array of numbers', 'time', time, advice));
}

function sized(where: string, name: string, values: ArrayLike<number>, count: number): ArrayLike<number> {
  if (values.length === count) return values;
  throw new ShapeError(expected(where, `${count} entries, one per entry of src,`, name, values.length));
}

/** Refuses anything but whole numbers from 0 to limit − 1, and returns the largest. */
function checkRange(
  where: string,
  name: string,
  values: ArrayLike<number>,
  limit: number,
  advice: string,
): number {
  let most = -1;
  for (let i = 0; i < values.length; i++) {
    const id = values[i];
    if ((id | 0) !== id || id < 0 || id >= limit) {
      throw new ValueError(expected(where, `whole numbers from 0 to ${limit - 1}`, name, at(id, i), advice), {
        position: i,
      });
    }
    if (id > most) most = id;
  }
  return most;
}

function checkTypes(
  where: string,
  { types }: TemporalEvents,
  count: number,
  typed: boolean | null,
): ArrayLike<number> | null {
  if (count > 0 && typed !== null && typed !== (types !== undefined)) {
    const want = typed
      ? 'a type for every event, as for the events before,'
      : 'no types, as for the events before,';
    throw new ValueError(expected(where, want, 'types', types));
  }
  if (types === undefined) return null;
  const values = sized(where, 'types', column(where, 'types', types), count);
  checkRange(where, 'types', values, 2 ** 31, '');
  return values;
}

function checkFeatures(
  where: string,
  features: Float32Array | undefined,
  count: number,
  width: number,
): Float32Array | null {
  if (features === undefined && (width <= 0 || count === 0)) return null;
  if (features !== undefined && !(features instanceof Float32Array))
    throw new ValueError(expected(where, 'a Float32Array', 'features', features));
  const length = features?.length ?? 0;
  const fits = width < 0 ? (count === 0 ? length === 0 : length % count === 0) : length === count * width;
  if (fits && (features === undefined || length === 0)) return null;
  if (fits && features !== undefined) {
    if (kernels().allFinite(features, length) === 1) return features;
    const bad = features.findIndex((value) => !Number.isFinite(value));
    const position = Math.floor((bad * count) / length);
    throw new ValueError(expected(where, 'finite numbers', 'features', at(features[bad], position)), {
      position,
    });
  }
  const want = width < 0 ? `a multiple of ${count} numbers` : `${count} × ${width} numbers`;
  throw new ShapeError(expected(where, want, 'features', features));
}

function at(value: unknown, position: number): string {
  return `${describe(value)} at position ${position}`;
}
