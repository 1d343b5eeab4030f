// Scores of GATv2 over a sparse structure, and their gradients.
#pragma once

#include "sparse/offsets.h"

namespace skein {

// ee and gee may be null.
template <class T>
void gatv2_scores(const T* xl, const T* xr, const T* a, const T* ee, Offsets offsets, const i32* indices, T* out,
                  i64 rows, i64 heads, i64 width, double slope);

template <class T>
void gatv2_scores_backward(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                           const i32* indices, T* gxr, T* ga, T* gee, i64 rows, i64 heads, i64 width, double slope);

template <class T>
void gatv2_scores_backward_source(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                                  const i32* indices, const i32* positions, T* gxl, i64 rows, i64 heads, i64 width,
                                  double slope);

}  // namespace skein
