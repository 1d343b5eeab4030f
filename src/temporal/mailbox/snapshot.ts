/** A mailbox as plain arrays, for checkpoints: all it knows, including what waits for `drain`. */
import { type FloatArray, kernels, type TypedArray } from '../../native/index.js';
import { expected, FormatError } from '../../util/errors.js';
import type { PlainDelta } from './check-delta.js';
import { type StateName, type StateSizes, stateNames, stateType, stateWidths } from './state.js';

export interface MailBoxSnapshot {
  /** Number of commits so far. */
  readonly version: number;
  readonly numNodes: number;
  readonly width: number;
  readonly slots: number;
  /** Every array by name; those of changes that wait begin with `pending.`. */
  readonly arrays: Readonly<Record<string, TypedArray>>;
}

const pendingNames = [
  ...(['nodes', 'memory', 'memoryTime', 'memoryEvents'] as const),
  ...(['mailNodes', 'mail', 'mailTime', 'mailEvents'] as const),
] as const;

/** @param copied the arrays of all rows; kept. */
export function takeSnapshot(
  copied: Readonly<Record<StateName, TypedArray>>,
  sizes: StateSizes,
  version: number,
  pending: PlainDelta,
): MailBoxSnapshot {
  const arrays: Record<string, TypedArray> = { ...copied };
  for (const name of pendingNames) arrays[`pending.${name}`] = pending[name].slice();
  return { version, numNodes: sizes.numNodes, width: sizes.width, slots: sizes.slots, arrays };
}

/**
 * Throws for a snapshot that does not fit, before anything is changed; returns its pending changes.
 * @param numIds bound of the ids in pending changes, where it is not the number of rows
 */
export function checkSnapshot(
  snapshot: MailBoxSnapshot,
  sizes: StateSizes,
  numEvents: number,
  numIds = sizes.numNodes,
): PlainDelta {
  const where = 'restore';
  if (typeof snapshot !== 'object' || snapshot === null || typeof snapshot.arrays !== 'object')
    throw new FormatError(expected(where, 'what snapshot() returned', 'snapshot', snapshot));
  for (const name of ['numNodes', 'width', 'slots'] as const) {
    if (snapshot[name] !== sizes[name]) {
      const advice = 'Restore into a mailbox of the same size and memory section.';
      throw new FormatError(
        expected(where, `${sizes[name]}`, `${name} of the snapshot`, snapshot[name], advice),
      );
    }
  }
  if (!Number.isSafeInteger(snapshot.version) || snapshot.version < 0)
    throw new FormatError(expected(where, 'a number of commits', 'version', snapshot.version));
  const widths = stateWidths(sizes);
  for (const name of stateNames) {
    checkArray(snapshot, name, stateType(sizes, name), sizes.numNodes * widths[name]);
  }
  const floats = stateType(sizes, 'memory');
  const rows = snapshot.arrays['pending.nodes']?.length ?? 0;
  const mails = snapshot.arrays['pending.mailNodes']?.length ?? 0;
  const lengths = { nodes: rows, memory: rows * sizes.width, memoryTime: rows, memoryEvents: rows };
  const mailLengths = { mailNodes: mails, mail: mails * 2 * sizes.width, mailTime: mails, mailEvents: mails };
  for (const [name, length] of Object.entries({ ...lengths, ...mailLengths })) {
    const type =
      name === 'memory' || name === 'mail' ? floats : name.endsWith('Time') ? Float64Array : Int32Array;
    checkArray(snapshot, `pending.${name}`, type, length);
  }
  checkValues(snapshot, sizes, numEvents, numIds);
  const entries = pendingNames.map((name) => [name, snapshot.arrays[`pending.${name}`].slice()]);
  return Object.fromEntries(entries) as PlainDelta;
}

/** Checks the values that kernels use as rows and that clocks compare. */
function checkValues(
  { arrays }: MailBoxSnapshot,
  sizes: StateSizes,
  numEvents: number,
  numIds: number,
): void {
  const events = Math.min(numEvents, 2 ** 31 - 1);
  const ranges: Readonly<Record<string, readonly [number, number]>> = {
    cursor: [0, sizes.slots],
    count: [0, sizes.slots + 1],
    memoryEvents: [-1, 2 ** 31 - 1],
    mailEvents: [-1, events],
    'pending.nodes': [0, numIds],
    'pending.memoryEvents': [-1, 2 ** 31 - 1],
    'pending.mailNodes': [0, numIds],
    'pending.mailEvents': [0, events],
  };
  for (const [name, [low, high]] of Object.entries(ranges)) {
    const array = arrays[name] as Int32Array;
    const bad = kernels().findOutOfRange(array, array.length, low, high);
    if (bad >= 0) throw wrongValue(`from ${low} to ${high - 1}`, name, bad, array[bad]);
  }
  const floats = ['memory', 'memoryTime', 'mail', 'mailTime', 'mailFeatures'];
  for (const name of [...floats, ...floats.slice(0, 4).map((name) => `pending.${name}`)]) {
    const array = arrays[name] as Float64Array;
    for (let i = 0; i < array.length; i++)
      if (!Number.isFinite(array[i])) throw wrongValue('finite', name, i, array[i]);
  }
}

function wrongValue(what: string, name: string, at: number, got: number): FormatError {
  const advice = 'The snapshot was changed; take another.';
  return new FormatError(
    expected('restore', `numbers ${what}`, `${name}[${at}] of the snapshot`, got, advice),
  );
}

function checkArray(snapshot: MailBoxSnapshot, name: string, type: unknown, length: number): void {
  const array = snapshot.arrays[name];
  if (array?.constructor === type && array.length === length) return;
  const what = `${(type as { name: string }).name} of ${length}`;
  const advice = 'The snapshot is incomplete; take another.';
  throw new FormatError(expected('restore', what, `array ${name} of the snapshot`, array, advice));
}

/** Several changes as one: all their rows, one change after the other. */
export function joinDeltas(deltas: readonly PlainDelta[], dtype: 'f32' | 'f64'): PlainDelta {
  const floats = (name: 'memory' | 'mail'): FloatArray => {
    const length = deltas.reduce((sum, delta) => sum + delta[name].length, 0);
    const all = dtype === 'f64' ? new Float64Array(length) : new Float32Array(length);
    return fillJoined(all, deltas, name);
  };
  const rows = (name: 'nodes' | 'mailNodes'): number =>
    deltas.reduce((sum, delta) => sum + delta[name].length, 0);
  const memoryRows = rows('nodes');
  const mailRows = rows('mailNodes');
  return {
    nodes: fillJoined(new Int32Array(memoryRows), deltas, 'nodes'),
    memory: floats('memory'),
    memoryTime: fillJoined(new Float64Array(memoryRows), deltas, 'memoryTime'),
    memoryEvents: fillJoined(new Int32Array(memoryRows), deltas, 'memoryEvents'),
    mailNodes: fillJoined(new Int32Array(mailRows), deltas, 'mailNodes'),
    mail: floats('mail'),
    mailTime: fillJoined(new Float64Array(mailRows), deltas, 'mailTime'),
    mailEvents: fillJoined(new Int32Array(mailRows), deltas, 'mailEvents'),
  };
}

function fillJoined<T extends TypedArray>(all: T, deltas: readonly PlainDelta[], name: keyof PlainDelta): T {
  let at = 0;
  for (const delta of deltas) {
    all.set(delta[name], at);
    at += delta[name].length;
  }
  return all;
}
