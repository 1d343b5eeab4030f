/**
 * One hop of sampling over several workers: nodes are sent to their owners, which draw, and all data of the drawn edges
 * return in one message.
 *
 * Request: [epoch, step, nodes …]; epoch and step are included, so workers may be at different steps. Reply: [number of
 * edges of each node …, sources …, edge ids …, weights …, rows of each field …], as 32-bit words. Two all-to-alls of
 * unknown lengths per hop; none if the edges of all requested nodes are here.
 */
import { kernels } from '../../native/index.js';
import { checkEdgeCount } from '../../sample/checks.js';
import type { DrawKeys, SampleTime } from '../../sample/sampler.js';
import { iota } from '../../util/arrays.js';
import { copyBytes } from '../comm/comm-checks.js';
import type { DistGraph } from './dist-graph.js';
import type { EdgeField, InEdges } from './in-edges.js';

/** How edges are drawn and which fields are returned; the same on all workers. */
export interface RequestedHop {
  readonly keys: DrawKeys;
  readonly fanout: number;
  readonly hop: number;
  readonly replace: boolean;
  readonly prob: string | null;
  readonly fields: readonly EdgeField[];
}

/** Drawn edges by the index of their destination in the list of nodes. */
export interface HopResult {
  readonly offsets: Int32Array;
  /** Global ids. */
  readonly sources: Int32Array;
  readonly edgeIds: Int32Array;
  readonly weights: Float32Array | null;
  /** Rows of fields, as 32-bit words. */
  readonly fields: readonly Int32Array[];
}

const where = 'DistNeighborSampler';

/** Draws for nodes whose edges are in `inEdges`; returns the packed reply. */
function drawReply(inEdges: InEdges, draw: RequestedHop, nodes: Int32Array, at: SampleTime): Int32Array {
  const graph = inEdges.toSamplingGraph(draw.prob);
  const { key, step } = draw.keys.at(at);
  const count = nodes.length;
  const offsets = new Int32Array(count + 1);
  let positions = new Int32Array(Math.max(1, draw.fanout < 0 ? 16 * count : draw.fanout * count));
  const call = () =>
    kernels().drawNeighbors({
      offsets: graph.offsets,
      weights: graph.sums,
      nodes,
      count,
      firstNode: inEdges.firstNode,
      fanout: draw.fanout,
      drop: 0,
      replace: draw.replace,
      key,
      step,
      tag: draw.hop,
      localOffsets: offsets,
      positions,
      capacity: positions.length,
    });
  let edges = call();
  if (edges < 0) {
    positions = new Int32Array(checkEdgeCount(where, -1 - edges));
    edges = call();
  }
  return pack(inEdges, draw, offsets, positions.subarray(0, edges));
}

function wordsPerEdge(weighted: boolean, fields: readonly EdgeField[]): number {
  return 2 + (weighted ? 1 : 0) + fields.reduce((sum, { width }) => sum + width, 0);
}

function pack(inEdges: InEdges, draw: RequestedHop, offsets: Int32Array, positions: Int32Array): Int32Array {
  const count = offsets.length - 1;
  const edges = positions.length;
  const words = wordsPerEdge(inEdges.weights !== null, draw.fields);
  const packed = new Int32Array(checkEdgeCount(where, count + edges * words));
  for (let i = 0; i < count; i++) packed[i] = offsets[i + 1] - offsets[i];
  let at = count;
  const add = (values: Int32Array | Float32Array, width: number) => {
    kernels().gatherRows(values, positions, packed.subarray(at, at + edges * width), edges, 4 * width);
    at += edges * width;
  };
  add(inEdges.indices, 1);
  add(inEdges.edgeIds, 1);
  if (inEdges.weights !== null) add(inEdges.weights, 1);
  for (const { name, width } of draw.fields) add(fieldOf(inEdges, name), width);
  return packed;
}

function fieldOf(inEdges: InEdges, name: string): Int32Array | Float32Array {
  const field = inEdges.fields.find((other) => other.name === name);
  return (field as EdgeField).values;
}

/** Draws for `nodes` with one request to each owner. Collective unless the graph is hybrid. */
export function exchangeHop(
  graph: DistGraph,
  draw: RequestedHop,
  nodes: Int32Array,
  at: SampleTime,
): HopResult {
  const { comm, edges: inEdges, ranges } = graph;
  if (graph.hybrid || comm.size === 1)
    return unpack(graph, draw, nodes.length, [wholeReply(drawReply(inEdges, draw, nodes, at), nodes.length)]);
  const routes = ranges.split(nodes);
  const requests = Array.from({ length: comm.size }, () => new Int32Array(0));
  for (const { owner, rows } of routes) {
    if (owner === comm.rank) continue;
    const request = new Int32Array(2 + rows.length);
    request[0] = at.epoch ?? 0;
    request[1] = at.step;
    for (let i = 0; i < rows.length; i++) request[2 + i] = rows[i] + ranges.ranges[owner].start;
    requests[owner] = request;
  }
  const replies = comm.allToAllv(requests).map((request) => {
    if (request.length === 0) return request;
    return drawReply(inEdges, draw, request.subarray(2), { epoch: request[0], step: request[1] >>> 0 });
  });
  const received = comm.allToAllv(replies);
  const ordered = routes.map(({ owner, rows, positions }) => {
    const own = () =>
      drawReply(
        inEdges,
        draw,
        rows.map((row) => row + ranges.ranges[owner].start),
        at,
      );
    return { packed: owner === comm.rank ? own() : received[owner], positions };
  });
  return unpack(graph, draw, nodes.length, ordered);
}

/** Draws for nodes whose edges are here. */
export function drawLocally(
  graph: DistGraph,
  draw: RequestedHop,
  nodes: Int32Array,
  at: SampleTime,
): HopResult {
  const packed = drawReply(graph.edges, draw, nodes, at);
  return unpack(graph, draw, nodes.length, [wholeReply(packed, nodes.length)]);
}

/** A reply, and the positions of its nodes in the requested list. */
interface Reply {
  readonly packed: Int32Array;
  readonly positions: Int32Array;
}

function wholeReply(packed: Int32Array, count: number): Reply {
  return { packed, positions: iota(count) };
}

/** Merges the edges of all replies in the order of the nodes. */
function unpack(
  { edges: inEdges }: DistGraph,
  draw: RequestedHop,
  count: number,
  replies: readonly Reply[],
): HopResult {
  const offsets = new Int32Array(count + 1);
  for (const { packed, positions } of replies)
    for (let i = 0; i < positions.length; i++) offsets[positions[i] + 1] = packed[i];
  for (let i = 0; i < count; i++) offsets[i + 1] += offsets[i];
  const edges = checkEdgeCount(where, offsets[count]);
  const weighted = inEdges.weights !== null;
  const widths = [1, 1, ...(weighted ? [1] : []), ...draw.fields.map(({ width }) => width)];
  const columns = widths.map((width) => new Int32Array(edges * width));
  for (const { packed, positions } of replies) {
    const here = replyEdges(packed, positions.length);
    let at = positions.length;
    for (const [c, width] of widths.entries()) {
      scatterRuns(packed.subarray(at, at + here * width), packed, positions, offsets, columns[c], width);
      at += here * width;
    }
  }
  const [sources, edgeIds, ...rest] = columns;
  let weights: Float32Array | null = null;
  if (weighted) {
    weights = new Float32Array(edges);
    copyBytes(rest.shift() as Int32Array, weights);
  }
  return { offsets, sources, edgeIds, weights, fields: rest };
}

function replyEdges(packed: Int32Array, count: number): number {
  let edges = 0;
  for (let i = 0; i < count; i++) edges += packed[i];
  return edges;
}

/** Copies each node's run of rows to the positions of its edges. */
function scatterRuns(
  rows: Int32Array,
  counts: Int32Array,
  positions: Int32Array,
  offsets: Int32Array,
  out: Int32Array,
  width: number,
): void {
  let from = 0;
  for (let i = 0; i < positions.length; i++) {
    const run = counts[i] * width;
    let to = offsets[positions[i]] * width;
    for (const end = from + run; from < end; ) out[to++] = rows[from++];
  }
}
