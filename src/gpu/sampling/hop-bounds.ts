/**
 * Upper bounds of the draws of a hop, known on the host before sampling: buffers are allocated by them, and all hops of
 * a batch are submitted together.
 *
 * Each node draws once in a batch, so without replacement no edge is taken twice. A hop that takes all edges of f
 * unknown nodes takes at most those of the f nodes with the most edges.
 */
export interface HopBound {
  /** Rows that draw. */
  readonly rows: number;
  readonly edges: number;
}

export class HopBounds {
  readonly #offsets: Int32Array;
  readonly #numNodes: number;
  readonly #numEdges: number;
  /** By descending degree: nodes with at least that degree, and their edges. */
  #ladder: { readonly degree: number; readonly nodes: number; readonly edges: number }[] | null = null;

  constructor(offsets: Int32Array, numEdges: number) {
    this.#offsets = offsets;
    this.#numNodes = offsets.length - 1;
    this.#numEdges = numEdges;
  }

  /** Returns the bound for given nodes, which may repeat. */
  ofNodes(nodes: Int32Array, fanout: number, replace: boolean): HopBound {
    let edges = 0;
    for (let i = 0; i < nodes.length; i++) {
      const degree = this.#offsets[nodes[i] + 1] - this.#offsets[nodes[i]];
      edges += fanout < 0 || degree === 0 || (!replace && degree < fanout) ? degree : fanout;
    }
    return { rows: nodes.length, edges };
  }

  /** Returns the bound for nodes that another hop finds: at most `found` of those that are not among the `known`. */
  ofFound(found: number, known: number, fanout: number, replace: boolean): HopBound {
    const rows = Math.min(found, this.#numNodes - known);
    const all = this.#mostEdges(rows);
    if (fanout < 0) return { rows, edges: all };
    return { rows, edges: replace ? rows * fanout : Math.min(rows * fanout, all) };
  }

  /** Returns the number of edges of the `rows` nodes that have the most. */
  #mostEdges(rows: number): number {
    this.#ladder ??= this.#makeLadder();
    const ladder = this.#ladder;
    let low = 0;
    let high = ladder.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ladder[middle].nodes >= rows) high = middle;
      else low = middle + 1;
    }
    if (low === ladder.length) return this.#numEdges;
    const { degree, nodes, edges } = ladder[low];
    return edges - (nodes - rows) * degree;
  }

  #makeLadder() {
    const counts = new Map<number, number>();
    for (let v = 0; v < this.#numNodes; v++) {
      const degree = this.#offsets[v + 1] - this.#offsets[v];
      counts.set(degree, (counts.get(degree) ?? 0) + 1);
    }
    let nodes = 0;
    let edges = 0;
    return [...counts.entries()]
      .sort((a, b) => b[0] - a[0])
      .map(([degree, count]) => {
        nodes += count;
        edges += count * degree;
        return { degree, nodes, edges };
      });
  }
}
