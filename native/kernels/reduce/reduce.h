// Reductions: over the middle axis of [outer, mid, inner], and of a whole array to one number.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void reduce(i64 op, const T* x, T* y, i64 outer, i64 mid, i64 inner);
template <class T>
void arg_reduce(i64 op, const T* x, i32* index, i64 outer, i64 mid, i64 inner);
template <class T>
double sum_squares(const T* x, i64 n);
template <class T>
i64 all_finite(const T* x, i64 n);
i64 find_out_of_range(const i32* ids, i64 n, i64 lo, i64 hi);

}  // namespace skein
