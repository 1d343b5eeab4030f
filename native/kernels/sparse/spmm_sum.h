// The sum of weighted rows for each row of a sparse structure, tile by tile: what spmm and attention share.
#pragma once

#include "sparse/feature_tiles.h"
#include "sparse/offsets.h"

namespace skein {

// How the sums of a row become its result: an entry in front, the mean, a factor, and what was there before.
template <class T>
struct RowSums {
  T* y;
  const T* y_scale;
  i64 x_rows;
  i64 self;
  bool has_self;
  bool mean;
  bool accumulate;
  bool streamed;
};

// Rows from … to − 1, all columns. Compiled once, in spmm_sum.cpp: there is a version for every shape of weights and tiles.
template <class T>
void sum_gathered_rows(const GatheredRows<T>& in, const EdgeWeights<T>& all, const RowSums<T>& out,
                       const Offsets& offsets, i64 from, i64 to);

}  // namespace skein
