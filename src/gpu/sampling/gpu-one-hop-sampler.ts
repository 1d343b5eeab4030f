/**
 * `OneHopSampler` on a device: same arguments, same edges in the same order. A direction is uploaded when it is first
 * sampled.
 *
 * @example
 * const onDevice = new GpuOneHopSampler(gpu, new OneHopSampler(graph));
 * const { edges, offsets } = await onDevice.sample(ids, true, 'UNIFORM', 10);
 */
import { checkEdgeCount } from '../../sample/checks.js';
import { hopTag } from '../../sample/hop-runner.js';
import {
  type NeighborSamplingStrategy,
  type NodeNeighbors,
  neighborRule,
  OneHopSampler,
} from '../../sample/one-hop-sampler.js';
import { DrawKeys, purposes, type SampleTime } from '../../sample/sampler.js';
import { SamplingGraph } from '../../sample/sampling-graph.js';
import type { Ids } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { DeviceGraph, type GraphSegment } from './device-graph.js';
import { HopBounds } from './hop-bounds.js';
import { HopBuffers } from './hop-buffers.js';
import { HopRecorder } from './hop-recorder.js';
import { type HopParams, stateWords, takeAll } from './hop-wgsl.js';

interface Side {
  readonly graph: DeviceGraph;
  readonly bounds: HopBounds;
  /** By edge position. */
  readonly relations: readonly GraphSegment[] | null;
}

const name = 'GpuOneHopSampler';
const where = `${name}.sample`;

export class GpuOneHopSampler {
  readonly #device: GpuDevice;
  readonly #sampler: OneHopSampler;
  readonly #segmentBytes: number | undefined;
  readonly #keys: DrawKeys;
  readonly #sides = new Map<'in' | 'out', Side>();

  /** @param options.segmentBytes bytes per segment of the graph (default: what the device can bind) */
  constructor(device: GpuDevice, sampler: OneHopSampler, options: { readonly segmentBytes?: number } = {}) {
    checkOptionNames('GpuOneHopSampler', options, { segmentBytes: true });
    if (!(sampler instanceof OneHopSampler))
      throw new ValueError(expected(name, 'a OneHopSampler', 'sampler', sampler));
    this.#device = device;
    this.#sampler = sampler;
    this.#segmentBytes = options.segmentBytes;
    this.#keys = new DrawKeys(name, sampler.seed, purposes.neighbors);
  }

  /** Samples as `OneHopSampler.sample` does. */
  async sample(
    nodes: Ids,
    incoming = true,
    strategy: NeighborSamplingStrategy = 'ALL',
    maxNeighbors = -1,
    rate = 0,
    at?: SampleTime,
  ): Promise<NodeNeighbors> {
    const side = this.#side(incoming ? 'in' : 'out');
    const ids = checkIds(where, 'nodes', nodes, side.graph.source.numNodes);
    const { fanout, drop } = neighborRule(where, strategy, maxNeighbors, rate);
    const bound = side.bounds.ofNodes(ids, fanout, false);
    checkEdgeCount(where, bound.edges);
    const hop: HopParams = {
      ...{ hop: 0, fanout: fanout < 0 ? takeAll : fanout, drop, replace: false },
      ...{ mode: drop === 0 ? 'uniform' : 'dropout', tag: hopTag(0, incoming ? 0 : 1) },
      ...this.#keys.at(at),
    };
    const room = { nodes: ids.length, edges: bound.edges, frontier: ids.length };
    const buffers = new HopBuffers(this.#device, 'hash', room);
    try {
      this.#draw(side, hop, buffers, ids);
      return await this.#read(side, buffers, incoming);
    } finally {
      buffers.releaseAll();
    }
  }

  /** Frees the device memory. */
  release(): void {
    for (const { graph } of this.#sides.values()) graph.release();
    this.#sides.clear();
  }

  /** Records the hop: neighbours go to `ids`, the nodes that drew them to `rows`, relations to `entryIndices`. */
  #draw(side: Side, hop: HopParams, buffers: HopBuffers, ids: Int32Array): void {
    const { state, nodeIds, positions, columns, rows } = buffers;
    const counts = new Uint32Array(stateWords);
    counts[0] = ids.length;
    this.#device.write(state, counts);
    this.#device.write(nodeIds, ids);
    const { edges } = buffers.room;
    const recorder = new HopRecorder(this.#device, side.graph);
    recorder.count(hop, buffers, ids.length);
    recorder.draw(hop, buffers, { rows: ids.length, edges });
    const drawing = [{ first: 0, count: ids.length, buffer: nodeIds }];
    recorder.fetch(hop, state, positions, side.graph.indices, buffers.ids, edges);
    recorder.fetch(hop, state, columns, drawing, rows, edges);
    if (side.relations !== null)
      recorder.fetch(hop, state, positions, side.relations, buffers.entryIndices, edges);
    this.#device.flush();
  }

  async #read(side: Side, buffers: HopBuffers, incoming: boolean): Promise<NodeNeighbors> {
    const { nodes, edges } = buffers.room;
    const range = (buffer: GpuBuffer, count: number) => ({ buffer, bytes: 4 * count });
    const ranges = [range(buffers.offsets, nodes + 1), range(buffers.ids, edges), range(buffers.rows, edges)];
    if (side.relations !== null) ranges.push(range(buffers.entryIndices, edges));
    const [offsets, ...arrays] = (await this.#device.readAll(ranges)).map((data) => new Int32Array(data));
    // The first offset is not written if no node draws.
    offsets[0] = 0;
    const [neighbors, drawing, relations = null] = arrays.map((array) => array.slice(0, offsets[nodes]));
    const ends = incoming ? { src: neighbors, dst: drawing } : { src: drawing, dst: neighbors };
    return { edges: { ...ends, relations }, offsets: offsets.slice(0, nodes) };
  }

  #side(direction: 'in' | 'out'): Side {
    let side = this.#sides.get(direction);
    if (side === undefined) {
      const source = new SamplingGraph(name, this.#sampler.graph, direction);
      const graph = new DeviceGraph(name, this.#device, source, this.#segmentBytes);
      const bounds = new HopBounds(source.offsets, source.indices.length);
      side = { graph, bounds, relations: this.#uploadRelations(source, graph) };
      this.#sides.set(direction, side);
    }
    return side;
  }

  #uploadRelations(source: SamplingGraph, graph: DeviceGraph): readonly GraphSegment[] | null {
    const { relations } = this.#sampler;
    if (relations === null) return null;
    const ids = source.edgeIds(Int32Array.from({ length: source.indices.length }, (_, position) => position));
    return graph.upload(
      ids.map((id) => relations[id]),
      'relations',
    );
  }
}
