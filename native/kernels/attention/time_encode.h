// Time encoding y[i, j] = cos(t[i] w[j] + b[j]) (Xu et al. 2020, "Inductive representation learning on temporal
// graphs", eq. 7 with a learnt phase).
//
// Time stamps are large (seconds since 1970 are about 1.7e9) while the result turns over within 2π, so the argument is
// formed and reduced in double for both array types.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void time_encode(const T* t, const T* w, const T* b, T* y, i64 n, i64 d);

// gt may be null. gw and gb are overwritten.
template <class T>
void time_encode_backward(const T* t, const T* w, const T* b, const T* gy, T* gt, T* gw, T* gb, i64 n, i64 d);

}  // namespace skein
