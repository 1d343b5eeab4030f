/**
 * A graph in device memory: offsets by node, neighbours by slot, and running sums of weights where draws are weighted.
 *
 * No array needs to fit into one binding. Each is cut into pieces, and a program that reads it runs once per piece for the
 * rows or edges that lie in it. Pieces of offsets share their border entry; sums are cut between rows, so that a row finds
 * all of its own in one piece.
 */
import type { SamplingGraph } from '../../sample/sampling-graph.js';
import { expected, ValueError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';

/** Items first … first + count − 1 of an array. */
export interface GraphPiece {
  readonly first: number;
  readonly count: number;
  readonly buffer: GpuBuffer;
}

/** A piece of offsets, and how many edges of each of its nodes have a weight above 0. */
export interface RowPiece extends GraphPiece {
  readonly positive: GpuBuffer | null;
}

/** What programs read of a graph. */
export interface GraphPieces {
  readonly rows: readonly RowPiece[];
  readonly indices: readonly GraphPiece[];
  /** Null where all edges are alike. */
  readonly sums: readonly GraphPiece[] | null;
}

export class DeviceGraph implements GraphPieces {
  readonly rows: readonly RowPiece[];
  readonly indices: readonly GraphPiece[];
  readonly sums: readonly GraphPiece[] | null;
  readonly source: SamplingGraph;
  readonly #device: GpuDevice;
  readonly #pieceWords: number;
  readonly #buffers: GpuBuffer[] = [];
  #edgeIds: readonly GraphPiece[] | null = null;

  /** @param pieceBytes size of a piece; by default what the device can bind. */
  constructor(where: string, device: GpuDevice, source: SamplingGraph, pieceBytes?: number) {
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    const most = Math.min(maxStorageBufferBindingSize, maxBufferSize, pieceBytes ?? Infinity);
    this.#pieceWords = Math.max(2, Math.floor(most / 4));
    this.#device = device;
    this.source = source;
    try {
      this.rows = this.#cutRows();
      this.indices = this.upload(source.indices, 'neighbours');
      this.sums = source.sums === null ? null : this.#cutSums(where, source.offsets, source.sums);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** An array in pieces, given back with the graph. */
  upload(array: Int32Array | Uint32Array, label: string): GraphPiece[] {
    const pieces: GraphPiece[] = [];
    for (let first = 0; first < array.length || first === 0; first += this.#pieceWords) {
      const part = array.subarray(first, first + this.#pieceWords);
      pieces.push({ first, count: part.length, buffer: this.#put(part, label) });
    }
    return pieces;
  }

  /** The edge id of each slot; null where they are the same. Uploaded on first use. */
  edgeIds(): readonly GraphPiece[] | null {
    const { graph, indices } = this.source;
    if (graph.adjacency.edgeIds === null) return null;
    this.#edgeIds ??= this.upload(
      this.source.edgeIds(Int32Array.from({ length: indices.length }, (_, slot) => slot)),
      'edge ids',
    );
    return this.#edgeIds;
  }

  /** Gives the memory back. */
  release(): void {
    for (const buffer of this.#buffers) buffer.release();
    this.#buffers.length = 0;
  }

  #put(data: Int32Array | Uint32Array, label: string): GpuBuffer {
    const buffer = this.#device.bufferOf(data, label);
    this.#buffers.push(buffer);
    return buffer;
  }

  #cutRows(): RowPiece[] {
    const { offsets, sums, numNodes } = this.source;
    const step = this.#pieceWords - 1;
    const pieces: RowPiece[] = [];
    for (let first = 0; first < numNodes || first === 0; first += step) {
      const count = Math.min(step, numNodes - first);
      const part = offsets.subarray(first, first + count + 1);
      const positive = sums === null ? null : this.#put(countPositive(part, sums), 'positive weights');
      pieces.push({ first, count, buffer: this.#put(part, 'offsets'), positive });
    }
    return pieces;
  }

  #cutSums(where: string, offsets: Int32Array, sums: Uint32Array): GraphPiece[] {
    const pieces: GraphPiece[] = [];
    let row = 0;
    while (row + 1 < offsets.length) {
      const first = offsets[row];
      while (row + 1 < offsets.length && offsets[row + 1] - first <= this.#pieceWords) row++;
      const count = offsets[row] - first;
      if (count === 0 && row + 1 < offsets.length && offsets[row + 1] > first) {
        const advice = 'Sample it on the CPU.';
        const got = `node ${row} with ${offsets[row + 1] - first}`;
        throw new ValueError(
          expected(where, `at most ${this.#pieceWords} weighted edges of a node`, 'graph', got, advice),
        );
      }
      if (count > 0)
        pieces.push({ first, count, buffer: this.#put(sums.subarray(first, first + count), 'weights') });
    }
    return pieces;
  }
}

function countPositive(offsets: Int32Array, sums: Uint32Array): Uint32Array {
  const counts = new Uint32Array(Math.max(1, offsets.length - 1));
  for (let v = 0; v + 1 < offsets.length; v++) {
    let before = 0;
    for (let slot = offsets[v]; slot < offsets[v + 1]; slot++) {
      if (sums[slot] !== before) counts[v]++;
      before = sums[slot];
    }
  }
  return counts;
}
