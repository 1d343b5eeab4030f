/** Reads a drawn batch back: the counts first, then as many elements as there are; small batches in one round trip. */
import type { BatchArrays } from '../../sample/batch.js';
import { InternalError } from '../../util/errors.js';
import type { GpuDevice, GpuRange } from '../device/gpu-device.js';
import type { HopBuffers, HopRoom } from './hop-buffers.js';
import { edgeState } from './hop-wgsl.js';

/** Rows that the seeds and each hop added, and edges of each hop. */
export interface HopCounts {
  readonly nodesPerHop: readonly number[];
  readonly edgesPerHop: readonly number[];
}

/** Up to this many bytes, reading everything that was reserved costs less than another round trip. */
const oneTrip = 1 << 20;

export async function readCounts(device: GpuDevice, buffers: HopBuffers, hops: number): Promise<HopCounts> {
  return countsOf(new Uint32Array(await device.read(buffers.state)), hops, buffers.room);
}

export async function readBatch(
  device: GpuDevice,
  buffers: HopBuffers,
  hops: number,
  seedRows: Int32Array,
  known: HopCounts | null = null,
): Promise<BatchArrays> {
  const { nodes, edges } = buffers.room;
  const { state } = buffers;
  let counts = known;
  if (counts === null && 8 * nodes + 8 * edges <= oneTrip) {
    const ranges = [{ buffer: state, bytes: state.bytes }, ...arrayRanges(buffers, nodes, nodes, edges)];
    const [words, ...arrays] = await device.readAll(ranges);
    return partsOf(countsOf(new Uint32Array(words), hops, buffers.room), arrays, seedRows);
  }
  counts ??= await readCounts(device, buffers, hops);
  const { numNodes, destinations, numEdges } = totals(counts);
  const arrays = await device.readAll(arrayRanges(buffers, numNodes, destinations, numEdges));
  return partsOf(counts, arrays, seedRows);
}

function arrayRanges(buffers: HopBuffers, nodes: number, destinations: number, edges: number): GpuRange[] {
  const { nodeIds, offsets, rows, positions } = buffers;
  return [
    { buffer: nodeIds, bytes: 4 * nodes },
    { buffer: offsets, bytes: 4 * (destinations + 1) },
    { buffer: rows, bytes: 4 * edges },
    { buffer: positions, bytes: 4 * edges },
  ];
}

function countsOf(state: Uint32Array, hops: number, room: HopRoom): HopCounts {
  // Writes beyond the end of a buffer are dropped silently.
  if (state[hops] > room.nodes || state[edgeState + hops] > room.edges)
    throw new InternalError(
      `a batch of ${state[hops]} nodes and ${state[edgeState + hops]} edges exceeds its bounds of ${room.nodes} and ${room.edges}`,
    );
  const nodesPerHop = [state[0]];
  const edgesPerHop: number[] = [];
  for (let h = 0; h < hops; h++) {
    nodesPerHop.push(state[h + 1] - state[h]);
    edgesPerHop.push(state[edgeState + h + 1] - state[edgeState + h]);
  }
  return { nodesPerHop, edgesPerHop };
}

function totals({ nodesPerHop, edgesPerHop }: HopCounts) {
  const numNodes = nodesPerHop.reduce((a, b) => a + b, 0);
  const numEdges = edgesPerHop.reduce((a, b) => a + b, 0);
  const hops = edgesPerHop.length;
  return { numNodes, numEdges, destinations: hops === 0 ? 0 : numNodes - nodesPerHop[hops] };
}

function partsOf(counts: HopCounts, arrays: readonly ArrayBuffer[], seedRows: Int32Array): BatchArrays {
  const { numNodes, destinations, numEdges } = totals(counts);
  const take = (i: number, length: number) => new Int32Array(arrays[i].slice(0, 4 * length));
  const offsets = take(1, destinations + 1);
  // The first offset is not written if no row draws.
  offsets[0] = 0;
  return {
    ...{ nodeIds: take(0, numNodes), seedRows, trees: null, offsets },
    ...{ indices: take(2, numEdges), slots: take(3, numEdges) },
    ...counts,
  };
}
