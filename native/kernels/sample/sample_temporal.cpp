// sampleTemporalHop: how many each destination takes, then which, then rows by first appearance of (node, time).
//
// Another thread may append to the lists meanwhile. That is why only the start of a slice is read as a shared value, once:
// entries behind it are never changed again but for free entries, whose row is beyond `limit` before and after.
#include "sample/sample_temporal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "sample/pair_rows.h"
#include "random/philox_counters.h"
#include "sample/sort_picks.h"

namespace skein {
namespace {

enum Strategy { kRecent = 0, kUniform = 1, kWeighted = 2 };

// The event lists as one thread sees them. A copy for each chunk keeps the fields in registers; a field that other threads
// can write would be read again after every store.
struct Stream {
  List<const i32> starts;
  const i32* neighbors;
  List<const i32> rows;
  const double* time;
  i64 limit;
  const float* weights;
  // An index was out of range. The call ends with an error when all threads are done.
  bool damaged = false;

  i64 refuse() {
    damaged = true;
    return 0;
  }
  // An entry that was written as a result and is read back, compared with the number of entries.
  i32 entry(i32 given) {
    const bool fits = rows.has(given);
    damaged |= !fits;
    return fits ? given : 0;
  }
  // The event of an entry, compared with the number of events. Without a branch: it is read once for each edge.
  i32 event(i64 entry) {
    const i32 row = rows[entry];
    const bool fits = static_cast<u64>(static_cast<u32>(row)) < static_cast<u64>(limit);
    damaged |= !fits;
    return fits ? row : 0;
  }
};

struct Rule {
  i64 strategy, fanout;
  double from, to;
};

// Candidates of a destination: entries begin … end - 1 of the lists.
struct Range {
  i32 begin, end;
};

// The first of values[0 … n) that is not below `bound`, without branches on what is read.
template <class V>
inline i64 lower_bound_of(const V* values, i64 n, V bound) {
  const V* at = values;
  while (n > 1) {
    const i64 half = n / 2;
    at += at[half - 1] < bound ? half : 0;
    n -= half;
  }
  return at - values + (n == 1 && *at < bound ? 1 : 0);
}

// Events before t, when it is known that there are at most `most`: looks near that end first.
inline i64 cutoff_up_to(const double* time, i64 most, double t) {
  i64 reach = 1;
  while (reach < most && time[most - reach] >= t) reach *= 2;
  const i64 low = reach < most ? most - reach : 0;
  return low + lower_bound_of(time + low, most - low, t);
}

// Events before t; `known` may hold it, or an upper bound. Otherwise searches near `guess`: seeds mostly come in time order.
inline i64 cutoff_of(Stream& s, i32 known, double t, i64 guess) {
  if (known >= 0) return known <= s.limit ? known : s.refuse();
  if (known < -1) {
    const i64 most = -2 - static_cast<i64>(known);
    return most <= s.limit ? cutoff_up_to(s.time, most, t) : s.refuse();
  }
  if (guess >= s.limit || s.time[guess] >= t) return cutoff_up_to(s.time, guess, t);
  i64 reach = 1;
  while (guess + reach < s.limit && s.time[guess + reach] < t) reach *= 2;
  const i64 end = guess + reach < s.limit ? guess + reach : s.limit;
  return guess + lower_bound_of(s.time + guess, end - guess, t);
}

inline Range candidates(Stream& s, const Rule& rule, i32 node, double t, i64 cutoff) {
  if (!s.starts.has(node)) return {0, static_cast<i32>(s.refuse())};
  const i32 start = __atomic_load_n(s.starts.data + node, __ATOMIC_ACQUIRE);
  if (start < 1 || start > s.rows.size) return {0, static_cast<i32>(s.refuse())};
  const i32* slice = s.rows.data + start;
  const i64 room = s.rows[start - 1];
  if (room < 0 || room > s.rows.size - start) return {0, static_cast<i32>(s.refuse())};
  const i64 last = rule.to == 0 ? cutoff : cutoff_up_to(s.time, cutoff, t - rule.to);
  if (last <= 0) return {start, start};  // nothing has happened yet; without events there is no time to read either
  const i64 end = lower_bound_of(slice, room, static_cast<i32>(last));
  i64 begin = 0;
  if (rule.from != INFINITY) {
    const i64 first = lower_bound_of(s.time, last, t - rule.from);
    begin = lower_bound_of(slice, end, static_cast<i32>(first));
  }
  return {static_cast<i32>(start + begin), static_cast<i32>(start + end)};
}

inline i64 taken(Stream& s, const Rule& rule, const Range& range) {
  i64 count = range.end - range.begin;
  if (rule.strategy == kWeighted) {
    count = 0;
    for (i32 p = range.begin; p < range.end; ++p) count += s.weights[s.event(p)] > 0 ? 1 : 0;
  }
  return rule.fanout < 0 || count < rule.fanout ? count : rule.fanout;
}

// The words of one destination in order.
class RowWords {
 public:
  RowWords(const DrawKey& key, i64 tag, const u32* root, i32 node, i64 cutoff)
      : key_(key), tag_(static_cast<u32>(tag)), stream_(root[2]), node_(static_cast<u32>(node)),
        cutoff_(static_cast<u32>(cutoff)) {}
  u32 next() {
    if ((drawn_ & 3) == 0) {
      key_.c2 = (tag_ + (static_cast<u32>(drawn_ >> 2) << 16)) ^ stream_;
      philox_counter(key_, node_, cutoff_, words_);
    }
    return words_[drawn_++ & 3];
  }

 private:
  DrawKey key_;
  u32 tag_, stream_, node_, cutoff_;
  i64 drawn_ = 0;
  u32 words_[4];
};

void draw_weighted(Stream& s, const Range& range, i64 count, RowWords& words, i32* to) {
  thread_local std::vector<double> sums;
  sums.clear();
  double total = 0;
  i32 last = range.begin;
  for (i32 p = range.begin; p < range.end; ++p) {
    const float w = s.weights[s.event(p)];
    if (w > 0) last = p;
    total += w;
    sums.push_back(total);
  }
  for (i64 d = 0; d < count; ++d) {
    const u32 high = words.next(), low = words.next();
    const double unit = (static_cast<double>(high) * 2097152.0 + (low >> 11)) * 1.1102230246251565e-16;
    const i64 at = std::upper_bound(sums.begin(), sums.end(), unit * total) - sums.begin();
    to[d] = std::min(range.begin + static_cast<i32>(at), last);
  }
  sort_picks(to, count);
}

// Writes the entries that a destination takes, ascending.
inline void pick(Stream& s, const Rule& rule, const Range& range, i64 count, RowWords words, i32* to) {
  const i64 past = range.end - range.begin;
  if (rule.strategy == kRecent || (rule.strategy == kUniform && count == past)) {
    for (i64 i = 0; i < count; ++i) to[i] = static_cast<i32>(range.end - count + i);
  } else if (rule.strategy == kUniform) {
    for (i64 i = 0; i < count; ++i)
      to[i] = range.begin + static_cast<i32>(bounded_word(words.next(), static_cast<u32>(past)));
    sort_picks(to, count);
  } else {
    i64 positive = 0;
    for (i32 p = range.begin; p < range.end && positive <= count; ++p) {
      if (s.weights[s.event(p)] > 0) {
        if (positive < count) to[positive] = p;
        ++positive;
      }
    }
    if (positive > count) draw_weighted(s, range, count, words, to);
  }
}

// Results for the edges of one destination: five lists that do not overlap.
struct Edges {
  i32* picked;
  float* spans;
  i32* nodes;
  double* times;
  i32* cutoffs;
};

// A source has the time of its event, not that of the destination.
constexpr i32 kFromEvent = -1;

// Turns picked entries into event rows and writes the (node, time) pairs at the far ends.
inline void write_edges(Stream& stream, i64 count, double t, i32 cutoff, const Edges& to) {
  i32* __restrict picked = to.picked;
  float* __restrict spans = to.spans;
  i32* __restrict nodes = to.nodes;
  double* __restrict times = to.times;
  i32* __restrict cutoffs = to.cutoffs;
  for (i64 j = 0; j < count; ++j) {
    const i32 entry = stream.entry(read_once(picked + j)), row = stream.event(entry);
    const double at = stream.time[row];
    picked[j] = row;
    spans[j] = static_cast<float>(t - at);
    nodes[j] = stream.neighbors[entry];
    times[j] = cutoff == kFromEvent ? at : t;
    cutoffs[j] = cutoff == kFromEvent ? -2 - row : cutoff;
  }
}

}  // namespace

i64 sample_temporal_hop(List<const i32> starts, const i32* neighbors, List<const i32> rows, const double* time, i64 limit,
                        const float* weights, i32* nodes, double* times, i32* cutoffs, i64 num_dst, i64 strategy,
                        i64 fanout, double from, double to, bool prop_time, bool unique, const u32* key, i64 step,
                        i64 tag, i32* indptr, i32* sources, i32* event_rows, float* spans, i64 capacity) {
  std::atomic<bool> damaged{false};
  const Stream lists{starts, neighbors, rows, time, limit, weights};
  const Rule rule{strategy, fanout, from, to};
  const DrawKey draws = draw_key(key, step, tag);
  const i64 grain = strategy == kWeighted ? 64 : 1024;
  thread_local std::vector<Range> range_scratch;
  range_scratch.resize(static_cast<size_t>(num_dst));
  Range* ranges = range_scratch.data();
  // Where the edges of a destination end. Not read back from `indptr`, which the caller can overwrite meanwhile.
  thread_local std::vector<i64> end_scratch;
  end_scratch.assign(static_cast<size_t>(num_dst) + 1, 0);
  i64* ends = end_scratch.data();
  parallel_for(num_dst, grain, [&](i64 begin, i64 end) {
    Stream stream = lists;
    i64 cutoff = limit;
    for (i64 i = begin; i < end; ++i) {
      if (i + 8 < end) __builtin_prefetch(starts.data + nodes[i + 8]);
      cutoff = cutoff_of(stream, cutoffs[i], times[i], cutoff);
      cutoffs[i] = static_cast<i32>(cutoff);
      ranges[i] = candidates(stream, rule, nodes[i], times[i], cutoff);
      ends[i + 1] = taken(stream, rule, ranges[i]);
    }
    if (stream.damaged) damaged.store(true, std::memory_order_relaxed);
  });
  const auto throw_if_damaged = [&] {
    if (damaged.load()) throw std::out_of_range("a node, an event count or an event list is out of range");
  };
  throw_if_damaged();
  for (i64 i = 0; i < num_dst; ++i) ends[i + 1] += ends[i];
  const i64 edges = ends[num_dst];
  if (edges > capacity) return -1 - edges;
  for (i64 i = 0; i <= num_dst; ++i) indptr[i] = static_cast<i32>(ends[i]);
  parallel_for(num_dst, grain, [&](i64 begin, i64 end) {
    Stream stream = lists;
    for (i64 i = begin; i < end; ++i) {
      const i64 first = ends[i], count = ends[i + 1] - first;
      i32* picked = event_rows + first;
      pick(stream, rule, ranges[i], count, RowWords(draws, tag, key, nodes[i], cutoffs[i]), picked);
      // Pairs are first stored behind the destinations, one per edge; what is new among them then moves up.
      write_edges(stream, count, times[i], prop_time ? cutoffs[i] : kFromEvent,
                  {picked, spans + first, nodes + num_dst + first, times + num_dst + first, cutoffs + num_dst + first});
    }
    if (stream.damaged) damaged.store(true, std::memory_order_relaxed);
  });
  throw_if_damaged();
  if (!unique) {
    for (i64 e = 0; e < edges; ++e) sources[e] = static_cast<i32>(num_dst + e);
    return num_dst + edges;
  }
  return share_rows(nodes, times, cutoffs, num_dst, edges, sources);
}

}  // namespace skein
