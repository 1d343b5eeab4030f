// Attention with additive scores over a sparse structure (GAT), forward and backward in one pass each.
#pragma once

#include "sparse/offsets.h"

namespace skein {

// ee, ids and key may be null. `ids` select the dropout words instead of the entries' positions.
template <class T>
void gat_attention(const T* z, const T* el, const T* er, const T* ee, Offsets offsets, const i32* indices,
                   const i32* ids, const u32* key, double drop, T* y, T* lse, i64 rows, i64 heads, i64 width, double slope);

template <class T>
void gat_attention_backward(const T* z, const T* el, const T* er, const T* ee, const T* y, const T* lse, const T* gy,
                            Offsets offsets, const i32* indices, const i32* ids, const u32* key, double drop, T* attention,
                            T* gscore, i64 rows, i64 heads, i64 width, double slope);

}  // namespace skein
