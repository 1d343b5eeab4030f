// The order of events and queries. Candidates of a query are described in parallel; everything else is one pass in order.
#include "events/event_statistics.h"

#include <vector>

#include "events/describe_pair.h"

namespace skein {
namespace {

// About 20 microseconds of work.
constexpr i64 kCandidateGrain = 96;

}  // namespace

i64 event_statistics(i32* node_ints, double* node_times, float* node_values, i32* pair_ints, double* pair_times,
                     float* pair_values, i32* pair_slots, i32* related_ids, float* related_counts, i32* totals, i32* slots,
                     i64 num_nodes, i64 pair_room, i64 slot_count, i64 related_room, const double* clock, const i32* src,
                     const i32* dst, const double* times, i64 num_events, const i32* query_src, const double* query_times,
                     const i32* query_before, const i32* offsets, const i32* candidates, i64 num_queries,
                     const float* shift, const float* scale, float* out, i64 width) {
  using namespace events;
  const Store store = {node_ints,   node_times,     node_values, pair_ints, pair_times, pair_values, pair_slots, related_ids,
                       related_counts, totals, num_nodes,   pair_room, slot_count, related_room, clock};
  std::vector<Found> found;
  std::vector<i32> touched;
  if (num_queries > 0) {
    found.resize(kMostFound);
    touched.resize(kMostFound);
  }
  i64 query = 0;
  for (i64 event = 0;; ++event) {
    for (; query < num_queries && query_before[query] <= event; ++query) {
      const Query described(store, slots, found.data(), touched.data(), query_src[query], query_times[query], width);
      const i64 first = offsets[query];
      parallel_for(offsets[query + 1] - first, kCandidateGrain, [&](i64 begin, i64 end) {
        for (i64 i = first + begin; i < first + end; ++i) described.describe(candidates[i], shift, scale, out + i * width);
      });
    }
    if (event == num_events || !store.has_room()) return event;
    observe(store, src[event], dst[event], times[event]);
  }
}

}  // namespace skein
