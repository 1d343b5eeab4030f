/** Finds the distinct nodes of a batch, in the order of first appearance, and the position of each row's node in that list. */
export class NodeIndex {
  /** Position of a node in the current list, plus the offset of that list; entries below the offset belong to older lists. */
  #stamps: Float64Array;
  #base = 1;

  constructor(numNodes: number) {
    this.#stamps = new Float64Array(numNodes);
  }

  unique(lists: readonly Int32Array[]): { readonly nodes: Int32Array; readonly positions: Int32Array[] } {
    let total = 0;
    for (const list of lists) total += list.length;
    const found = new Int32Array(total);
    let count = 0;
    const positions = lists.map((list) => {
      const at = new Int32Array(list.length);
      count = this.#place(list, at, found, count);
      return at;
    });
    this.#base += count;
    return { nodes: found.slice(0, count), positions };
  }

  /** Appends the new nodes of a list to the `count` found so far; returns the new count. */
  #place(list: Int32Array, at: Int32Array, found: Int32Array, count: number): number {
    const base = this.#base;
    let stamps = this.#stamps;
    let next = count;
    for (let i = 0; i < list.length; i++) {
      const node = list[i];
      if (node >= stamps.length) stamps = this.#grow(node + 1);
      let position = stamps[node] - base;
      if (position < 0) {
        position = next++;
        found[position] = node;
        stamps[node] = base + position;
      }
      at[i] = position;
    }
    return next;
  }

  /** Makes room for new nodes of the stream. */
  #grow(size: number): Float64Array {
    const grown = new Float64Array(Math.max(size, this.#stamps.length * 2));
    grown.set(this.#stamps);
    this.#stamps = grown;
    return grown;
  }
}
