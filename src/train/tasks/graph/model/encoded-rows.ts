/**
 * Rows of all nodes between the stages of an encoder: computed once and kept in memory, or recomputed from the features on
 * each read, so that remote features are never all in memory.
 */
import { RemoteRowStore } from '../../../../dist/stores/index.js';
import { kernels } from '../../../../native/index.js';
import { MemoryStore, type RowReader } from '../../../../storage/index.js';
import { fromTypedArray, type Tensor, type TensorDevice } from '../../../../tensor/index.js';
import type { InputLayer } from './encoder-layer.js';

export interface EncodedRows {
  readonly width: number;
  /** Reads the values that `tensor` takes for these nodes. */
  read(ids: Int32Array): Promise<Float32Array>;
  /** Returns the rows of the nodes that `values` were read for. */
  tensor(values: Float32Array, device: TensorDevice | null): Tensor;
}

/** The results of a layer for all nodes. */
export class MadeRows implements EncodedRows {
  readonly width: number;
  readonly rows: Float32Array;

  constructor(numNodes: number, width: number) {
    this.width = width;
    this.rows = new Float32Array(numNodes * width);
  }

  async put(start: number, rows: Tensor): Promise<void> {
    this.rows.set((await rows.data()) as Float32Array, start * this.width);
  }

  async read(ids: Int32Array): Promise<Float32Array> {
    const out = new Float32Array(ids.length * this.width);
    kernels().gatherRows(this.rows, ids, out, ids.length, this.width * 4);
    return out;
  }

  tensor(values: Float32Array, device: TensorDevice | null): Tensor {
    return onDevice(values, this.width, device);
  }
}

/** The results of a layer that computes each row from one row of the features. */
export class InputRows implements EncodedRows {
  readonly width: number;
  readonly #layer: InputLayer;
  readonly #features: RowReader<Float32Array>;

  constructor(layer: InputLayer, features: RowReader<Float32Array>) {
    this.width = layer.config.output_dim;
    this.#layer = layer;
    this.#features = features;
  }

  read(ids: Int32Array): Promise<Float32Array> {
    return this.#features.gather(ids);
  }

  tensor(values: Float32Array, device: TensorDevice | null): Tensor {
    return this.#layer.forward(onDevice(values, this.#features.width, device)).contiguous();
  }
}

/** Whether rows are cheap to read repeatedly and in any order; those of a file are read once, in order. */
export function hasRandomAccess(
  features: RowReader<Float32Array> | null,
): features is RowReader<Float32Array> {
  return features instanceof MemoryStore || features instanceof RemoteRowStore;
}

function onDevice(values: Float32Array, width: number, device: TensorDevice | null): Tensor {
  const rows = fromTypedArray(values, [values.length / width, width]);
  return device === null ? rows : rows.to(device);
}
