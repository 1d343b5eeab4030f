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
  readonly places: Int32Array;
}

export interface SampledLayers {
  /** Nodes of the rows of the first layer. */
  readonly nodeIds: Int32Array;
  /** Edges of the whole graph that some layer follows, ascending: one factor of a mask each. */
  readonly edgeIds: Int32Array;
  readonly layers: readonly FixedLayer[];
}

/** Takes the layers out of a sample, which is of no further use. */
export function takeLayers(sample: DenseSample): SampledLayers {
  const nodeIds = sample.nodeIds;
  sample.performMap();
  const taken: Omit<FixedLayer, 'places'>[] = [];
  for (let left = sample.numLayers; left > 0; left--) {
    const { numRows } = sample;
    const numComputed = numRows - sample.getLayerOffset();
    taken.push({ block: sample.block(), relations: sample.blockRelations(), numRows, numComputed });
    if (left > 1) sample.prepareForNextLayer();
  }
  const edgeIds = Int32Array.from(
    new Set(taken.flatMap(({ block }) => [...(block.parentEdgeIds ?? [])])),
  ).sort();
  const placeOf = new Map(Array.from(edgeIds, (id, i) => [id, i]));
  const layers = taken.map((layer) => ({
    ...layer,
    places: Int32Array.from(layer.block.parentEdgeIds ?? [], (id) => placeOf.get(id) as number),
  }));
  return { nodeIds, edgeIds, layers };
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
    const { block, places } = this.#layer;
    this.#masked ??= new MaskedGraph(block, reshape(gatherRows(this.#mask, places), [places.length]));
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
