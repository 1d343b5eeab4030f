// Scores of edges for link prediction: pairs, edges against shared negatives in chunks, the fused softmax loss, ranks.
//
// The edges of a batch are divided into `chunks` runs of ceil(edges / chunks); the edges of a run share `n` negatives, which
// are rows of `rows` named by negatives[chunk * n + j]. The last runs may be short or empty.
#pragma once

#include "support/common.h"

namespace skein {

// out = a · b of complex numbers, or a · conj(b); a row has `half` real components, then `half` imaginary ones.
template <class T>
void complex_product(const T* a, const T* b, T* out, i64 rows, i64 half, bool conjugate);

template <class T>
void pair_scores(i64 op, const T* a, const T* b, T* out, i64 pairs, i64 width);

template <class T>
void pair_scores_backward(i64 op, const T* gy, const T* y, const T* a, const T* b, T* ga, T* gb, i64 pairs,
                          i64 width);

template <class T>
void chunked_scores(i64 op, const T* query, const T* rows, const i32* negatives, T* out, i64 edges, i64 width,
                    i64 chunks, i64 n);

// g_rows is added to, g_query overwritten; either may be null.
template <class T>
void chunked_scores_backward(i64 op, const T* gy, const T* y, const T* query, const T* rows, const i32* negatives,
                             T* g_query, T* g_rows, i64 edges, i64 width, i64 row_count, i64 chunks, i64 n);

template <class T>
void chunked_softmax_loss(const T* query, const T* target, const T* rows, const i32* negatives,
                          const i32* mask_offsets, const i32* mask_positions, T* loss, T* g_query, T* g_target,
                          T* g_rows, i64 edges, i64 width, i64 row_count, i64 chunks, i64 n, double scale);

// chunked_softmax_loss with query = operator(rows[source], table[relation]) and target = rows[target]. g_read has the gradients of the
// rows as they were read: sources [edges], targets [edges], negatives [chunks · n]; null: the loss alone. g_relations, which
// may be null, those of the relations.
template <class T>
void edge_softmax_loss(i64 op, const T* rows, const i32* sources, const i32* targets, const T* table,
                       const i32* relations, const i32* negatives, const i32* mask_offsets, const i32* mask_positions,
                       T* loss, T* g_read, T* g_relations, i64 edges, i64 width, i64 chunks, i64 n, double scale);

template <class T>
void rank_tile(i64 op, const T* query, const T* positive, const i32* positive_ids, const T* tile, i64 first,
               const i32* filter_offsets, const i32* filter_ids, i32* greater, i32* equal, i64 queries, i64 width,
               i64 count);

}  // namespace skein
