/** The layers of a sample, kept so that an encoder can run on them many times with different masks. */
import type { Block } from '../../graph/index.js';
import type { DenseSample } from '../../sample/index.js';
import type { LayerGraph } from '../../sample/layer-graph.js';
import { gatherRows, reshape, slice, type Tensor } from '../../tensor/index.js';
import { MaskedGraph } from './masked-graph.js';

interface FixedLayer {
  readonly block: Block;
  readonly relations: Int32Array | null;
  readonly numRows: number;
  /** Rows that the layer computes: the last ones. */
  readonly numComputed: number;
  /** The position in `edgeIds` of each edge of the block. */
  readonly positions: Int32Array;
}

export interface SampledLayers {
  /** Nodes of the rows of the first layer. */
  readonly nodeIds: Int32Array;
  /** The row of each target in the result. */
  readonly targetRows: Int32Array;
  /**
   * Edges of the whole graph that some layer follows, ascending: one factor of a mask each. An edge that is followed in both
   * directions, or in several layers, has one factor.
   */
  readonly edgeIds: Int32Array;
  /** The layers that follow each edge, from 1; edges next to a target are followed by all of them. */
  readonly uses: Int32Array;
  readonly layers: readonly FixedLayer[];
}

/** Takes the layers out of a sample, which must not be used afterwards; returns null if they follow more edges than `maxEdges`. */
export function takeLayers(sample: DenseSample, maxEdges: number): SampledLayers | null {
  const { nodeIds, targetRows } = sample;
  sample.performMap();
  const taken: Omit<FixedLayer, 'positions'>[] = [];
  for (let left = sample.numLayers; left > 0; left--) {
    const { numRows } = sample;
    const numComputed = numRows - sample.getLayerOffset();
    taken.push({ block: sample.block(), relations: sample.blockRelations(), numRows, numComputed });
    if (left > 1) sample.prepareForNextLayer();
  }
  const distinct = new Set<number>();
  for (const { block } of taken)
    for (const id of idsOf(block)) if (distinct.add(id).size > maxEdges) return null;
  const edgeIds = Int32Array.from(distinct).sort();
  const positionOf = new Map(Array.from(edgeIds, (id, i) => [id, i]));
  const layers = taken.map((layer) => ({
    ...layer,
    positions: idsOf(layer.block).map((id) => positionOf.get(id) as number),
  }));
  const uses = new Int32Array(edgeIds.length);
  for (const { positions } of layers) for (const position of new Set(positions)) uses[position]++;
  return { nodeIds, targetRows, edgeIds, uses, layers };
}

function idsOf({ parentEdgeIds }: Block): Int32Array {
  return parentEdgeIds ?? new Int32Array(0);
}

/** One run of an encoder over the layers, with a factor for each edge. */
export class MaskedLayers implements LayerGraph {
  readonly #layers: readonly FixedLayer[];
  /** [edges, 1] in the order of `edgeIds`. */
  readonly #mask: Tensor;
  #at = 0;
  #masked: MaskedGraph | null = null;

  constructor({ layers }: SampledLayers, mask: Tensor) {
    this.#layers = layers;
    this.#mask = mask;
  }

  get #layer(): FixedLayer {
    return this.#layers[this.#at];
  }

  get numLayers(): number {
    return this.#layers.length - this.#at;
  }

  get numRows(): number {
    return this.#layer.numRows;
  }

  performMap(): this {
    return this;
  }

  prepareForNextLayer(): this {
    this.#at++;
    this.#masked = null;
    return this;
  }

  block(): MaskedGraph {
    const { block, positions } = this.#layer;
    this.#masked ??= new MaskedGraph(block, reshape(gatherRows(this.#mask, positions), [positions.length]));
    return this.#masked;
  }

  blockRelations(): Int32Array | null {
    return this.#layer.relations;
  }

  computedRows(x: Tensor): Tensor {
    const { numComputed } = this.#layer;
    return x.shape[0] === numComputed ? x : slice(x, x.shape[0] - numComputed);
  }
}
