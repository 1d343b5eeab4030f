/**
 * The document's sampled graph: a `MariusGraph` over the edges of a sample, in the order in which layers compute. A
 * facade over `DenseSample`; encoders take it in its place.
 *
 * Edges of `inNeighborsVec` and `outNeighborsVec` are one list per hop, the farthest first, as `hopOffsets` counts hops.
 */

import type { Block } from '../../graph/index.js';
import type { DenseSide } from '../../sample/dense-sample.js';
import { DenseSample } from '../../sample/index.js';
import type { LayerGraph } from '../../sample/layer-graph.js';
import type { EdgeList } from '../../sample/one-hop-sampler.js';
import type { Tensor } from '../../tensor/index.js';
import { concatInt32 } from '../../util/arrays.js';
import { expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import { MariusGraph } from './marius-graph.js';

const name = 'GNNGraph';

export class GNNGraph extends MariusGraph implements LayerGraph {
  #sample: DenseSample | null;
  #isMapped = false;
  #numNodesInMemory: number;

  /** Without arguments the graph is empty. Without a mapping, `performMap` finds the row of each neighbour. */
  constructor(
    hopOffsets: Int32Array | null = null,
    nodeIds: Int32Array = new Int32Array(0),
    inOffsets: Int32Array | null = null,
    inNeighborsVec: readonly EdgeList[] = [],
    inNeighborsMapping: Int32Array | null = null,
    outOffsets: Int32Array | null = null,
    outNeighborsVec: readonly EdgeList[] = [],
    outNeighborsMapping: Int32Array | null = null,
    numNodesInMemory = nodeIds.length,
  ) {
    super();
    this.#numNodesInMemory = numNodesInMemory;
    this.#sample = null;
    if (hopOffsets === null) return;
    checkHops(hopOffsets, nodeIds);
    const rowOf = new Map(Array.from(nodeIds, (id, row) => [id, row]));
    const incoming = sideOf('in', inOffsets, inNeighborsVec, inNeighborsMapping, rowOf);
    const outgoing = sideOf('out', outOffsets, outNeighborsVec, outNeighborsMapping, rowOf);
    const first = hopOffsets[hopOffsets.length - 2];
    this.#sample = new DenseSample({
      ...{ nodeIds, hopOffsets, incoming: incoming?.side ?? null, outgoing: outgoing?.side ?? null },
      position: Int32Array.from(nodeIds.keys()),
      targetRows: Int32Array.from({ length: nodeIds.length - first }, (_, i) => i),
      parent: { normDegrees: () => missingDegrees() },
      relations: relationsOf(incoming, outgoing),
    });
    if (inNeighborsMapping !== null || outNeighborsMapping !== null) this.performMap();
  }

  /** Wraps a sample; `numNodesInMemory`: the nodes of the graph it was drawn from. */
  static of(sample: DenseSample, numNodesInMemory: number): GNNGraph {
    const graph = new GNNGraph();
    graph.#sample = sample;
    graph.#numNodesInMemory = numNodesInMemory;
    return graph;
  }

  /** The sample itself, as encoders and samplers take it. */
  get sample(): DenseSample {
    if (this.#sample === null) throw new StateError(`${name}: expected a sample, got an empty graph.`);
    return this.#sample;
  }

  /** Where each hop starts, the farthest first, and the number of rows. */
  get hopOffsets(): Int32Array {
    return this.#sample?.hopOffsets ?? new Int32Array(2);
  }

  /** The row of each neighbour along incoming edges; null before `performMap`. */
  get inNeighborsMapping(): Int32Array | null {
    return this.#isMapped ? this.getNeighborIDs(true) : null;
  }

  /** The row of each neighbour along outgoing edges; null before `performMap`. */
  get outNeighborsMapping(): Int32Array | null {
    return this.#isMapped ? this.getNeighborIDs(false) : null;
  }

  get inNeighborsVec(): readonly EdgeList[] {
    return this.#byHop(true);
  }

  get outNeighborsVec(): readonly EdgeList[] {
    return this.#byHop(false);
  }

  /** Nodes of the graph that the sample was drawn from, or of its resident partitions. */
  get numNodesInMemory(): number {
    return this.#numNodesInMemory;
  }

  get numLayers(): number {
    return this.hopOffsets.length - 2;
  }

  get numRows(): number {
    return this.nodeIds.length;
  }

  get numTargets(): number {
    return this.#sample?.numTargets ?? 0;
  }

  override getNodeIDs(): Int32Array {
    return this.#sample?.nodeIds ?? new Int32Array(0);
  }

  override getEdges(incoming = true): EdgeList {
    return this.sample.getEdges(incoming);
  }

  override getRelationIDs(incoming = true): Int32Array | null {
    return this.sample.getRelationIDs(incoming);
  }

  override getNeighborOffsets(incoming = true): Int32Array {
    return this.sample.getNeighborOffsets(incoming);
  }

  override getNumNeighbors(incoming = true): Int32Array {
    return this.sample.getNumNeighbors(incoming);
  }

  /** Returns the neighbour of each edge of the current layer: its row after `performMap`, or with `global` its id. */
  getNeighborIDs(incoming = true, global = false): Int32Array {
    return this.sample.getNeighborIDs(incoming, global);
  }

  getLayerOffset(): number {
    return this.sample.getLayerOffset();
  }

  performMap(): this {
    this.sample.performMap();
    this.#isMapped = true;
    return this;
  }

  prepareForNextLayer(): this {
    this.sample.prepareForNextLayer();
    return this;
  }

  override clear(): void {
    super.clear();
    this.#sample = null;
    this.#isMapped = false;
  }

  block(): Block {
    return this.sample.block();
  }

  blockRelations(): Int32Array | null {
    return this.sample.blockRelations();
  }

  computedRows(x: Tensor): Tensor {
    return this.sample.computedRows(x);
  }

  #byHop(incoming: boolean): EdgeList[] {
    if (this.#sample === null) return [];
    const { hopOffsets } = this;
    const offsets = [...this.getNeighborOffsets(incoming)];
    const { src, dst, relations = null } = this.getEdges(incoming);
    offsets.push(src.length);
    return Array.from({ length: this.numLayers }, (_, hop) => {
      const [from, to] = [hopOffsets[hop + 1], hopOffsets[hop + 2]].map(
        (row) => offsets[row - hopOffsets[1]],
      );
      const part = (ids: Int32Array): Int32Array => ids.slice(from, to);
      return { src: part(src), dst: part(dst), relations: relations === null ? null : part(relations) };
    });
  }
}

interface GivenSide {
  readonly side: DenseSide;
  readonly relations: Int32Array | null;
}

/** The edges of all hops in one direction; null without offsets. */
function sideOf(
  direction: 'in' | 'out',
  offsets: Int32Array | null,
  hops: readonly EdgeList[],
  mapping: Int32Array | null,
  rowOf: ReadonlyMap<number, number>,
): GivenSide | null {
  if (offsets === null) return null;
  const neighbors = joinLists(hops.map(({ src, dst }) => (direction === 'in' ? src : dst)));
  const relations = hops.some((hop) => (hop.relations ?? null) !== null)
    ? joinLists(hops.map((hop, i) => checkRelations(`${direction}NeighborsVec[${i}].relations`, hop)))
    : null;
  if (mapping !== null && mapping.length !== neighbors.length)
    throw new ShapeError(
      expected(name, `${neighbors.length} rows`, `${direction}NeighborsMapping`, mapping.length),
    );
  const rows =
    mapping ??
    neighbors.map((id) => {
      const row = rowOf.get(id);
      if (row === undefined)
        throw new ShapeError(
          expected(name, 'neighbours that are among nodeIds', `${direction}NeighborsVec`, id),
        );
      return row;
    });
  const pick = (positions: Int32Array): Int32Array => positions.map((at) => neighbors[at]);
  const graph = {
    numEdges: neighbors.length,
    neighborsOf: pick,
    edgeIds: (positions: Int32Array): Int32Array => positions,
    weightsOf: (): null => null,
  };
  checkOffsets(`${direction}Offsets`, offsets, neighbors.length);
  const all = new Int32Array(offsets.length + 1);
  all.set(offsets);
  all[offsets.length] = neighbors.length;
  const slots = Int32Array.from(neighbors.keys());
  return { side: { graph, edges: { offsets: all, slots, indices: rows } }, relations };
}

function relationsOf(incoming: GivenSide | null, outgoing: GivenSide | null) {
  const given = [incoming, outgoing].filter((side) => side !== null && side.relations !== null);
  if (given.length === 0) return null;
  const count =
    1 +
    given.reduce(
      (most, side) => (side?.relations ?? new Int32Array(0)).reduce((a, b) => Math.max(a, b), most),
      -1,
    );
  return {
    count,
    of: (graph: DenseSide['graph'], positions: Int32Array): Int32Array => {
      const ids = given.find((side) => side?.side.graph === graph)?.relations ?? new Int32Array(0);
      return positions.map((at) => ids[at]);
    },
  };
}

/** Returns the relations of a hop; throws unless there is one per edge. */
function checkRelations(what: string, { src, dst, relations }: EdgeList): Int32Array {
  if (src.length === dst.length && relations?.length === src.length) return relations;
  throw new ShapeError(
    expected(name, `${src.length} relations, one per edge`, what, relations?.length ?? null),
  );
}

/** Throws unless offsets ascend from 0 to at most the number of edges. */
function checkOffsets(what: string, offsets: Int32Array, numEdges: number): void {
  const wrong = offsets.findIndex(
    (offset, i) => offset < (i === 0 ? 0 : offsets[i - 1]) || offset > numEdges,
  );
  if (wrong >= 0)
    throw new ShapeError(
      expected(name, `ascending offsets from 0 to ${numEdges}`, `${what}[${wrong}]`, offsets[wrong]),
    );
}

function checkHops(hopOffsets: Int32Array, nodeIds: Int32Array): void {
  for (const [what, ids] of Object.entries({ hopOffsets, nodeIds }))
    if (!ArrayBuffer.isView(ids) && !Array.isArray(ids))
      throw new ValueError(expected(name, 'an Int32Array', what, ids));
  if (new Set(nodeIds).size !== nodeIds.length)
    throw new ShapeError(expected(name, 'different ids', 'nodeIds', 'an id twice'));
  const wrong = hopOffsets.findIndex((offset, i) => (i === 0 ? offset !== 0 : offset < hopOffsets[i - 1]));
  if (wrong >= 0)
    throw new ShapeError(
      expected(name, 'ascending offsets from 0', `hopOffsets[${wrong}]`, hopOffsets[wrong]),
    );
  if (hopOffsets.length < 2 || hopOffsets[hopOffsets.length - 1] !== nodeIds.length)
    throw new ShapeError(
      expected(name, `starts of the hops, then the number of nodes ${nodeIds.length}`, 'hopOffsets', [
        ...hopOffsets,
      ]),
    );
}

function missingDegrees(): never {
  throw new StateError(
    `${name}: expected degrees of the whole graph for a normalising layer, got a graph made from arrays. Sample it with a NeighborSampler.`,
  );
}

function joinLists(lists: readonly Int32Array[]): Int32Array {
  return concatInt32(lists);
}
