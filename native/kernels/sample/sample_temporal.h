// Sampling from a stream of events: strictly earlier ones only. See temporal-sample-kernels.ts for the contract.
#pragma once

#include "support/list.h"

namespace skein {

// One hop. Returns the number of rows, destinations first, or -1 - (edges to make room for).
i64 sample_temporal_hop(List<const i32> starts, const i32* neighbors, List<const i32> rows, const double* time, i64 limit,
                        const float* weights, i32* nodes, double* times, i32* cutoffs, i64 num_dst, i64 strategy,
                        i64 fanout, double from, double to, bool prop_time, bool unique, const u32* key, i64 step,
                        i64 tag, i32* indptr, i32* sources, i32* event_rows, float* spans, i64 capacity);

}  // namespace skein
