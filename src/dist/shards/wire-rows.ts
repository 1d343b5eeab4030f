/** Rows as messages: unencoded, or through a codec. */
import { isFloat } from '../../tensor/dtype.js';
import type { Tensor } from '../../tensor/index.js';
import type { CommArray } from '../comm/communicator.js';
import { PackedRows } from './packed-rows.js';
import type { RowCodec } from './row-codec.js';

export interface Outgoing {
  readonly array: CommArray;
  dispose(): void;
}

export interface Incoming {
  readonly array: CommArray;
  /** Returns the rows after the message has arrived; the caller disposes them. */
  open(): PackedRows;
}

/** Encodes rows and takes ownership of them. `key` identifies them for error feedback. */
export function encodeRows(codec: RowCodec | null, rows: PackedRows, key: string | null): Outgoing {
  if (codec === null || !isFloat(rows.fields[0].dtype)) return rows;
  const wire = codec.encode(rows, key);
  rows.dispose();
  return { array: wire.array as CommArray, dispose: () => wire.dispose() };
}

export function expectRows(codec: RowCodec | null, count: number, like: readonly Tensor[]): Incoming {
  if (codec === null || !isFloat(like[0].dtype)) {
    const rows = PackedRows.allocate(count, like);
    return { array: rows.array, open: () => rows };
  }
  const wire = codec.allocate(count, like);
  const open = (): PackedRows => {
    const rows = PackedRows.allocate(count, like);
    codec.decode(wire, rows);
    wire.dispose();
    return rows;
  };
  return { array: wire.array as CommArray, open };
}
