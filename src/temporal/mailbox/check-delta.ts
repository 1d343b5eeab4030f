/**
 * Checks a delta before any of it is applied. A delta that passes these checks and `checkClock` can be written without failing.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import type { StateDelta } from './rows.js';
import type { StateArrays, StateSizes } from './state.js';

/** The memory half of a delta as plain arrays. */
export interface PlainMemory {
  readonly nodes: Int32Array;
  readonly memory: FloatArray;
  readonly memoryTime: Float64Array;
  readonly memoryEvents: Int32Array;
}

/** The mail half of a delta as plain arrays. */
export interface PlainMail {
  readonly mailNodes: Int32Array;
  readonly mail: FloatArray;
  readonly mailTime: Float64Array;
  readonly mailEvents: Int32Array;
}

export type PlainDelta = PlainMemory & PlainMail;

export type MemoryDelta = Pick<StateDelta, 'nodes' | 'memory' | 'memoryTime' | 'memoryEvents'>;
export type MailDelta = Pick<StateDelta, 'mailNodes' | 'mail' | 'mailTime' | 'mailEvents'>;

export function checkMemory(where: string, sizes: StateSizes, delta: MemoryDelta): PlainMemory {
  const { nodes, memoryTime, memoryEvents } = delta;
  const memory = checkRows(where, 'memory', delta.memory, nodes, sizes.width, sizes);
  checkStamps(where, 'memory', nodes.length, memoryTime, memoryEvents, -1);
  return { nodes, memory, memoryTime, memoryEvents };
}

/** @param numEvents events whose features are known; mail of a later one could not be read. */
export function checkMail(where: string, sizes: StateSizes, delta: MailDelta, numEvents: number): PlainMail {
  const { mailNodes, mailTime, mailEvents } = delta;
  const mail = checkRows(where, 'mail', delta.mail, mailNodes, 2 * sizes.width, sizes);
  checkStamps(where, 'mail', mailNodes.length, mailTime, mailEvents, 0);
  const late = kernels().findOutOfRange(mailEvents, mailEvents.length, 0, Math.min(numEvents, 2 ** 31 - 1));
  if (late >= 0) {
    const advice = 'Append the event with its features before its mail.';
    const what = `events below ${numEvents}`;
    throw new ValueError(expected(where, what, `mailEvents[${late}]`, mailEvents[late], advice));
  }
  return { mailNodes, mail, mailTime, mailEvents };
}

/** Throws for rows that are earlier than those of their node. @param nameOf the id by which the message names a node. */
export function checkClock(
  where: string,
  state: StateArrays,
  slots: number,
  delta: PlainDelta,
  nameOf: (node: number) => number = (node) => node,
): void {
  const { nodes, memoryTime, mailNodes, mailTime } = delta;
  for (let i = 0; i < nodes.length; i++) {
    const stored = state.memoryTime[nodes[i]];
    if (memoryTime[i] < stored)
      throw timeOrderError(where, 'memory', nameOf(nodes[i]), memoryTime[i], stored);
  }
  for (let i = 0; i < mailNodes.length; i++) {
    const node = mailNodes[i];
    if (state.count[node] === 0) continue;
    const stored = state.mailTime[latestSlot(state, slots, node)];
    if (mailTime[i] < stored) throw timeOrderError(where, 'mail', nameOf(node), mailTime[i], stored);
  }
}

/** Returns the row of the slot that was written last. */
export function latestSlot(state: StateArrays, slots: number, node: number): number {
  return node * slots + ((state.cursor[node] + slots - 1) % slots);
}

function timeOrderError(where: string, name: string, node: number, got: number, stored: number): ValueError {
  const advice = 'Commit events in the order of time; call reset() before another pass over them.';
  return new ValueError(
    expected(where, `a time of at least ${stored}`, `the ${name} of node ${node}`, got, advice),
    { node, time: got, stored },
  );
}

function checkRows(
  where: string,
  name: string,
  values: unknown,
  ids: unknown,
  width: number,
  sizes: StateSizes,
): FloatArray {
  const idsName = name === 'mail' ? 'mailNodes' : 'nodes';
  if (!(ids instanceof Int32Array)) throw new ValueError(expected(where, 'an Int32Array', idsName, ids));
  if (!(values instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, values));
  if (values.dtype !== sizes.dtype)
    throw new DTypeError(expected(where, `dtype ${sizes.dtype}`, name, values.dtype));
  const { shape } = values;
  if (shape.length !== 2 || shape[0] !== ids.length || shape[1] !== width)
    throw new ShapeError(expected(where, `shape [${ids.length}, ${width}]`, name, `[${shape.join(', ')}]`));
  checkNodes(where, idsName, ids, sizes.numNodes);
  const data = values.dataSync<FloatArray>();
  if (kernels().allFinite(data, data.length) === 0) {
    const bad = data.findIndex((value) => !Number.isFinite(value));
    const at = `${name} of node ${ids[Math.floor(bad / width)]}`;
    const advice = 'Lower the learning rate or clip gradients; the store is unchanged.';
    throw new ValueError(expected(where, 'finite numbers', at, data[bad], advice));
  }
  return data;
}

export function checkNodes(where: string, name: string, ids: Int32Array, numNodes: number): void {
  const bad = kernels().findOutOfRange(ids, ids.length, 0, numNodes);
  if (bad < 0) return;
  const what = `nodes from 0 to ${numNodes - 1}`;
  throw new ValueError(expected(where, what, `${name}[${bad}]`, ids[bad], 'Use grow() for new nodes.'));
}

function checkStamps(
  where: string,
  name: string,
  n: number,
  times: unknown,
  events: unknown,
  least: number,
): void {
  if (!(times instanceof Float64Array) || times.length !== n)
    throw new ShapeError(expected(where, `a Float64Array of ${n}`, `${name}Time`, times));
  if (!(events instanceof Int32Array) || events.length !== n)
    throw new ShapeError(expected(where, `an Int32Array of ${n}`, `${name}Events`, events));
  for (let i = 0; i < n; i++) {
    if (!Number.isFinite(times[i]))
      throw new ValueError(expected(where, 'a finite time', `${name}Time[${i}]`, times[i]));
    if (events[i] < least)
      throw new ValueError(
        expected(where, `an event row of at least ${least}`, `${name}Events[${i}]`, events[i]),
      );
  }
}
