// Softmax and its logarithm over the rows of a matrix, with their gradients.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void softmax(const T* x, T* y, i64 rows, i64 cols);

template <class T>
void softmax_backward(const T* y, const T* gy, T* gx, i64 rows, i64 cols);

template <class T>
void log_softmax(const T* x, T* y, i64 rows, i64 cols);

template <class T>
void log_softmax_backward(const T* y, const T* gy, T* gx, i64 rows, i64 cols);

}  // namespace skein
