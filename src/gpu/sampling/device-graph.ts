/**
 * A graph in device memory: offsets by node, neighbours by edge position, and running sums of weights for weighted
 * draws.
 *
 * No array needs to fit into one binding. Each is split into segments, and a program that reads it runs once per
 * segment for the rows or edges in it. Consecutive segments of offsets share their border entry; sums are split between
 * rows, so that the sums of a row are in one segment.
 */
import type { SamplingGraph } from '../../sample/sampling-graph.js';
import { expected, ValueError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';

/** Items first … first + count − 1 of an array. */
export interface GraphSegment {
  readonly first: number;
  readonly count: number;
  readonly buffer: GpuBuffer;
}

/** A segment of offsets, and the number of edges with a weight above 0 of each of its nodes. */
export interface RowSegment extends GraphSegment {
  readonly positive: GpuBuffer | null;
}

/** The arrays of a graph that programs read. */
export interface GraphArrays {
  readonly rows: readonly RowSegment[];
  readonly indices: readonly GraphSegment[];
  /** Null if edges have equal weights. */
  readonly sums: readonly GraphSegment[] | null;
}

export class DeviceGraph implements GraphArrays {
  readonly rows: readonly RowSegment[];
  readonly indices: readonly GraphSegment[];
  readonly sums: readonly GraphSegment[] | null;
  readonly source: SamplingGraph;
  readonly #device: GpuDevice;
  readonly #segmentWords: number;
  readonly #buffers: GpuBuffer[] = [];
  #edgeIds: readonly GraphSegment[] | null = null;

  /** @param segmentBytes size of a segment (default: what the device can bind) */
  constructor(where: string, device: GpuDevice, source: SamplingGraph, segmentBytes?: number) {
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    const most = Math.min(maxStorageBufferBindingSize, maxBufferSize, segmentBytes ?? Infinity);
    this.#segmentWords = Math.max(2, Math.floor(most / 4));
    this.#device = device;
    this.source = source;
    try {
      this.rows = this.#splitRows();
      this.indices = this.upload(source.indices, 'neighbours');
      this.sums = source.sums === null ? null : this.#splitSums(where, source.offsets, source.sums);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Uploads an array in segments, freed with the graph. */
  upload(array: Int32Array | Uint32Array, label: string): GraphSegment[] {
    const segments: GraphSegment[] = [];
    for (let first = 0; first < array.length || first === 0; first += this.#segmentWords) {
      const part = array.subarray(first, first + this.#segmentWords);
      segments.push({ first, count: part.length, buffer: this.#put(part, label) });
    }
    return segments;
  }

  /** Returns the edge id of each position; null if they are equal. Uploaded on first use. */
  edgeIds(): readonly GraphSegment[] | null {
    const { graph, indices } = this.source;
    if (graph.adjacency.edgeIds === null) return null;
    this.#edgeIds ??= this.upload(
      this.source.edgeIds(Int32Array.from({ length: indices.length }, (_, position) => position)),
      'edge ids',
    );
    return this.#edgeIds;
  }

  /** Frees the memory. */
  release(): void {
    for (const buffer of this.#buffers) buffer.release();
    this.#buffers.length = 0;
  }

  #put(data: Int32Array | Uint32Array, label: string): GpuBuffer {
    const buffer = this.#device.bufferOf(data, label);
    this.#buffers.push(buffer);
    return buffer;
  }

  #splitRows(): RowSegment[] {
    const { offsets, sums, numNodes } = this.source;
    const step = this.#segmentWords - 1;
    const segments: RowSegment[] = [];
    for (let first = 0; first < numNodes || first === 0; first += step) {
      const count = Math.min(step, numNodes - first);
      const part = offsets.subarray(first, first + count + 1);
      const positive = sums === null ? null : this.#put(countPositive(part, sums), 'positive weights');
      segments.push({ first, count, buffer: this.#put(part, 'offsets'), positive });
    }
    return segments;
  }

  #splitSums(where: string, offsets: Int32Array, sums: Uint32Array): GraphSegment[] {
    const segments: GraphSegment[] = [];
    let row = 0;
    while (row + 1 < offsets.length) {
      const first = offsets[row];
      while (row + 1 < offsets.length && offsets[row + 1] - first <= this.#segmentWords) row++;
      const count = offsets[row] - first;
      if (count === 0 && row + 1 < offsets.length && offsets[row + 1] > first) {
        const advice = 'Sample it on the CPU.';
        const got = `node ${row} with ${offsets[row + 1] - first}`;
        throw new ValueError(
          expected(where, `at most ${this.#segmentWords} weighted edges of a node`, 'graph', got, advice),
        );
      }
      if (count > 0)
        segments.push({ first, count, buffer: this.#put(sums.subarray(first, first + count), 'weights') });
    }
    return segments;
  }
}

function countPositive(offsets: Int32Array, sums: Uint32Array): Uint32Array {
  const counts = new Uint32Array(Math.max(1, offsets.length - 1));
  for (let v = 0; v + 1 < offsets.length; v++) {
    let before = 0;
    for (let position = offsets[v]; position < offsets[v + 1]; position++) {
      if (sums[position] !== before) counts[v]++;
      before = sums[position];
    }
  }
  return counts;
}
