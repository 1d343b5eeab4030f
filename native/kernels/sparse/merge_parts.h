// Merges results over disjoint sets of edges into results over all of them; see src/native/graph-kernels.ts.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void merge_extreme(bool max, T* y, i32* arg, const T* part, const i32* arg_part, const i32* rows, i64 count, i64 width);

template <class T>
void merge_attention(T* y, T* lse, const T* part, const T* lse_part, const i32* rows, i64 count, i64 heads, i64 width);

}  // namespace skein
