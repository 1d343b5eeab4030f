/** Writes a checked change into the arrays of a mailbox; rows travel by the kernels, only stamps are set one by one. */
import { type FloatArray, kernels, reduceCode } from '../../native/index.js';
import { latestSlot, type PlainDelta, type PlainMail, type PlainMemory } from './check-delta.js';
import { groupRows, isEarlier, type LatestFinder } from './merge.js';
import type { StateArrays, StateSizes } from './state.js';

export class StateWriter {
  readonly #finder: LatestFinder;
  readonly #combine: 'last' | 'mean';

  constructor(finder: LatestFinder, combine: 'last' | 'mean') {
    this.#finder = finder;
    this.#combine = combine;
  }

  /** @param features of events, where slots keep their mean. */
  write(state: StateArrays, sizes: StateSizes, delta: PlainDelta, features: Float32Array | null): void {
    if (delta.nodes.length > 0) this.#writeMemory(state, sizes, delta);
    if (delta.mailNodes.length > 0) this.#writeMail(state, sizes, delta, features);
  }

  #writeMemory(state: StateArrays, { width }: StateSizes, delta: PlainMemory): void {
    const { memoryTime, memoryEvents } = delta;
    const { nodes, rows } = this.#finder.find(delta.nodes, memoryTime, memoryEvents);
    let count = 0;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      const row = rows[i];
      // Of one time a greater event is there already: this row comes late. An unknown event (−1) replaces what is there.
      const known = memoryEvents[row] >= 0;
      if (known && memoryTime[row] === state.memoryTime[node] && memoryEvents[row] < state.memoryEvents[node])
        continue;
      state.memoryTime[node] = memoryTime[row];
      state.memoryEvents[node] = memoryEvents[row];
      nodes[count] = node;
      rows[count++] = row;
    }
    const values = pickRows(delta.memory, rows.subarray(0, count), width);
    kernels().putRows(
      values,
      nodes.subarray(0, count),
      state.memory,
      count,
      width * values.BYTES_PER_ELEMENT,
    );
  }

  #writeMail(state: StateArrays, sizes: StateSizes, delta: PlainMail, features: Float32Array | null): void {
    const { mailTime, mailEvents } = delta;
    const { slots, width } = sizes;
    const { nodes, rows } = this.#finder.find(delta.mailNodes, mailTime, mailEvents);
    const places = new Int32Array(nodes.length);
    let count = 0;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      const row = rows[i];
      const last = latestSlot(state, slots, node);
      // With one slot the greatest (time, event) stays; with several, mail of another event of that time is one more.
      if (
        slots === 1 &&
        state.count[node] > 0 &&
        isEarlier(mailTime[row], mailEvents[row], state.mailTime[last], state.mailEvents[last])
      )
        continue;
      const place = node * slots + state.cursor[node];
      state.mailTime[place] = mailTime[row];
      state.mailEvents[place] = mailEvents[row];
      state.cursor[node] = (state.cursor[node] + 1) % slots;
      if (state.count[node] < slots) state.count[node]++;
      nodes[count] = node;
      rows[count] = row;
      places[count++] = place;
    }
    const put = (values: FloatArray, into: FloatArray, rowWidth: number): void =>
      kernels().putRows(values, places, into, count, rowWidth * into.BYTES_PER_ELEMENT);
    if (this.#combine === 'last') {
      put(pickRows(delta.mail, rows.subarray(0, count), 2 * width), state.mail, 2 * width);
      return;
    }
    const { order, offsets } = groupRows(nodes.subarray(0, count), delta.mailNodes, mailTime, mailEvents);
    put(meanRows(pickRows(delta.mail, order, 2 * width), offsets, 2 * width), state.mail, 2 * width);
    if (features === null) return;
    const events = Int32Array.from(order, (row) => mailEvents[row]);
    const rowsOfEvents = toType(pickRows(features, events, sizes.meanWidth), state.mailFeatures);
    put(meanRows(rowsOfEvents, offsets, sizes.meanWidth), state.mailFeatures, sizes.meanWidth);
  }
}

/** The rows `ids` of x; x itself when these are all its rows in order. */
function pickRows(x: FloatArray, ids: Int32Array, width: number): FloatArray {
  if (ids.length * width === x.length && ids.every((id, i) => id === i)) return x;
  const length = ids.length * width;
  const picked = x instanceof Float64Array ? new Float64Array(length) : new Float32Array(length);
  kernels().gatherRows(x, ids, picked, ids.length, width * x.BYTES_PER_ELEMENT);
  return picked;
}

function meanRows(x: FloatArray, offsets: Int32Array, width: number): FloatArray {
  const groups = offsets.length - 1;
  const means =
    x instanceof Float64Array ? new Float64Array(groups * width) : new Float32Array(groups * width);
  kernels().segmentReduce(reduceCode.mean, x, offsets, means, null, groups, width);
  return means;
}

function toType(x: FloatArray, like: FloatArray): FloatArray {
  return like instanceof Float64Array && !(x instanceof Float64Array) ? Float64Array.from(x) : x;
}
