/**
 * Streaming partition with shared hubs, as in SPEED and MemShare. Edges arrive in order of time; each goes to the
 * partition in which its ends were active most recently, weighed against how full the partition is. The nodes of the
 * highest degree are shared: every partition holds them, so they do not decide where an edge goes. A node that is not
 * shared stays in its first partition.
 *
 * With ends u and v at time t, partition p scores
 *   (I_u,p · e^((last_u,p − t)/T) + I_v,p · e^((last_v,p − t)/T) + 1) · (1 − nodes_p)(1 − edges_p) · e^((min − time_p)/(max − min + 1))
 * where I is 1 if a node is in p, last the time at which it was last active there, T a tenth of the whole time span,
 * nodes_p and edges_p how full p is (0 the emptiest, nearly 1 the fullest), time_p the time of the latest edge of p,
 * min and max over the partitions.
 */
import { countByPartition, degrees, evenOut, type GraphEdges, placeRest } from './balance.js';

/** Edges in order of time. */
export interface TimedEdges extends GraphEdges {
  /** Ascending. */
  readonly time: Float64Array;
}

/** Partitions of nodes and of edges. */
export interface Assignment {
  /** The partition that owns a node. */
  readonly master: Int32Array;
  /** The partition that owns an edge. */
  readonly edgeOwner: Int32Array;
  /** Nodes that every partition holds, ascending. */
  readonly sharedNodes: Int32Array;
  /** Edges whose ends belong to different partitions; the owner of their destination owns them. */
  readonly dropped: number;
}

/** @param hotRatio the fraction of nodes that every partition holds: those of the highest degree. */
export function placeBySpeed(edges: TimedEdges, numParts: number, hotRatio: number): Assignment {
  const { numNodes, src, dst } = edges;
  const degree = degrees(edges);
  const hot = findHottest(degree, Math.floor(hotRatio * numNodes));
  const stream = new Stream(edges, numParts, hot);
  const edgeOwner = new Int32Array(src.length);
  for (let i = 0; i < src.length; i++) edgeOwner[i] = stream.place(i);
  const master = stream.home;
  for (const v of hot) master[v] = -1;
  chooseMasters(stream, master, hot, degree, numParts);
  placeRest(master, numParts);
  evenOut(master, numParts, degree);
  let dropped = 0;
  for (let i = 0; i < src.length; i++) {
    if (edgeOwner[i] >= 0) continue;
    edgeOwner[i] = master[dst[i]];
    dropped++;
  }
  return { master, edgeOwner, sharedNodes: hot.slice().sort(), dropped };
}

/** Returns the `count` nodes of the highest degree, the highest first; nodes without edges are never hot. */
function findHottest(degree: Int32Array, count: number): Int32Array {
  const order = Int32Array.from(degree.keys()).sort((a, b) => degree[b] - degree[a] || a - b);
  return order.subarray(0, count).filter((v) => degree[v] > 0);
}

class Stream {
  /** The partition of a node that is not shared; −1 before its first edge. */
  readonly home: Int32Array;
  readonly #edges: TimedEdges;
  readonly #parts: number;
  readonly #isHot: Uint8Array;
  /** Time at which a node was last active in a partition [nodes · partitions]; −Infinity if it is not there. */
  readonly #last: Float64Array;
  /** Edges of a node in a partition [nodes · partitions]. */
  readonly #active: Int32Array;
  readonly #nodeLoad: Float64Array;
  readonly #edgeLoad: Float64Array;
  readonly #time: Float64Array;
  readonly #scores: Float64Array;
  readonly #horizon: number;

  constructor(edges: TimedEdges, parts: number, hot: Int32Array) {
    const { numNodes, time } = edges;
    this.#edges = edges;
    this.#parts = parts;
    this.home = new Int32Array(numNodes).fill(-1);
    this.#isHot = new Uint8Array(numNodes);
    for (const v of hot) this.#isHot[v] = 1;
    this.#last = new Float64Array(numNodes * parts).fill(-Infinity);
    this.#active = new Int32Array(numNodes * parts);
    this.#nodeLoad = new Float64Array(parts);
    this.#edgeLoad = new Float64Array(parts);
    this.#time = new Float64Array(parts).fill(time[0] ?? 0);
    this.#scores = new Float64Array(parts);
    const span = time.length === 0 ? 0 : time[time.length - 1] - time[0];
    this.#horizon = span > 0 ? span / 10 : 1;
  }

  /** Returns the number of edges of node v in partition p. */
  countActive(v: number, p: number): number {
    return this.#active[v * this.#parts + p];
  }

  /** Returns the partition of edge i; −1 if its ends belong to different partitions. */
  place(i: number): number {
    const u = this.#edges.src[i];
    const v = this.#edges.dst[i];
    const part = this.#choose(i, u, v);
    if (part < 0) return -1;
    const t = this.#edges.time[i];
    this.#join(u, part, t);
    if (u !== v) this.#join(v, part, t);
    this.#edgeLoad[part]++;
    this.#time[part] = t;
    return part;
  }

  #choose(i: number, u: number, v: number): number {
    const [atU, atV] = [this.home[u], this.home[v]];
    const coldU = this.#isHot[u] === 0;
    const coldV = this.#isHot[v] === 0;
    if (coldU && coldV) {
      if (atU >= 0 && atV >= 0) return atU === atV ? atU : -1;
    } else if (coldU !== coldV) {
      const settled = coldU ? atU : atV;
      if (settled >= 0) return settled;
    }
    return this.#best(i, u, v);
  }

  #best(i: number, u: number, v: number): number {
    const P = this.#parts;
    const t = this.#edges.time[i];
    const [nodesLeast, nodesSpread] = spreadOf(this.#nodeLoad);
    const [edgesLeast, edgesSpread] = spreadOf(this.#edgeLoad);
    const [timeLeast, timeSpread] = spreadOf(this.#time);
    let most = -1;
    for (let p = 0; p < P; p++) {
      // exp(−Infinity) = 0: a node that is not there adds nothing.
      const known =
        Math.exp((this.#last[u * P + p] - t) / this.#horizon) +
        Math.exp((this.#last[v * P + p] - t) / this.#horizon);
      const room =
        (1 - (this.#nodeLoad[p] - nodesLeast) / nodesSpread) *
        (1 - (this.#edgeLoad[p] - edgesLeast) / edgesSpread);
      const score = (known + 1) * room * Math.exp((timeLeast - this.#time[p]) / timeSpread);
      this.#scores[p] = score;
      if (score > most) most = score;
    }
    let ties = 0;
    for (let p = 0; p < P; p++) if (this.#scores[p] === most) ties++;
    let chosen = i % ties;
    for (let p = 0; ; p++) if (this.#scores[p] === most && chosen-- === 0) return p;
  }

  #join(v: number, part: number, t: number): void {
    const at = v * this.#parts + part;
    const settledElsewhere = this.#isHot[v] === 0 && this.home[v] >= 0 && this.home[v] !== part;
    if (settledElsewhere) return;
    if (this.#active[at] === 0) this.#nodeLoad[part]++;
    if (this.home[v] < 0) this.home[v] = part;
    this.#active[at]++;
    this.#last[at] = t;
  }
}

/** Returns [least, 1 + most − least]. */
function spreadOf(loads: Float64Array): readonly [number, number] {
  let least = loads[0];
  let most = loads[0];
  for (let p = 1; p < loads.length; p++) {
    if (loads[p] < least) least = loads[p];
    if (loads[p] > most) most = loads[p];
  }
  return [least, 1 + most - least];
}

/** Makes the partition in which a shared node is most active its master, unless that owns many nodes already. */
function chooseMasters(
  stream: Stream,
  master: Int32Array,
  hot: Int32Array,
  degree: Int32Array,
  numParts: number,
): void {
  const loads = countByPartition(master, numParts);
  const target = Math.max(1, master.length / numParts);
  for (const v of hot) {
    let best = 0;
    let most = -Infinity;
    for (let p = 0; p < numParts; p++) {
      const score = stream.countActive(v, p) / degree[v] - loads[p] / target;
      if (score > most) {
        most = score;
        best = p;
      }
    }
    master[v] = best;
    loads[best]++;
  }
}
