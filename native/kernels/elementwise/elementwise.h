// One value in, one value out: activations and their gradients, and the small in-place helpers.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void unary(i64 op, const T* x, T* y, i64 n, double alpha);
template <class T>
void unary_backward(i64 op, const T* x, const T* y, const T* gy, T* gx, i64 n, double alpha);
template <class T>
void where(const u8* condition, const T* a, const T* b, T* y, i64 n);
template <class T>
void clamp(const T* x, T* y, i64 n, double lo, double hi);
template <class T>
void axpy(double scale, const T* x, T* y, i64 n);
template <class T>
void scale(T* x, i64 n, double scale);
template <class T>
void fill(T* x, i64 n, double value);

}  // namespace skein
