// The largest or smallest of weighted rows for each row of a sparse structure, feature by feature, and which entry it was.
//
// NaN wins; among equals, and among NaNs, the first entry.
#pragma once

#include "sparse/feature_tiles.h"
#include "sparse/offsets.h"

namespace skein {

template <class T>
struct RowExtremes {
  T* y;
  const T* y_scale;
  i32* arg;  // may be null
};

// Rows from … to − 1, all columns. Compiled once, in spmm_extreme.cpp.
template <bool largest, class T>
void extreme_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const RowExtremes<T>& out, const Offsets& offsets,
                  i64 from, i64 to);

}  // namespace skein
