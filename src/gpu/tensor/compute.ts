/**
 * Common services of the kernels of one device: launching, upload of host arrays, cached graph structures.
 */
import type { TypedArray } from '../../native/index.js';
import { InternalError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice, GpuGroups } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { type ElementType, GpuArray } from './gpu-array.js';
import { packParams, type TensorProgram } from './tensor-program.js';

/** Device memory, host memory that is uploaded for the call, or null. */
export type Argument = unknown;

/** Limits of the structures cached on the device: their number, and their bytes. */
const maxStructures = 256;
const maxStructureBytes = 2 ** 29;
/** The newest structures are never evicted: one kernel uses several, and fetching the last must not evict the first. */
const minStructures = 8;

export class Compute {
  readonly gpu: GpuDevice;
  #nothing: GpuArray | null = null;
  /** Cached structures, oldest first. */
  readonly #structures = new Map<TypedArray, GpuArray>();
  #structureBytes = 0;

  constructor(gpu: GpuDevice) {
    this.gpu = gpu;
  }

  /** Allocates uninitialised elements. */
  allocate(type: ElementType, length: number, label = 'tensor'): GpuArray {
    return new GpuArray(this.gpu.buffer(length * 4, label), type, 0, length);
  }

  /**
   * Runs a program once per element, or in `groups` workgroups. Host arrays are uploaded; null is an array that the
   * program does not access.
   */
  launch(
    program: TensorProgram,
    arrays: readonly Argument[],
    params: readonly (number | boolean | Int32Array)[],
    size: number | { readonly groups: GpuGroups },
  ): void {
    if (size === 0) return;
    const temporary: GpuArray[] = [];
    const held = arrays.map((value) => this.#resolve(value, temporary));
    const { buffers } = program.gpu;
    // A buffer must not be bound for writing and for reading: inputs are copied first.
    for (const [i, array] of held.entries()) {
      if (buffers[i] !== 'read') continue;
      const written = held.some((other, j) => buffers[j] === 'write' && other.buffer === array.buffer);
      if (written) held[i] = this.#copied(array, temporary);
    }
    const words = packParams(
      program,
      params,
      held.map((array) => array.offset),
    );
    const groups = typeof size === 'number' ? grid(size, program.gpu.workgroup) : size.groups;
    this.gpu.run(
      program.gpu,
      held.map((array) => array.buffer),
      words,
      groups,
    );
    for (const array of temporary) array.release();
  }

  /** Returns offsets, indices or orders of a graph, which never change: uploaded once and cached. */
  structure(data: TypedArray): GpuArray {
    const known = this.#structures.get(data);
    if (known !== undefined) {
      this.#structures.delete(data);
      this.#structures.set(data, known);
      return known;
    }
    const array = this.upload(data);
    this.#structures.set(data, array);
    this.#structureBytes += data.length * 4;
    for (const [old, held] of this.#structures) {
      const { size } = this.#structures;
      if (size <= minStructures || (size <= maxStructures && this.#structureBytes <= maxStructureBytes))
        break;
      this.#forget(old, held);
    }
    return array;
  }

  /** Frees the cached structures. */
  clearStructures(): void {
    for (const [data, held] of this.#structures) this.#forget(data, held);
    this.#nothing?.release();
    this.#nothing = null;
  }

  /** Copies host memory to a new device array; the caller releases it. */
  upload(data: TypedArray): GpuArray {
    const words = toWords(data);
    const buffer: GpuBuffer = this.gpu.bufferOf(words, 'upload');
    const type = words instanceof Float32Array ? 'f32' : words instanceof Uint32Array ? 'u32' : 'i32';
    return new GpuArray(buffer, type, 0, data.length);
  }

  #forget(data: TypedArray, held: GpuArray): void {
    this.#structures.delete(data);
    this.#structureBytes -= data.length * 4;
    held.release();
  }

  #resolve(value: Argument, temporary: GpuArray[]): GpuArray {
    if (value instanceof GpuArray) return value;
    if (value === null || value === undefined) {
      this.#nothing ??= this.allocate('u32', 1, 'nothing');
      return this.#nothing;
    }
    if (!ArrayBuffer.isView(value))
      throw new InternalError('a GPU kernel was given a value that is not an array');
    const array = this.upload(value as TypedArray);
    temporary.push(array);
    return array;
  }

  #copied(array: GpuArray, temporary: GpuArray[]): GpuArray {
    const copy = this.allocate(array.type, array.length, 'copy');
    temporary.push(copy);
    this.gpu.copy(array.buffer, array.offset * 4, copy.buffer, 0, array.length * 4);
    return copy;
  }
}

/** Converts to elements of 4 bytes. */
export function toWords(data: TypedArray): Float32Array | Int32Array | Uint32Array {
  if (data instanceof Float32Array || data instanceof Int32Array || data instanceof Uint32Array) return data;
  if (data instanceof Uint8Array) return Uint32Array.from(data);
  throw new InternalError(`a GPU kernel was given a ${data.constructor.name}`);
}
