/** Rows from a file: the twin of `native/kernels/rows_read.cpp`. One read a row, one after the other. */
import { StateError } from '../../util/errors.js';
import type { TypedArray } from '../types.js';

export function readRows(
  file: number,
  ids: Int32Array,
  places: Int32Array,
  out: TypedArray,
  n: number,
  rowBytes: number,
): void {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs');
  if (fs === undefined) throw new StateError('readRows: files can only be read in Node.js.');
  const bytes = new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
  for (let i = 0; i < n; i++) {
    for (let done = 0; done < rowBytes; ) {
      const to = places[i] * rowBytes + done;
      const got = fs.readSync(file, bytes, to, rowBytes - done, ids[i] * rowBytes + done);
      if (got === 0) throw new StateError(`readRows: the file ends before row ${ids[i]}.`);
      done += got;
    }
  }
}
