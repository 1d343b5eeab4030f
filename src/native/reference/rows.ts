/** Rows by id: twins of `native/kernels/rows/rows_*.cpp`. Rows of a file are read one at a time. */
import { StateError } from '../../util/errors.js';
import type { Kernels } from '../kernels.js';

export const rowTwins = {
  gatherRows(x, ids, y, n, rowBytes) {
    const from = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
    const to = new Uint8Array(y.buffer, y.byteOffset, y.byteLength);
    for (let i = 0; i < n; i++) {
      const start = ids[i] * rowBytes;
      to.set(from.subarray(start, start + rowBytes), i * rowBytes);
    }
  },
  gatherRowsStrided(x, ids, y, n, rowBytes, strideBytes) {
    const from = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
    const to = new Uint8Array(y.buffer, y.byteOffset, y.byteLength);
    for (let i = 0; i < n; i++) {
      const [start, place] = [ids[i] * rowBytes, i * strideBytes];
      if (ids[i] < 0) to.fill(0, place, place + rowBytes);
      else to.set(from.subarray(start, start + rowBytes), place);
    }
  },
  putRows(src, ids, dst, n, rowBytes) {
    const from = new Uint8Array(src.buffer, src.byteOffset, src.byteLength);
    const to = new Uint8Array(dst.buffer, dst.byteOffset, dst.byteLength);
    for (let i = 0; i < n; i++) to.set(from.subarray(i * rowBytes, (i + 1) * rowBytes), ids[i] * rowBytes);
  },
  scatterAddRows(ids, src, dst, n, _rows, width) {
    for (let i = 0; i < n; i++) {
      const to = ids[i] * width;
      const from = i * width;
      for (let j = 0; j < width; j++) dst[to + j] += src[from + j];
    }
  },
  sumRows(ids, src, out, n, rows, width) {
    out.fill(0, 0, rows * width);
    rowTwins.scatterAddRows(ids, src, out, n, rows, width);
  },
  coalesceRows(ids, src, outIds, outRows, n, _rows, width) {
    // Positions by id, equal ids by position: one BigInt key holds both and sorts as an integer.
    const keys = BigUint64Array.from({ length: n }, (_, i) => (BigInt(ids[i]) << 32n) | BigInt(i)).sort();
    let count = 0;
    for (let k = 0; k < n; k++) {
      const id = Number(keys[k] >> 32n);
      const from = Number(keys[k] & 0xffffffffn) * width;
      if (count > 0 && outIds[count - 1] === id) {
        const to = (count - 1) * width;
        for (let j = 0; j < width; j++) outRows[to + j] += src[from + j];
      } else {
        outIds[count] = id;
        outRows.set(src.subarray(from, from + width), count * width);
        count++;
      }
    }
    return count;
  },
  readRows(file, ids, outRows, out, n, rowBytes) {
    const fs = globalThis.process?.getBuiltinModule?.('node:fs');
    if (fs === undefined) throw new StateError('readRows: files can only be read in Node.js.');
    const bytes = new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
    for (let i = 0; i < n; i++) {
      for (let done = 0; done < rowBytes; ) {
        const to = outRows[i] * rowBytes + done;
        const got = fs.readSync(file, bytes, to, rowBytes - done, ids[i] * rowBytes + done);
        if (got === 0) throw new StateError(`readRows: the file ends before row ${ids[i]}.`);
        done += got;
      }
    }
  },
} satisfies Partial<Kernels>;
