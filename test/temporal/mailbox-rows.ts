/** Rows and changes of a small mailbox, for tests. */

import { SharedMailBox } from 'skein/temporal';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import type { MemoryParam } from '#internal/temporal/mailbox/memory-param.js';
import type { StateDelta } from '#internal/temporal/mailbox/rows.js';

export const D = 3;
export const param: MemoryParam = { type: 'node', dim_out: D, mailbox_size: 1 };
export const ints = (...values: number[]) => Int32Array.from(values);
export const times = (...values: number[]) => Float64Array.from(values);
/** Rows whose elements all have the given value. */
export const rowsOf = (values: readonly number[], width = D): Tensor =>
  fromTypedArray(
    Float32Array.from({ length: values.length * width }, (_, i) => values[Math.floor(i / width)]),
    [values.length, width],
  );

export type Row = readonly [node: number, value: number, time: number, event: number];
export function delta(memory: readonly Row[], mail: readonly Row[] = []): StateDelta {
  const column = (rows: readonly Row[], k: number) => rows.map((row) => row[k]);
  return {
    nodes: Int32Array.from(column(memory, 0)),
    memory: rowsOf(column(memory, 1)),
    memoryTime: Float64Array.from(column(memory, 2)),
    memoryEvents: Int32Array.from(column(memory, 3)),
    mailNodes: Int32Array.from(column(mail, 0)),
    mail: rowsOf(column(mail, 1), 2 * D),
    mailTime: Float64Array.from(column(mail, 2)),
    mailEvents: Int32Array.from(column(mail, 3)),
  };
}
export const first = (t: Tensor, width: number) =>
  Array.from({ length: t.size / width }, (_, i) => t.dataSync()[i * width]);
export const boxOf = (numNodes = 6, more: Partial<MemoryParam> = {}) =>
  new SharedMailBox({ numNodes, memoryParam: { ...param, ...more } });
