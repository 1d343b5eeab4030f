// Rows selected by id: the traffic between tables (features, embeddings, node states) and batches.
//
// gather reads rows in the order of ids; scatter-add and coalesce are its gradients, dense and sparse. Sums of rows
// with the same id are formed in ascending position, so they do not depend on the number of threads.
#pragma once

#include "support/common.h"

namespace skein {

// y[i, :] = x[ids[i], :], rows of row_bytes bytes.
void gather_rows(const void* x, const i32* ids, void* y, i64 n, i64 row_bytes);

// Row i, row_bytes bytes at y + i stride_bytes, = x[ids[i], :]; zeros where ids[i] is −1.
void gather_rows_strided(const void* x, const i32* ids, void* y, i64 n, i64 row_bytes, i64 stride_bytes);

// dst[ids[i], :] = src[i, :], rows of row_bytes bytes; ids are unique.
void put_rows(const void* src, const i32* ids, void* dst, i64 n, i64 row_bytes);

// dst[ids[i], :] += src[i, :] in ascending i.
template <class T>
void scatter_add_rows(const i32* ids, const T* src, T* dst, i64 n, i64 rows, i64 width);

// out[r, :] = the sum of the src rows with id r in ascending position; 0 where there are none.
template <class T>
void sum_rows(const i32* ids, const T* src, T* out, i64 n, i64 rows, i64 width);

// out_ids: the distinct ids in ascending order; out_rows: the sums of their rows. Returns how many there are.
template <class T>
i64 coalesce_rows(const i32* ids, const T* src, i32* out_ids, T* out_rows, i64 n, i64 rows, i64 width);

// loss[i] = weights[i] · Σ|x|^power over row ids[i] of x (row i if ids is null), and grad[i, :] its gradient, if given. With
// `complex` a row has width / 2 real components, then as many imaginary ones, and |x| is the modulus.
template <class T>
void row_penalty(const T* x, const i32* ids, const T* weights, T* loss, T* grad, i64 count, i64 width, i64 power,
                 bool complex);

}  // namespace skein
