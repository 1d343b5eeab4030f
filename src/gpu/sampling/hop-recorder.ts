/**
 * Records the programs of a hop in order. Nothing is read back in between: each program finds on the device how many rows
 * and edges there are.
 */
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice, GpuGroups } from '../device/gpu-device.js';
import { type GpuProgram, grid, maxGroups } from '../device/program.js';
import type { GraphPiece, GraphPieces } from './device-graph.js';
import { drawProgramFor, expandRows } from './draw-programs.js';
import type { HopBound } from './hop-bounds.js';
import type { HopBuffers } from './hop-buffers.js';
import { groupSize, type HopParams, hopWords, tileSize } from './hop-wgsl.js';
import type { NodeTable } from './node-table.js';
import { assignRows, edgeTiles, gridAt, rowOffsets, rowTiles, tileOffsets } from './prefix-programs.js';
import { edgeRows, enterEdgesPrograms, fetchWords } from './reindex-programs.js';
import { rowPrograms } from './row-programs.js';

/** With fewer items, a grid for the most there can be costs less than an indirect one. */
const indirectFrom = 1 << 16;

export class HopRecorder {
  readonly #device: GpuDevice;
  readonly #graph: GraphPieces;

  constructor(device: GpuDevice, graph: GraphPieces) {
    this.#device = device;
    this.#graph = graph;
  }

  /** How many edges each row takes and where they go: state and offsets of the hop. `rows`: how many at most. */
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

  /** The slots that rows take, and the row of each edge. */
  draw(hop: HopParams, buffers: HopBuffers, bound: HopBound): void {
    if (bound.edges === 0) return;
    const { state, offsets, frontier, slots, columns, rows } = buffers;
    const inputs = [state, offsets, frontier, slots];
    const { program, extra } = drawProgramFor(hop.mode, hop.fanout);
    const items = this.#rowGrid(hop, buffers, bound.rows, groupSize);
    if (extra === 'sums') this.#perPiece(program, this.#graph.sums ?? [], hop, inputs, [], 0, items);
    else this.#device.run(program, extra === 'table' ? [...inputs, rows] : inputs, hopWords(hop), items);
    const edges = this.#edgeGrid(buffers, bound.edges, groupSize);
    this.#device.run(expandRows, [...inputs, columns], hopWords(hop), edges);
  }

  /** Finds the neighbours and gives each a row. */
  reindex(hop: HopParams, buffers: HopBuffers, table: NodeTable, bound: HopBound): void {
    const { state, slots, ids, places, tiles, nodeIds, rows } = buffers;
    const { entries, mask } = table;
    const items = this.#edgeGrid(buffers, bound.edges, groupSize);
    const tiled = this.#edgeGrid(buffers, bound.edges, tileSize);
    const behind = [ids, ...table.buffers, ...(table.kind === 'hash' ? [places] : [])];
    this.#perPiece(
      enterEdgesPrograms[table.kind],
      this.#graph.indices,
      hop,
      [state, slots],
      behind,
      mask,
      items,
    );
    this.#device.run(edgeTiles, [state, places, entries, tiles], hopWords(hop), tiled);
    this.#device.run(tileOffsets, [tiles, state, buffers.grid], hopWords(hop, 1, maxGroups), 1);
    this.#device.run(assignRows, [state, places, ids, tiles, entries, nodeIds], hopWords(hop), tiled);
    this.#device.run(edgeRows, [state, places, entries, rows], hopWords(hop), items);
  }

  /** out[e] = values[at[e]] for the edges of the hop, with `values` in pieces. */
  fetch(
    hop: HopParams,
    state: GpuBuffer,
    at: GpuBuffer,
    values: readonly GraphPiece[],
    out: GpuBuffer,
    most: number,
  ): void {
    this.#perPiece(fetchWords, values, hop, [state, at], [out], 0, grid(most, groupSize));
  }

  /** Runs a program once per piece, which it is given between the buffers `before` and `after`. */
  #perPiece(
    program: GpuProgram,
    pieces: readonly GraphPiece[],
    hop: HopParams,
    before: readonly GpuBuffer[],
    after: readonly GpuBuffer[],
    mask: number,
    groups: GpuGroups,
  ): void {
    for (const { buffer, first, count } of pieces)
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
