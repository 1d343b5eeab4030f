/**
 * The layers of a graph that is sharded over workers, in the order of an encoder: the whole graph for each layer, or only
 * the subgraph that the labelled nodes need (message-flow graphs).
 */
import type { DistributedGraph } from '../../../../dist/index.js';
import type { MessageGraph } from '../../../../graph/index.js';
import type { LayerGraph } from '../../../../sample/layer-graph.js';
import type { Tensor } from '../../../../tensor/index.js';
import { StateError } from '../../../../util/errors.js';

/** A graph with the relation of each of its edges. */
export interface ShardedLayer {
  readonly graph: DistributedGraph;
  readonly relations: Int32Array | null;
}

export class ShardedLayers implements LayerGraph {
  readonly #layers: readonly ShardedLayer[];
  #current = 0;

  /** @param layers in the order in which they run. */
  constructor(layers: readonly ShardedLayer[]) {
    this.#layers = layers;
  }

  get numLayers(): number {
    return this.#layers.length - this.#current;
  }

  get numRows(): number {
    return this.block().numSrcNodes;
  }

  performMap(): this {
    return this;
  }

  prepareForNextLayer(): this {
    if (this.numLayers <= 1)
      throw new StateError(
        'ShardedLayers.prepareForNextLayer: expected a layer after the current one, got the last layer.',
      );
    this.#current++;
    return this;
  }

  block(): MessageGraph {
    return this.#layers[this.#current].graph;
  }

  blockRelations(): Int32Array | null {
    return this.#layers[this.#current].relations;
  }

  computedRows(x: Tensor): Tensor {
    let rows = x;
    for (let i = 0; i <= this.#current; i++) rows = this.#layers[i].graph.dstRows(rows);
    return rows;
  }
}
