// Two linear maps of the same rows, added, with bias and relu, and the gradients of their weights: one pass each.
//
// Promises as in gemm.h: the forward is the bits of two products in a row, so an output row does not depend on its
// companions; the weight gradients depend on the sizes and the data, never on the thread count.
#pragma once

#include "support/common.h"

namespace skein {

// c[m,n] = f(bias (if not null) + a1[m,k1] · b1[n,k1]ᵀ + a2[m,k2] · b2[n,k2]ᵀ), f = relu or nothing.
template <class T>
void gemm_pair(const T* a1, const T* b1, i64 k1, const T* a2, const T* b2, i64 k2, const T* bias, T* c, i64 m, i64 n,
               bool relu);

// With h = g where y > 0 or y is null, else 0, for g and y [m,n]:
// gb1[n,k1] = hᵀ · a1, gb2[n,k2] = hᵀ · a2, gbias[n] (if not null) = Σ rows of h. For few columns and many rows.
template <class T>
void gemm_pair_backward(const T* g, const T* y, const T* a1, T* gb1, i64 k1, const T* a2, T* gb2, i64 k2, T* gbias,
                        i64 m, i64 n);

}  // namespace skein
