// Sums over the rows of a matrix, column by column, in blocks of rows: shared by the norms' gradients.
//
// A block's sums are kept in the element type, blocks are added in double and in order. The blocks depend on the
// shape alone, so the result does not depend on the number of threads.
#pragma once

#include <vector>

#include "support/common.h"

namespace skein {

// Rows per block: large enough to split the work well, and at most about 1000 blocks.
inline i64 block_rows(i64 rows, i64 cols) {
  const i64 by_size = cols >= 2048 ? 16 : 32768 / (cols > 0 ? cols : 1);
  const i64 by_count = (rows + 999) / 1000;
  return by_size > by_count ? by_size : by_count;
}

// out_a[c] and out_b[c] (either may be null) from per-block sums laid out as [blocks][2][stride].
template <class T>
inline void add_blocks(const std::vector<T>& sums, T* out_a, T* out_b, i64 blocks, i64 stride,
                       i64 cols) {
  T* const outs[2] = {out_a, out_b};
  std::vector<double> total(static_cast<size_t>(cols));
  for (int which = 0; which < 2; ++which) {
    if (outs[which] == nullptr) continue;
    double* SKEIN_RESTRICT t = total.data();
    for (i64 c = 0; c < cols; ++c) t[c] = 0.0;
    for (i64 b = 0; b < blocks; ++b) {
      const T* SKEIN_RESTRICT s = sums.data() + (2 * b + which) * stride;
      for (i64 c = 0; c < cols; ++c) t[c] += static_cast<double>(s[c]);
    }
    for (i64 c = 0; c < cols; ++c) outs[which][c] = static_cast<T>(t[c]);
  }
}

}  // namespace skein
