/** Grouping by key: twin of `native/kernels/sparse/group_by_key.cpp`. */
import type { Kernels } from '../kernels.js';

export const orderTwins = {
  groupByKey(keys, offsets, order, n, count) {
    offsets.fill(0, 0, count + 1);
    for (let i = 0; i < n; i++) offsets[keys[i] + 1]++;
    for (let k = 0; k < count; k++) offsets[k + 1] += offsets[k];
    // Each start moves up to the next while its group is filled; afterwards all shift back by one.
    for (let i = 0; i < n; i++) order[offsets[keys[i]]++] = i;
    offsets.copyWithin(1, 0, count);
    offsets[0] = 0;
  },
} satisfies Partial<Kernels>;
