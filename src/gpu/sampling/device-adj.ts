/** The edges of one layer in device memory, as slices of the memory of a `DeviceSample`. */
import { TensorView } from '../../interop/index.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import type { Adj } from './adj.js';
import { type AdjViews, ConvertibleAdj } from './convertible-adj.js';

/** @internal */
export interface DeviceAdjParts {
  readonly device: GpuDevice;
  readonly rows: GpuBuffer;
  readonly columns: GpuBuffer;
  /** Computes the ids on request. */
  readonly edgeIds: () => GpuBuffer;
  readonly numEdges: number;
  readonly size: readonly [number, number];
  readonly toHost: () => Promise<Adj>;
}

export class DeviceAdj extends ConvertibleAdj {
  override readonly size: readonly [number, number];
  readonly numEdges: number;
  readonly #parts: DeviceAdjParts;
  readonly #views = new Map<string, TensorView>();
  #joined: GpuBuffer | null = null;

  /** @internal Created by samplers. */
  constructor(parts: DeviceAdjParts) {
    super();
    this.#parts = parts;
    this.size = parts.size;
    this.numEdges = parts.numEdges;
  }

  /** Source row of each edge, i32. */
  get row(): TensorView {
    return this.#view('row', () => this.#parts.rows, [this.numEdges]);
  }

  /** Destination row of each edge, i32. */
  get col(): TensorView {
    return this.#view('col', () => this.#parts.columns, [this.numEdges]);
  }

  /** Edge id in the graph of each edge, i32. */
  get eId(): TensorView {
    return this.#view('eId', () => this.#parts.edgeIds(), [this.numEdges]);
  }

  /** [2, E]: sources, then destinations; joined on the device on first use. */
  get edgeIndex(): TensorView {
    return this.#view('edgeIndex', () => this.#join(), [2, this.numEdges]);
  }

  /** Copies the edges to host memory. */
  toHost(): Promise<Adj> {
    return this.#parts.toHost();
  }

  /** Ends the use of the views. Further calls do nothing. */
  override release(): void {
    for (const view of this.#views.values()) view.release();
    this.#joined?.release();
    this.#joined = null;
  }

  protected override views(): AdjViews {
    return this;
  }

  #view(name: string, buffer: () => GpuBuffer, shape: readonly number[]): TensorView {
    let view = this.#views.get(name);
    if (view === undefined) {
      const { device } = this.#parts;
      view = TensorView.fromGpuBuffer(buffer().raw, device.raw, { shape, dtype: 'i32' });
      this.#views.set(name, view);
    }
    return view;
  }

  #join(): GpuBuffer {
    const { device, rows, columns } = this.#parts;
    const bytes = 4 * this.numEdges;
    this.#joined = device.buffer(2 * bytes, 'edge index');
    device.copy(rows, 0, this.#joined, 0, bytes);
    device.copy(columns, 0, this.#joined, bytes, bytes);
    device.flush();
    return this.#joined;
  }
}
