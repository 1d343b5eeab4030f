/**
 * Neighbours of every node in time order, in arrays that grow while other threads read them.
 *
 * Every node owns a slice of one pool with room to grow; entries are (neighbour, event row), rows ascending. The entry
 * before a slice is its header: `rows` there holds its capacity in entries, which never changes. Free entries have a
 * row beyond all others. A full slice is copied to a new one of twice the capacity and left unchanged. So a reader on
 * any thread that holds `starts`, `neighbors` and `rows` of one moment, and ignores rows from the number of events of
 * that moment on, sees the graph of that moment, whatever is appended later.
 */
import { ValueError } from '../util/errors.js';

/** The row of a free entry. */
const free = 2 ** 31 - 1;
const maxEntries = 2 ** 31 - 2;

/** Compact neighbour lists: those of node v from indptr[v] to indptr[v + 1]. */
export interface TCSR {
  readonly indptr: Int32Array;
  readonly indices: Int32Array;
  readonly ts: Float64Array;
  readonly eid: Int32Array;
}

export class TemporalAdjacency {
  #starts = new Int32Array(0);
  #counts = new Int32Array(0);
  #neighbors = new Int32Array(1);
  #rows = new Int32Array(1);
  #numNodes = 0;
  /**
   * The number of used entries of the pool. Entry 0 is the header of the slice that all nodes without neighbours share.
   */
  #used = 1;

  /** The first entry of each node's slice. */
  get starts(): Int32Array {
    return this.#starts;
  }

  /** The number of entries of each node, for the thread that appends. */
  get counts(): Int32Array {
    return this.#counts;
  }

  get neighbors(): Int32Array {
    return this.#neighbors;
  }

  /** Event rows. */
  get rows(): Int32Array {
    return this.#rows;
  }

  /** Grows the arrays to `numNodes` nodes. */
  growNodes(numNodes: number): void {
    const room = this.#starts.length;
    if (numNodes > room) {
      const rooms = room === 0 ? numNodes : Math.max(numNodes, 2 * room);
      const starts = new Int32Array(rooms).fill(1, this.#numNodes);
      starts.set(this.#starts.subarray(0, this.#numNodes));
      const counts = new Int32Array(rooms);
      counts.set(this.#counts.subarray(0, this.#numNodes));
      this.#starts = starts;
      this.#counts = counts;
    }
    this.#numNodes = numNodes;
  }

  /**
   * Adds events `first` … `end` − 1, which are later than all others; with `keep`, only rows with flag 1 or beyond the
   * flags.
   */
  append(
    src: Int32Array,
    dst: Int32Array,
    first: number,
    end: number,
    directed: boolean,
    keep: Uint8Array | null,
  ): void {
    if (first === 0 && this.#used === 1) this.#layOut(src, dst, end, directed);
    for (let row = first; row < end; row++) {
      if (keep !== null && keep[row] === 0) continue;
      const u = src[row];
      const v = dst[row];
      this.#add(v, u, row);
      if (!directed && u !== v) this.#add(u, v, row);
    }
  }

  /** Removes events `first` … `end` − 1, which must be the last ones that were added. */
  removeLast(src: Int32Array, dst: Int32Array, first: number, end: number): void {
    for (let row = first; row < end; row++)
      for (const node of [src[row], dst[row]]) {
        // The other entry of a self loop, and those of events without neighbours, do not exist.
        const last = this.#starts[node] + this.#counts[node] - 1;
        if (this.#counts[node] === 0 || this.#rows[last] < first) continue;
        this.#rows[last] = free;
        this.#counts[node]--;
      }
  }

  /**
   * Takes events out of the lists of their ends; returns a function that puts them back, which must be called before anything
   * else changes. No other thread may read the lists meanwhile.
   */
  hide(src: Int32Array, dst: Int32Array, hidden: ReadonlySet<number>): () => void {
    const nodes = new Set<number>();
    for (const row of hidden) nodes.add(src[row]).add(dst[row]);
    const kept = Array.from(nodes, (node) => {
      const [start, count] = [this.#starts[node], this.#counts[node]];
      const saved = {
        neighbors: this.#neighbors.slice(start, start + count),
        rows: this.#rows.slice(start, start + count),
      };
      let left = 0;
      for (let i = 0; i < count; i++) {
        if (hidden.has(saved.rows[i])) continue;
        this.#neighbors[start + left] = saved.neighbors[i];
        this.#rows[start + left++] = saved.rows[i];
      }
      this.#rows.fill(free, start + left, start + count);
      this.#counts[node] = left;
      return { node, start, ...saved };
    });
    return () => {
      for (const { node, start, neighbors, rows } of kept) {
        this.#neighbors.set(neighbors, start);
        this.#rows.set(rows, start);
        this.#counts[node] = rows.length;
      }
    };
  }

  /** Makes slices of exactly the needed size for the first events. */
  #layOut(src: Int32Array, dst: Int32Array, end: number, directed: boolean): void {
    const sizes = new Int32Array(this.#numNodes);
    for (let row = 0; row < end; row++) {
      sizes[dst[row]]++;
      if (!directed && src[row] !== dst[row]) sizes[src[row]]++;
    }
    let entries = 1;
    for (const size of sizes) if (size > 0) entries += size + 1;
    this.#newPool(entries);
    for (let v = 0; v < sizes.length; v++) if (sizes[v] > 0) this.#starts[v] = this.#openSlice(v, sizes[v]);
  }

  #add(node: number, neighbor: number, row: number): void {
    const count = this.#counts[node];
    let start = this.#starts[node];
    if (count === this.#rows[start - 1]) {
      this.#move(node, count);
      start = this.#starts[node];
    }
    this.#neighbors[start + count] = neighbor;
    this.#rows[start + count] = row;
    this.#counts[node] = count + 1;
  }

  /** Copies a full slice to a larger one. */
  #move(node: number, count: number): void {
    const size = Math.max(4, 2 * count);
    if (this.#used + size + 1 > this.#rows.length) this.#renewPool(size + 1);
    const from = this.#starts[node];
    const to = this.#openSlice(node, size);
    for (let i = 0; i < count; i++) {
      this.#neighbors[to + i] = this.#neighbors[from + i];
      this.#rows[to + i] = this.#rows[from + i];
    }
    // Published after the slice is complete, for readers on other threads.
    Atomics.store(this.#starts, node, to);
  }

  #openSlice(node: number, size: number): number {
    const start = this.#used + 1;
    this.#neighbors[start - 1] = node;
    this.#rows[start - 1] = size;
    this.#used = start + size;
    return start;
  }

  /** Makes new arrays, including `starts`, of twice the used capacity, without abandoned slices. */
  #renewPool(more: number): void {
    const oldNeighbors = this.#neighbors;
    const oldRows = this.#rows;
    let live = 1;
    for (let v = 0; v < this.#numNodes; v++)
      if (this.#counts[v] > 0) live += oldRows[this.#starts[v] - 1] + 1;
    this.#newPool(Math.max(2 * live, 256) + more);
    const starts = new Int32Array(this.#starts.length).fill(1);
    for (let v = 0; v < this.#numNodes; v++) {
      const count = this.#counts[v];
      if (count === 0) continue;
      const from = this.#starts[v];
      const to = this.#openSlice(v, oldRows[from - 1]);
      for (let i = 0; i < count; i++) {
        this.#neighbors[to + i] = oldNeighbors[from + i];
        this.#rows[to + i] = oldRows[from + i];
      }
      starts[v] = to;
    }
    this.#starts = starts;
  }

  #newPool(entries: number): void {
    if (entries > maxEntries)
      throw new ValueError(
        `TemporalGraph: expected at most ${maxEntries} entries of neighbour lists, including spare capacity, got ${entries}. Split the stream.`,
      );
    this.#neighbors = new Int32Array(entries);
    this.#rows = new Int32Array(entries).fill(free);
    this.#rows[0] = 0;
    this.#used = 1;
  }

  /** Makes a compact copy. */
  toTCSR(time: Float64Array, ids: Int32Array): TCSR {
    const indptr = new Int32Array(this.#numNodes + 1);
    for (let v = 0; v < this.#numNodes; v++) indptr[v + 1] = indptr[v] + this.#counts[v];
    const entries = indptr[this.#numNodes];
    const indices = new Int32Array(entries);
    const ts = new Float64Array(entries);
    const eid = new Int32Array(entries);
    for (let v = 0; v < this.#numNodes; v++) {
      for (let i = 0; i < this.#counts[v]; i++) {
        const row = this.#rows[this.#starts[v] + i];
        indices[indptr[v] + i] = this.#neighbors[this.#starts[v] + i];
        ts[indptr[v] + i] = time[row];
        eid[indptr[v] + i] = ids[row];
      }
    }
    return { indptr, indices, ts, eid };
  }
}
