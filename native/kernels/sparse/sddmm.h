// Products of the two ends' features for every entry of a sparse structure.
#pragma once

#include "sparse/offsets.h"

namespace skein {

// x_scale, y_scale and arg may be null.
template <class T>
void sddmm(const T* x, const T* y, const T* x_scale, const T* y_scale, const i32* arg, Offsets offsets,
           const i32* indices, T* out, i64 rows, i64 width, i64 heads);

}  // namespace skein
