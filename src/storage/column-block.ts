/** The memory of one column of a partition buffer: contiguous, starting at a cache line. */
import { prepareBlock } from '../native/index.js';
import { expected, ValueError } from '../util/errors.js';
import { maxElements } from './direct-io.js';
import { bytesPerElement, type TableColumn } from './table-manifest.js';

export type ColumnBlock = Float32Array | Uint16Array;

/** Throws if a block is too large for a typed array. */
export function checkBlock({ name, width }: TableColumn, rows: number): void {
  const elements = rows * width;
  if (elements <= maxElements) return;
  const advice = 'A typed array holds fewer than 2^32 elements: lower the capacity or use more partitions.';
  const what = `at most ${maxElements} elements`;
  throw new ValueError(expected('PartitionBuffer', what, `the block of column ${name}`, elements, advice));
}

export function allocateBlock({ dtype, width }: TableColumn, rows: number): ColumnBlock {
  const elements = rows * width;
  const buffer = new ArrayBuffer(elements * bytesPerElement(dtype) + 64);
  const miss = prepareBlock(new Uint8Array(buffer, 0, Math.min(buffer.byteLength, maxElements)));
  const offset = (64 - miss) % 64;
  return dtype === 'f32'
    ? new Float32Array(buffer, offset, elements)
    : new Uint16Array(buffer, offset, elements);
}
