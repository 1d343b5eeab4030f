/**
 * Events of a temporal graph as columns: the arguments of callers, their checks, and the growing arrays that store
 * them.
 *
 * All events of a call are checked before any is stored. Arrays grow by doubling into new ones, and stored entries are
 * never overwritten, so a reader that holds the arrays of an earlier moment reads valid data.
 */
import { kernels } from '../native/index.js';
import { type Ids, Tensor } from '../tensor/index.js';
import { describe, expected, ShapeError, ValueError } from '../util/errors.js';

/** Events: source, destination and time of each. */
export interface TemporalEvents {
  readonly src: Ids;
  readonly dst: Ids;
  readonly time: Float64Array | readonly number[];
  /** The caller's id of each event; by default its position in the stream as received. */
  readonly ids?: Ids;
  readonly types?: Ids;
  /** One row per event, row-major. */
  readonly features?: Float32Array;
}

/** Checked columns of one call. */
export interface EventColumns {
  readonly count: number;
  readonly src: ArrayLike<number>;
  readonly dst: ArrayLike<number>;
  readonly time: ArrayLike<number>;
  readonly ids: ArrayLike<number> | null;
  readonly types: ArrayLike<number> | null;
  readonly features: Float32Array | null;
  /** The largest node id; −1 if there are no events. */
  readonly maxNode: number;
}

/** The largest number of events and of node ids, which are 32-bit integers. */
export const maxEvents = 2 ** 31 - 2;

/** The largest absolute time: differences of any two must be finite in f32, in which models compute. */
export const maxTime = 1.7e38;

/** The properties that the columns of a call must have. */
export interface EventRules {
  /** The exclusive upper bound of node ids. */
  readonly nodeLimit: number;
  /** The advice for a larger id. */
  readonly nodeAdvice: string;
  /** The number of features per event; −1 if not known yet. */
  readonly featureWidth: number;
  /** Whether events have types; null if not known yet. */
  readonly typed: boolean | null;
}

export function checkEvents(where: string, events: TemporalEvents, rules: EventRules): EventColumns {
  if (typeof events !== 'object' || events === null)
    throw new ValueError(expected(where, 'an object with src, dst and time', 'events', events));
  const src = column(where, 'src', events.src);
  const count = src.length;
  const dst = checkCount(where, 'dst', column(where, 'dst', events.dst), count);
  const time = checkCount(where, 'time', timeColumn(where, events.time), count);
  const ids =
    events.ids === undefined ? null : checkCount(where, 'ids', column(where, 'ids', events.ids), count);
  const maxNode = Math.max(
    checkRange(where, 'src', src, rules.nodeLimit, rules.nodeAdvice),
    checkRange(where, 'dst', dst, rules.nodeLimit, rules.nodeAdvice),
  );
  for (let i = 0; i < count; i++) {
    // The comparison is also false for NaN.
    if (!(Math.abs(time[i]) <= maxTime)) {
      const what = Number.isFinite(time[i]) ? `numbers up to ${maxTime}` : 'finite numbers';
      throw new ValueError(expected(where, what, 'time', at(time[i], i)), { position: i });
    }
  }
  if (ids !== null) checkRange(where, 'ids', ids, 2 ** 31, 'Event ids are numbered with 32 bits.');
  const types = checkTypes(where, events, count, rules.typed);
  const features = checkFeatures(where, events.features, count, rules.featureWidth);
  return { count, src, dst, time, ids, types, features, maxNode };
}

/** Returns the position of the first time that is earlier than the one before it (`last` for the first), or −1. */
export function findDisorder(time: ArrayLike<number>, last: number): number {
  let before = last;
  for (let i = 0; i < time.length; i++) {
    if (time[i] < before) return i;
    before = time[i];
  }
  return -1;
}

/** Returns positions in time order; events of equal time keep their order. */
export function timeOrder(time: ArrayLike<number>): Int32Array {
  return Int32Array.from({ length: time.length }, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
}

/** Returns the columns with entry order[i] at i; events without ids get ids from `firstId` on by position. */
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
  /** Whether events have types; null before the first events. */
  typed: boolean | null = null;
  /** The number of features per event; −1 before the first events. */
  width = -1;

  /** Sets types and width from the first events. */
  settle(columns: EventColumns): void {
    if (columns.count === 0) return;
    this.typed ??= columns.types !== null;
    if (this.width < 0) this.width = (columns.features?.length ?? 0) / columns.count;
  }

  /** Adds all events of a call, in its order. With `share`, the first features are used without a copy. */
  append(columns: EventColumns, firstId: number, share = false): void {
    const { count, src, dst, time, ids, types, features } = columns;
    const first = this.count;
    if (share && first === 0 && features !== null) this.features = features;
    this.reserve(first + count);
    for (let i = 0; i < count; i++) {
      this.src[first + i] = src[i];
      this.dst[first + i] = dst[i];
      // Adding 0 turns −0 into 0, so that equal times have equal bits.
      this.time[first + i] = time[i] + 0;
      this.ids[first + i] = ids === null ? firstId + i : ids[i];
    }
    if (types !== null && this.types !== null)
      for (let i = 0; i < count; i++) this.types[first + i] = types[i];
    if (features !== null && this.features !== null && this.features !== features)
      this.features.set(features, first * this.width);
    this.count = first + count;
  }

  /** Writes event `i` of the columns to entry `slot`. */
  write(slot: number, columns: EventColumns, i: number, id: number): void {
    this.src[slot] = columns.src[i];
    this.dst[slot] = columns.dst[i];
    this.time[slot] = columns.time[i] + 0;
    this.ids[slot] = id;
    if (columns.types !== null && this.types !== null) this.types[slot] = columns.types[i];
    if (columns.features !== null && this.features !== null)
      copyRow(columns.features, i, this.features, slot, this.width);
  }

  /** Grows the arrays to `size` events. */
  reserve(size: number): void {
    if (size > this.time.length) {
      const room = Math.min(Math.max(size, 2 * this.time.length, 16), maxEvents);
      // The first call allocates exactly: most streams are one call.
      const capacity = this.time.length === 0 ? size : room;
      this.src = growArray(this.src, new Int32Array(capacity), this.count);
      this.dst = growArray(this.dst, new Int32Array(capacity), this.count);
      this.ids = growArray(this.ids, new Int32Array(capacity), this.count);
      this.time = growArray(this.time, new Float64Array(capacity), this.count);
    }
    const capacity = this.time.length;
    if (this.typed === true && (this.types?.length ?? 0) < size)
      this.types = growArray(this.types ?? new Int32Array(0), new Int32Array(capacity), this.count);
    if (this.width > 0 && (this.features?.length ?? 0) < size * this.width)
      this.features = growArray(
        this.features ?? new Float32Array(0),
        new Float32Array(capacity * this.width),
        this.count * this.width,
      );
  }
}

function growArray<T extends Int32Array | Float64Array | Float32Array>(from: T, to: T, used: number): T {
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
  const advice = time instanceof Float32Array ? 'Seconds since 1970 need 64 bits.' : '';
  throw new ValueError(expected(where, 'a Float64Array or an array of numbers', 'time', time, advice));
}

function checkCount(
  where: string,
  name: string,
  values: ArrayLike<number>,
  count: number,
): ArrayLike<number> {
  if (values.length === count) return values;
  throw new ShapeError(expected(where, `${count} entries, one per entry of src,`, name, values.length));
}

/** Throws unless all ids are whole numbers from 0 to limit − 1; returns the largest. */
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
  const values = checkCount(where, 'types', column(where, 'types', types), count);
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
