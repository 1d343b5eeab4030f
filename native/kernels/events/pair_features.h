// How two nodes are related by their latest events, for many pairs. See event-kernels.ts for the contract.
#pragma once

#include "support/list.h"

namespace skein {

void pair_features(List<const i32> starts, const i32* neighbors, List<const i32> rows, const double* time, i64 limit,
                   const i32* src, const double* times, const i32* cutoffs, i64 num_queries, const i32* dst, i64 num_dst,
                   i64 per_query, i64 depth, float* out);

}  // namespace skein
