/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Conversion of a layer's edges to other learning libraries. They get `edgeIndex` of shape [2, E], sources first, and
 * the edge ids as int32, sharing the memory of the adj where the library can use it (see the adapters in interop).
 */
import {
  type JaxArrayLike,
  type JaxLike,
  type OrtLike,
  type OrtTensorLike,
  type TensorView,
  type TfjsLike,
  type TfjsTensorLike,
  type ToJaxOptions,
  type ToOrtOptions,
  toJax,
  toOrt,
  toTfjs,
} from '../../interop/index.js';

/** The edges of a layer in tensors of another library. Dispose them before the adj is released. */
export interface PeerAdj<T> {
  /** [2, E] */
  readonly edgeIndex: T;
  /** [E] */
  readonly eId: T;
  /** [sources, destinations] */
  readonly size: readonly [number, number];
}

/** Edges as views, valid until `release`. */
export interface AdjViews {
  readonly edgeIndex: TensorView;
  readonly eId: TensorView;
}

export abstract class ConvertibleAdj implements Disposable {
  /** [sources, destinations] */
  abstract readonly size: readonly [number, number];
  /** @internal */
  protected abstract views(): AdjViews;
  /** Ends the use of views and frees the memory that the adj owns. Further calls do nothing. */
  abstract release(): void;

  /** Converts to TensorFlow.js tensors, on its current back end. */
  toTfjs<T extends TfjsTensorLike>(tf: TfjsLike<T>): PeerAdj<T> {
    return this.#convert((view) => toTfjs(tf, view));
  }

  /** Converts to ONNX Runtime tensors; `{ ids: 'i64' }` passes ids as int64, as most exported models expect. */
  toOrt<T extends OrtTensorLike>(ort: OrtLike<T>, options?: ToOrtOptions): PeerAdj<T> {
    return this.#convert((view) => toOrt(ort, view, options));
  }

  /** Converts to jax-js arrays by copying; the adj may be released immediately. */
  toJax<T extends JaxArrayLike>(jax: JaxLike<T>, options?: ToJaxOptions): PeerAdj<T> {
    return this.#convert((view) => toJax(jax, view, options));
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #convert<T>(convert: (view: TensorView) => T): PeerAdj<T> {
    const { edgeIndex, eId } = this.views();
    return { edgeIndex: convert(edgeIndex), eId: convert(eId), size: this.size };
  }
}
