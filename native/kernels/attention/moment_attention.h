// Attention of nodes over their latest events, at many times each: what does not depend on the time is computed once.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void moment_attention(const T* fixed, const T* mapped, const i32* mapped_rows, const i32* event_rows,
                      const double* event_times, const i32* offsets, const T* query, const T* own, const T* w, const T* b, const T* merge, const i32* cutoffs,
                      const double* times, T* y, i64 num_nodes, i64 num_times, i64 fanout, i64 heads, i64 dim_time,
                      i64 hidden, double scale, double slope);

}  // namespace skein
