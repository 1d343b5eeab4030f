// The loss of queries against all rows of a table, with its gradients: one-against-all training of link prediction.
#pragma once

#include "support/common.h"

namespace skein {

// s[i, j] = query[i] · dropped(table)[j] + bias[j]. Query i has the answers answers[answer_offsets[i]] … (a multiset, m[i, j]
// counts j) and, for masked_softmax, the known ids that do not compete; see query_rows.h for the loss of each kind.
// With a `key` (null: nothing is dropped) element e of the table is dropped, and the others are scaled, as Dropout in query_tiles.h
// says: a function of key and e.
//
// loss [queries] is written; g_query, g_table and g_bias are gradients of the sum of loss, overwritten, each may be null.
// bias and known_offsets may be null.
template <class T>
void query_loss(i64 kind, const T* query, const T* table, const T* bias, const i32* answer_offsets, const i32* answers,
                const i32* known_offsets, const i32* known, const T* omega, const T* tau, const T* sigma, double offset,
                double drop, const u32* key, T* loss, T* g_query, T* g_table, T* g_bias, i64 queries, i64 count,
                i64 width);

}  // namespace skein
