// Dropout without a stored mask: the key gives the same decisions again in the backward pass.
#pragma once

#include "sparse/offsets.h"

namespace skein {

template <class T>
void dropout(const T* x, T* y, i64 n, double p, const u32* key);

// Rows with the words of their ids.
template <class T>
void dropout_rows(const T* x, const i32* ids, T* y, i64 rows, i64 width, double p, const u32* key);

// Entries of a sparse matrix with the words of their row's id and their column; ids may be null: 0, 1, 2, ….
template <class T>
void dropout_entries(const T* x, Offsets offsets, const i32* columns, const i32* ids, T* y, i64 rows, i64 width, double p,
                     const u32* key);

}  // namespace skein
