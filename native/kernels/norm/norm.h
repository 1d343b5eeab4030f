// Layer normalisation (over rows) and batch normalisation (over columns), with their gradients.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void layer_norm(const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd, i64 rows, i64 cols, double eps);

template <class T>
void layer_norm_backward(const T* x, const T* gy, const T* gamma, const T* mean, const T* rstd, T* gx, T* ggamma,
                         T* gbeta, i64 rows, i64 cols);

template <class T>
void column_stats(const T* x, T* mean, T* variance, i64 rows, i64 cols);

template <class T>
void batch_norm(const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta, T* y, i64 rows, i64 cols);

template <class T>
void batch_norm_backward(const T* x, const T* gy, const T* mean, const T* rstd, const T* gamma, T* gx, T* ggamma,
                         T* gbeta, i64 rows, i64 cols);

}  // namespace skein
