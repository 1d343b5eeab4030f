// pairFeatures: sources once per query, then the pairs of a destination one after the other, since its past grows little from one
// query to the next.
#include "events/pair_features.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/vecmath.h"

namespace skein {
namespace {

constexpr i64 kMeeting = 5, kAges = 4, kActivity = kAges + 2, kSide = kMeeting + kActivity;
constexpr i64 kAge[kAges] = {1, 4, 16, 64};
// Logarithms of times in seconds reach 15; this keeps inputs near 1.
constexpr double kScale = 0.1;
// About 50 microseconds of work.
constexpr i64 kPairs = 512;

struct Stream {
  List<const i32> starts;
  const i32* neighbors;
  List<const i32> rows;
  const double* time;
  i64 limit;
  // An index was out of range. The call ends with an error when all threads are done.
  mutable std::atomic<bool> damaged{false};
};

// log(1 + x) of a few numbers of a side at once: one vector.
struct Logs {
  static constexpr i64 kMeetingAge = kAges, kMet = kAges + 1, kCount = kAges + 2;
  double x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  void take() {
#pragma omp simd
    for (int i = 0; i < 8; ++i) x[i] = vm::log(x[i]);
  }
};

// The events of one node, and how many of them are in rows below a cutoff.
class Past {
 public:
  Past() = default;
  Past(const Stream& s, i32 node) {
    const i32 start = s.starts.has(node) ? s.starts[node] : 0;
    const i64 room = start >= 1 && start <= s.rows.size ? s.rows[start - 1] : -1;
    if (room < 0 || room > s.rows.size - start) {
      s.damaged = true;
      return;
    }
    neighbors_ = s.neighbors + start;
    rows_ = s.rows.data + start;
    room_ = room;
  }

  // Searches around the last result first: queries mostly come in order of time.
  void move_to(i32 cutoff) {
    if (count_ > 0 && rows_[count_ - 1] >= cutoff) count_ = 0;
    i64 reach = 1;
    while (count_ + reach <= room_ && rows_[count_ + reach - 1] < cutoff) reach *= 2;
    count_ = std::lower_bound(rows_ + count_, rows_ + std::min(count_ + reach, room_), cutoff) - rows_;
  }

  // Meetings with `other`, and, where `activity` is not null, how active the node is; else that is written here already.
  void describe(const Stream& s, i32 other, double t, i64 depth, float* out, bool activity) const {
    const i64 from = std::max<i64>(0, count_ - depth);
    i32 met = 0, last = -1;
    const i32* SKEIN_RESTRICT seen = neighbors_ + from;
    const i32 size = static_cast<i32>(count_ - from);
#pragma omp simd reduction(+ : met) reduction(max : last)
    for (i32 k = 0; k < size; ++k) {
      const bool hit = seen[k] == other;
      met += hit ? 1 : 0;
      last = std::max(last, hit ? k : -1);
    }
    std::fill_n(out, kMeeting, 0.0f);
    if (met == 0 && !activity) return;
    Logs logs;
    if (met > 0) {
      logs.x[Logs::kMeetingAge] = age(s, from + last, t);
      logs.x[Logs::kMet] = 1.0 + met;
    }
    if (activity) {
      for (i64 a = 0; a < kAges; ++a)
        if (count_ >= kAge[a]) logs.x[a] = age(s, count_ - kAge[a], t);
      logs.x[Logs::kCount] = 1.0 + static_cast<double>(count_);
    }
    logs.take();
    if (met > 0) {
      out[0] = 1;
      out[1] = static_cast<float>(kScale * logs.x[Logs::kMeetingAge]);
      out[2] = static_cast<float>(logs.x[Logs::kMet]);
      out[3] = static_cast<float>(static_cast<double>(met) / size);
      out[4] = static_cast<float>(1.0 / static_cast<double>(size - last));
    }
    if (!activity) return;
    out += kMeeting;
    // Missing events count as long ago.
    for (i64 a = 0; a < kAges; ++a) out[a] = count_ < kAge[a] ? 2.0f : static_cast<float>(kScale * logs.x[a]);
    out[kAges] = count_ == 0 ? 1.0f : 0.0f;
    out[kAges + 1] = static_cast<float>(kScale * logs.x[Logs::kCount]);
  }

 private:
  const i32* neighbors_ = nullptr;
  const i32* rows_ = nullptr;
  i64 room_ = 0, count_ = 0;

  double age(const Stream& s, i64 entry, double t) const {
    const i64 row = read_once(rows_ + entry);
    if (row >= 0 && row < s.limit) return 1.0 + (t - s.time[row]);
    s.damaged = true;
    return 1.0;
  }
};

// A source at the time of its query.
struct Source {
  Past past;
  float side[kSide];
};

}  // namespace

void pair_features(List<const i32> starts, const i32* neighbors, List<const i32> rows, const double* time, i64 limit,
                   const i32* src, const double* times, const i32* cutoffs, i64 num_queries, const i32* dst, i64 num_dst,
                   i64 per_query, i64 depth, float* out) {
  const Stream stream{starts, neighbors, rows, time, limit};
  std::vector<Source> sources(static_cast<std::size_t>(num_queries));
  parallel_for(num_queries, kPairs, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      sources[i].past = Past(stream, src[i]);
      sources[i].past.move_to(cutoffs[i]);
      sources[i].past.describe(stream, -1, times[i], depth, sources[i].side, true);
    }
  });
  parallel_for(num_queries * num_dst, kPairs, [&](i64 begin, i64 end) {
    Past past;
    i32 node = -1;
    for (i64 row = begin; row < end; ++row) {
      const i64 i = row % num_queries;
      const i32 other = dst[per_query == 0 ? row / num_queries : row];
      if (other != node) past = Past(stream, node = other);
      past.move_to(cutoffs[i]);
      float* to = out + row * 2 * kSide;
      std::copy_n(sources[i].side, kSide, to);
      sources[i].past.describe(stream, other, times[i], depth, to, false);
      past.describe(stream, src[i], times[i], depth, to + kSide, true);
    }
  });
  if (stream.damaged) throw std::out_of_range("a node, an event or an event list is out of range");
}

}  // namespace skein
