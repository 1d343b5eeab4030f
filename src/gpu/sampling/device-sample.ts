/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A sampled neighbourhood that stays in device memory, to gather features on the device and for other libraries on the
 * same device. All layers are prefixes of the same arrays, so nothing is copied.
 *
 * The sample owns the memory: views and adjs are invalid after `release()`.
 */
import { TensorView } from '../../interop/index.js';
import { Batch } from '../../sample/batch.js';
import { StateError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { DeviceAdj } from './device-adj.js';
import type { DeviceGraph } from './device-graph.js';
import type { HopBuffers } from './hop-buffers.js';
import { HopRecorder } from './hop-recorder.js';
import { plainHop } from './hop-wgsl.js';
import { HostSample } from './host-sample.js';
import { type HopCounts, readBatch } from './read-batch.js';

export class DeviceSample implements Disposable {
  /** Ids of all nodes, the seeds first: i32 on the device. */
  readonly allNode: TensorView;
  /** The edges of each layer, the outermost hop first. */
  readonly adjs: readonly DeviceAdj[];
  /** Number of seed rows, equal seeds once. */
  readonly batchSize: number;
  /** The row of each given seed. */
  readonly seedRows: Int32Array;
  readonly nodesPerHop: readonly number[];
  readonly edgesPerHop: readonly number[];
  readonly device: GpuDevice;
  readonly #graph: DeviceGraph;
  readonly #buffers: HopBuffers;
  #edgeIds: GpuBuffer | null = null;
  #host: HostSample | null = null;
  #released = false;

  /** @internal Created by samplers. */
  constructor(
    device: GpuDevice,
    graph: DeviceGraph,
    buffers: HopBuffers,
    counts: HopCounts,
    seedRows: Int32Array,
  ) {
    this.device = device;
    this.#graph = graph;
    this.#buffers = buffers;
    this.seedRows = seedRows;
    this.nodesPerHop = counts.nodesPerHop;
    this.edgesPerHop = counts.edgesPerHop;
    this.batchSize = counts.nodesPerHop[0];
    const nodes = counts.nodesPerHop.reduce((a, b) => a + b, 0);
    this.allNode = this.#view(buffers.nodeIds, nodes);
    this.adjs = this.#makeAdjs();
  }

  get numNodes(): number {
    return this.allNode.size;
  }

  /** Ids of all nodes as a `GpuBuffer`, for Skein's programs. */
  get nodeBuffer(): GpuBuffer {
    this.#check();
    return this.#buffers.nodeIds;
  }

  /** Copies the sample to host memory; read once. */
  async toHost(): Promise<HostSample> {
    this.#check();
    if (this.#host === null) {
      const hops = this.edgesPerHop.length;
      const parts = await readBatch(this.device, this.#buffers, hops, this.seedRows, this);
      this.#host = new HostSample(new Batch(parts, this.#graph.source));
    }
    return this.#host;
  }

  /** Converts to a batch for Skein's layers. */
  async toBatch(): Promise<Batch> {
    return (await this.toHost()).batch;
  }

  /** Frees the memory. Further calls do nothing. */
  release(): void {
    if (this.#released) return;
    for (const adj of this.adjs) adj.release();
    this.allNode.release();
    this.#released = true;
    this.#edgeIds?.release();
    this.#buffers.releaseAll();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #makeAdjs(): DeviceAdj[] {
    const { rows, columns } = this.#buffers;
    const adjs: DeviceAdj[] = [];
    let destinations = 0;
    let edges = 0;
    for (const [hop, count] of this.edgesPerHop.entries()) {
      destinations += this.nodesPerHop[hop];
      edges += count;
      const length = edges;
      const layer = this.edgesPerHop.length - 1 - hop;
      adjs.unshift(
        new DeviceAdj({
          device: this.device,
          ...{ rows, columns },
          edgeIds: () => this.#edgeIdBuffer(),
          numEdges: length,
          size: [destinations + this.nodesPerHop[hop + 1], destinations],
          toHost: async () => (await this.toHost()).adjs[layer],
        }),
      );
    }
    return adjs;
  }

  /** Returns the edge ids of all sampled edges, looked up on first use. */
  #edgeIdBuffer(): GpuBuffer {
    this.#check();
    const segments = this.#graph.edgeIds();
    if (segments === null) return this.#buffers.positions;
    if (this.#edgeIds === null) {
      const { positions, state, room } = this.#buffers;
      this.#edgeIds = this.device.buffer(4 * room.edges, 'edge ids of a batch');
      const recorder = new HopRecorder(this.device, this.#graph);
      for (const [hop, count] of this.edgesPerHop.entries())
        recorder.fetch(plainHop(hop), state, positions, segments, this.#edgeIds, count);
      this.device.flush();
    }
    return this.#edgeIds;
  }

  #view(buffer: GpuBuffer, length: number): TensorView {
    return TensorView.fromGpuBuffer(buffer.raw, this.device.raw, { shape: [length], dtype: 'i32' });
  }

  #check(): void {
    if (this.#released)
      throw new StateError('DeviceSample: expected a sample in use, got one after release().');
  }
}
