// Losses that are one kernel instead of a chain of operations, with their gradients.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void cross_entropy(const T* x, const i32* labels, T* loss, T* lse, i64 rows, i64 cols);

template <class T>
void cross_entropy_backward(const T* x, const i32* labels, const T* lse, const T* g_row, T* gx, i64 rows, i64 cols);

template <class T>
double cross_entropy_total(const T* x, const i32* labels, const T* weights, double factor, T* gx, i64 rows, i64 cols);

template <class T>
void bce_with_logits(const T* x, const T* target, T* loss, i64 n);

template <class T>
void bce_with_logits_backward(const T* x, const T* target, const T* g, T* gx, i64 n);

}  // namespace skein
