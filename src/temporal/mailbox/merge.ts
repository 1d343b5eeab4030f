/**
 * Which row of a delta wins when a node appears more than once: the one of the greatest (time, event), among rows of one event the
 * last. Rows of one event come from one worker, so the result does not depend on the order in which the workers' deltas arrive.
 */

export interface LatestRows {
  /** Every node once, in the order of its first row. */
  readonly nodes: Int32Array;
  /** The winning row of each of them. */
  readonly rows: Int32Array;
}

/** Keeps an array with one entry per node between calls, so that a merge does not allocate it. */
export class LatestFinder {
  #position = new Int32Array(0);

  find(ids: Int32Array, times: Float64Array, events: Int32Array): LatestRows {
    const n = ids.length;
    const nodes = new Int32Array(n);
    const rows = new Int32Array(n);
    let count = 0;
    let most = -1;
    for (let i = 0; i < n; i++) if (ids[i] > most) most = ids[i];
    if (most >= this.#position.length)
      this.#position = new Int32Array(Math.max(most + 1, 2 * this.#position.length));
    const position = this.#position;
    for (let i = 0; i < n; i++) {
      const node = ids[i];
      const at = position[node] - 1;
      if (at < 0) {
        nodes[count] = node;
        rows[count++] = i;
        position[node] = count;
      } else if (!isEarlier(times[i], events[i], times[rows[at]], events[rows[at]])) {
        rows[at] = i;
      }
    }
    for (let i = 0; i < count; i++) position[nodes[i]] = 0;
    return { nodes: nodes.subarray(0, count), rows: rows.subarray(0, count) };
  }
}

export function isEarlier(time: number, event: number, thanTime: number, thanEvent: number): boolean {
  return time < thanTime || (time === thanTime && event < thanEvent);
}

export interface RowGroups {
  /** Rows by group, in each group by (time, event). */
  readonly order: Int32Array;
  /** Rows of group i: offsets[i] … offsets[i + 1]. */
  readonly offsets: Int32Array;
}

/** Returns the rows of each of `nodes`, in an order that does not depend on how rows of different events are mixed. */
export function groupRows(
  nodes: Int32Array,
  ids: Int32Array,
  times: Float64Array,
  events: Int32Array,
): RowGroups {
  const groupOf = new Map<number, number>();
  for (let i = 0; i < nodes.length; i++) groupOf.set(nodes[i], i);
  const offsets = new Int32Array(nodes.length + 1);
  const groups = new Int32Array(ids.length);
  const order = new Int32Array(ids.length);
  let count = 0;
  for (let i = 0; i < ids.length; i++) {
    const group = groupOf.get(ids[i]);
    if (group === undefined) continue;
    groups[i] = group;
    offsets[group + 1]++;
    order[count++] = i;
  }
  for (let i = 0; i < nodes.length; i++) offsets[i + 1] += offsets[i];
  const kept = order.subarray(0, count);
  kept.sort((a, b) => groups[a] - groups[b] || times[a] - times[b] || events[a] - events[b] || a - b);
  return { order: kept, offsets };
}
