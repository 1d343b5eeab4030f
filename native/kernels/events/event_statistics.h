// Running statistics of a stream of events, and the numbers that describe a pair of nodes by them. See event-kernels.ts for
// the contract and the layout of the arrays.
#pragma once

#include "support/common.h"

namespace skein {

// Observes events in order; before event e it answers the queries whose query_before is e. Returns the number of events that
// were observed, which is less than num_events where the arrays have no room for the next one.
i64 event_statistics(i32* node_ints, double* node_times, float* node_values, i32* pair_ints, double* pair_times,
                     float* pair_values, i32* pair_slots, i32* related_ids, float* related_counts, i32* totals, i32* slots,
                     i64 num_nodes, i64 pair_room, i64 slot_count, i64 related_room, const double* clock, const i32* src,
                     const i32* dst, const double* times, i64 num_events, const i32* query_src, const double* query_times,
                     const i32* query_before, const i32* offsets, const i32* candidates, i64 num_queries,
                     const float* shift, const float* scale, float* out, i64 width);

}  // namespace skein
