/**
 * Estimates the work of a batch before it is drawn: the expected number of its edges if no node were found twice.
 *
 * A seed takes min(degree, k) edges; a node found through an edge has a given degree with probability proportional to
 * it, so its expected number of edges is the mean over edges. The error is a factor that batches share, which suffices
 * for routing.
 */
export class WorkEstimate {
  readonly #offsets: Int32Array;
  readonly #fanouts: Int32Array;
  /** Expected edges that result from one edge of hop 0, itself included. */
  readonly #perEdge: number;

  constructor(offsets: Int32Array, fanouts: Int32Array) {
    this.#offsets = offsets;
    this.#fanouts = fanouts;
    let perEdge = 0;
    for (let hop = fanouts.length - 1; hop > 0; hop--)
      perEdge = this.#meanTaken(fanouts[hop]) * (1 + perEdge);
    this.#perEdge = 1 + perEdge;
  }

  /** Returns at least 1 per seed. Ids that do not exist add nothing: the sampler rejects them. */
  of(seeds: Int32Array): number {
    let edges = 0;
    for (let i = 0; i < seeds.length; i++) edges += this.#taken(seeds[i], this.#fanouts[0] ?? 0) || 0;
    return Math.max(1, seeds.length + edges * this.#perEdge);
  }

  #taken(node: number, fanout: number): number {
    const degree = this.#offsets[node + 1] - this.#offsets[node];
    return fanout < 0 ? degree : Math.min(degree, fanout);
  }

  #meanTaken(fanout: number): number {
    const numNodes = this.#offsets.length - 1;
    let weighted = 0;
    for (let v = 0; v < numNodes; v++)
      weighted += (this.#offsets[v + 1] - this.#offsets[v]) * this.#taken(v, fanout);
    return weighted / Math.max(1, this.#offsets[numNodes]);
  }
}
