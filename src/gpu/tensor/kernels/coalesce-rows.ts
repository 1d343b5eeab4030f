/** Sums rows of equal id. The host, which has the ids, finds equal ones; only the rows are on the device. */
import type { Kernels } from '../../../native/index.js';
import { InternalError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import { onGpu } from '../gpu-array.js';
import { scatterAdd } from './rows.js';

export function coalesceKernels(c: Compute): Partial<Kernels> {
  return {
    coalesceRows(ids, src, outIds, outRows, n, _rows, width) {
      if (!(ids instanceof Int32Array) || !(outIds instanceof Int32Array))
        throw new InternalError('coalesceRows expects ids in memory');
      if (n === 0) return 0;
      const sorted = ids.slice(0, n).sort();
      const place = new Map<number, number>();
      for (const id of sorted)
        if (!place.has(id)) {
          outIds[place.size] = id;
          place.set(id, place.size);
        }
      const places = Int32Array.from({ length: n }, (_, i) => place.get(ids[i]) as number);
      const out = onGpu(outRows);
      c.gpu.clear(out.buffer, out.offset * 4, place.size * width * 4);
      scatterAdd(c, 'coalesceRows', places, src, out, n, place.size, width);
      return place.size;
    },
  };
}
