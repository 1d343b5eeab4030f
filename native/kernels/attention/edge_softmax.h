// Softmax over the entries of each row of a sparse structure, per head.
#pragma once

#include "sparse/offsets.h"

namespace skein {

template <class T>
void edge_softmax(const T* scores, Offsets offsets, T* out, i64 rows, i64 heads);

template <class T>
void edge_softmax_backward(const T* out, const T* gout, Offsets offsets, T* gscores, i64 rows, i64 heads);

}  // namespace skein
