/**
 * The arrays of a mailbox: what it knows of every node, with room to grow. No rules here: `shared-mailbox.ts` decides
 * what is written.
 *
 * Slot k of node v is row v·K + k of `mail`, `mailTime`, `mailEvents` and `mailFeatures`. The filled slots of a node are
 * always its first `count`; `cursor` is the one that the next mail takes.
 */
import type { FloatArray, TypedArray } from '../../native/index.js';
import { expected, ValueError } from '../../util/errors.js';

export interface StateSizes {
  readonly numNodes: number;
  /** D. */
  readonly width: number;
  /** K. */
  readonly slots: number;
  /** Width of the mean edge features that slots keep; 0 when features are found by event. */
  readonly meanWidth: number;
  readonly dtype: 'f32' | 'f64';
  /** Time of a node that nothing happened to. */
  readonly startTime: number;
}

export interface StateArrays {
  memory: FloatArray;
  memoryTime: Float64Array;
  /** Event of the last change; −1 before any. */
  memoryEvents: Int32Array;
  mail: FloatArray;
  mailTime: Float64Array;
  mailEvents: Int32Array;
  mailFeatures: FloatArray;
  cursor: Int32Array;
  count: Int32Array;
}

export type StateName = keyof StateArrays;

/** Elements per node of every array. */
export function stateWidths({ width, slots, meanWidth }: StateSizes): Readonly<Record<StateName, number>> {
  return {
    memory: width,
    memoryTime: 1,
    memoryEvents: 1,
    mail: slots * 2 * width,
    mailTime: slots,
    mailEvents: slots,
    mailFeatures: slots * meanWidth,
    cursor: 1,
    count: 1,
  };
}

export const stateNames = [
  ...(['memory', 'memoryTime', 'memoryEvents', 'mail', 'mailTime', 'mailEvents'] as const),
  ...(['mailFeatures', 'cursor', 'count'] as const),
] as const satisfies readonly StateName[];

/** The class of an array. */
export function stateType(
  { dtype }: StateSizes,
  name: StateName,
): Float32ArrayConstructor | Float64ArrayConstructor | Int32ArrayConstructor {
  if (name === 'memory' || name === 'mail' || name === 'mailFeatures')
    return dtype === 'f64' ? Float64Array : Float32Array;
  return name === 'memoryTime' || name === 'mailTime' ? Float64Array : Int32Array;
}

/** Bytes of everything that is known of one node. */
export function bytesPerNode(sizes: StateSizes): number {
  const { memory, mail, mailFeatures, mailTime, mailEvents } = stateWidths(sizes);
  const floats = sizes.dtype === 'f64' ? 8 : 4;
  return floats * (memory + mail + mailFeatures) + 8 * (1 + mailTime) + 4 * (3 + mailEvents);
}

/** All arrays, or an error that names the size: what does not fit must not end in half a store. */
export function allocateState(sizes: StateSizes, capacity: number): StateArrays {
  try {
    return allocate(sizes, capacity);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const gigabytes = (capacity * bytesPerNode(sizes)) / 2 ** 30;
    const got = `${capacity} nodes with ${bytesPerNode(sizes)} bytes each (${gigabytes.toFixed(1)} GiB)`;
    const advice = 'Use fewer nodes, a smaller dim_out or a smaller mailbox_size.';
    throw new ValueError(
      expected('SharedMailBox', 'memory and mail that fit in memory', 'numNodes', got, advice),
    );
  }
}

function allocate(sizes: StateSizes, capacity: number): StateArrays {
  const widths = stateWidths(sizes);
  const floats = (name: StateName): FloatArray => {
    const length = capacity * widths[name];
    return sizes.dtype === 'f64' ? new Float64Array(length) : new Float32Array(length);
  };
  const state = {
    memory: floats('memory'),
    memoryTime: new Float64Array(capacity),
    memoryEvents: new Int32Array(capacity),
    mail: floats('mail'),
    mailTime: new Float64Array(capacity * widths.mailTime),
    mailEvents: new Int32Array(capacity * widths.mailEvents),
    mailFeatures: floats('mailFeatures'),
    cursor: new Int32Array(capacity),
    count: new Int32Array(capacity),
  };
  state.memoryEvents.fill(-1);
  state.mailEvents.fill(-1);
  if (sizes.startTime !== 0) {
    state.memoryTime.fill(sizes.startTime);
    state.mailTime.fill(sizes.startTime);
  }
  return state;
}

export function resetState(state: StateArrays, startTime: number): void {
  for (const name of stateNames) (state[name] as Float64Array).fill(0);
  state.memoryEvents.fill(-1);
  state.mailEvents.fill(-1);
  state.memoryTime.fill(startTime);
  state.mailTime.fill(startTime);
}

/** Copies of the arrays, without the room to grow. */
export function copyState(state: StateArrays, sizes: StateSizes): Record<StateName, TypedArray> {
  const widths = stateWidths(sizes);
  const entries = stateNames.map((name) => [name, state[name].slice(0, sizes.numNodes * widths[name])]);
  return Object.fromEntries(entries) as Record<StateName, TypedArray>;
}
