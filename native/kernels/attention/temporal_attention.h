// Attention over the sampled past events of each destination, forward and backward in one pass each.
#pragma once

#include "support/common.h"

namespace skein {

// features, key and encoded may be null.
template <class T>
void temporal_attention(const T* query, const T* h, const i32* neighbors, const T* features, const i32* event_rows,
                        const T* spans, const T* w, const T* b, const i32* offsets, const u32* key, double drop, T* raw,
                        T* alpha, T* encoded, T* y, i64 num_dst, i64 heads, i64 dim_node, i64 dim_edge, i64 dim_time,
                        double scale, double slope);

// features, key and every gradient may be null; gw and gb only together.
template <class T>
void temporal_attention_backward(const T* gy, const T* query, const T* h, const i32* neighbors, const T* features,
                                 const i32* event_rows, const T* spans, const T* w, const T* b, const i32* offsets,
                                 const u32* key, double drop, const T* raw, const T* alpha, const T* encoded, T* g_query,
                                 T* g_neighbors, T* gw, T* gb, i64 num_dst, i64 heads, i64 dim_node, i64 dim_edge,
                                 i64 dim_time, double scale, double slope);

}  // namespace skein
