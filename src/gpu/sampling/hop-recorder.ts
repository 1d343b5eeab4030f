/**
 * Records the programs of a hop in order. Nothing is read back in between: each program reads the number of rows and
 * edges on the device.
 */
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice, GpuGroups } from '../device/gpu-device.js';
import { type GpuProgram, grid, maxGroups } from '../device/program.js';
import type { GraphArrays, GraphSegment } from './device-graph.js';
import { drawProgramFor, expandRows } from './draw-programs.js';
import type { HopBound } from './hop-bounds.js';
import type { HopBuffers } from './hop-buffers.js';
import { groupSize, type HopParams, hopWords, tileSize } from './hop-wgsl.js';
import type { NodeHashTable } from './node-hash-table.js';
import { assignRows, edgeTiles, gridAt, rowOffsets, rowTiles, tileOffsets } from './prefix-programs.js';
import { edgeRows, enterEdgesPrograms, fetchWords } from './reindex-programs.js';
import { rowPrograms } from './row-programs.js';

/** With fewer items, a grid for the upper bound costs less than an indirect dispatch. */
const indirectFrom = 1 << 16;

export class HopRecorder {
  readonly #device: GpuDevice;
  readonly #graph: GraphArrays;

  constructor(device: GpuDevice, graph: GraphArrays) {
    this.#device = device;
    this.#graph = graph;
  }

  /**
   * Records how many edges each row takes and where they are written: state and offsets of the hop. `rows` is an upper
   * bound.
   */
  count(hop: HopParams, buffers: HopBuffers, rows: number): void {
    const { state, nodeIds, frontier, tiles, offsets } = buffers;
    const items = this.#rowGrid(hop, buffers, rows, groupSize);
    for (const { buffer, positive, first, count } of this.#graph.rows) {
      const inputs = [state, nodeIds, buffer];
      if (hop.mode === 'weighted') inputs.push(positive as GpuBuffer);
      this.#device.run(rowPrograms[hop.mode], [...inputs, frontier], hopWords(hop, first, count), items);
    }
    const tiled = this.#rowGrid(hop, buffers, rows, tileSize);
    this.#device.run(rowTiles, [state, frontier, tiles], hopWords(hop), tiled);
    this.#device.run(tileOffsets, [tiles, state, buffers.grid], hopWords(hop, 0, maxGroups), 1);
    this.#device.run(rowOffsets, [state, frontier, tiles, offsets], hopWords(hop), tiled);
  }

  /** Records the edge positions that rows take, and the row of each edge. */
  draw(hop: HopParams, buffers: HopBuffers, bound: HopBound): void {
    if (bound.edges === 0) return;
    const { state, offsets, frontier, positions, columns, rows } = buffers;
    const inputs = [state, offsets, frontier, positions];
    const { program, extra } = drawProgramFor(hop.mode, hop.fanout);
    const items = this.#rowGrid(hop, buffers, bound.rows, groupSize);
    if (extra === 'sums') this.#perSegment(program, this.#graph.sums ?? [], hop, inputs, [], 0, items);
    else this.#device.run(program, extra === 'table' ? [...inputs, rows] : inputs, hopWords(hop), items);
    const edges = this.#edgeGrid(buffers, bound.edges, groupSize);
    this.#device.run(expandRows, [...inputs, columns], hopWords(hop), edges);
  }

  /** Records the lookup of neighbours and the assignment of rows to them. */
  reindex(hop: HopParams, buffers: HopBuffers, table: NodeHashTable, bound: HopBound): void {
    const { state, positions, ids, entryIndices, tiles, nodeIds, rows } = buffers;
    const { entries, mask } = table;
    const items = this.#edgeGrid(buffers, bound.edges, groupSize);
    const tiled = this.#edgeGrid(buffers, bound.edges, tileSize);
    const behind = [ids, ...table.buffers, ...(table.kind === 'hash' ? [entryIndices] : [])];
    this.#perSegment(
      enterEdgesPrograms[table.kind],
      this.#graph.indices,
      hop,
      [state, positions],
      behind,
      mask,
      items,
    );
    this.#device.run(edgeTiles, [state, entryIndices, entries, tiles], hopWords(hop), tiled);
    this.#device.run(tileOffsets, [tiles, state, buffers.grid], hopWords(hop, 1, maxGroups), 1);
    this.#device.run(assignRows, [state, entryIndices, ids, tiles, entries, nodeIds], hopWords(hop), tiled);
    this.#device.run(edgeRows, [state, entryIndices, entries, rows], hopWords(hop), items);
  }

  /** out[e] = values[at[e]] for the edges of the hop, with `values` in segments. */
  fetch(
    hop: HopParams,
    state: GpuBuffer,
    at: GpuBuffer,
    values: readonly GraphSegment[],
    out: GpuBuffer,
    most: number,
  ): void {
    this.#perSegment(fetchWords, values, hop, [state, at], [out], 0, grid(most, groupSize));
  }

  /** Runs a program once per segment, which is bound between the buffers `before` and `after`. */
  #perSegment(
    program: GpuProgram,
    segments: readonly GraphSegment[],
    hop: HopParams,
    before: readonly GpuBuffer[],
    after: readonly GpuBuffer[],
    mask: number,
    groups: GpuGroups,
  ): void {
    for (const { buffer, first, count } of segments)
      this.#device.run(program, [...before, buffer, ...after], hopWords(hop, first, count, mask), groups);
  }

  #edgeGrid({ grid: counts }: HopBuffers, most: number, size: number): GpuGroups {
    if (most < indirectFrom) return grid(most, size);
    return { indirect: counts, offset: size === tileSize ? gridAt.edgeTiles : gridAt.edges };
  }

  #rowGrid({ hop }: HopParams, { grid: counts }: HopBuffers, most: number, size: number): GpuGroups {
    // The rows of hop 0 are known.
    if (hop === 0 || most < indirectFrom) return grid(most, size);
    return { indirect: counts, offset: size === tileSize ? gridAt.rowTiles : gridAt.rows };
  }
}
