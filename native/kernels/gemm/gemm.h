// Matrix products for float and double, row-major and contiguous.
//
// Promise: without trans_a an output row depends on its input row, on b and on the start value only: not on its
// position, its companions, m or the thread count (see gemm.cpp for how). With trans_a the bits depend on the sizes
// and the data, never on the thread count. AVX2 and AVX-512 builds give the same bits.
#pragma once

#include "support/common.h"

namespace skein {

// c[m,n] = (accumulate ? c : 0) + bias[n] (if not null) + op(a) · op(b).
// a: [m,k], or [k,m] if trans_a; b: [k,n], or [n,k] if trans_b. c must not overlap a, b or bias.
template <class T>
void gemm(const T* a, const T* b, const T* bias, T* c, i64 m, i64 n, i64 k, bool trans_a, bool trans_b,
          bool accumulate);

// gemm for `batch` independent products, stored one after another in a, b and c.
template <class T>
void gemm_batched(const T* a, const T* b, T* c, i64 batch, i64 m, i64 n, i64 k, bool trans_a, bool trans_b,
                  bool accumulate);

}  // namespace skein
