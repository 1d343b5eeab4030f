// What every kernel file shares: integer names, the thread budget and the one way to run in parallel.
//
// Determinism rests on parallel_for: its chunks depend on the problem size and the grain only, never on the number
// of threads, so a kernel that reduces per chunk and combines chunks in order gives the same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skein {

using i8 = std::int8_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

#define SKEIN_RESTRICT __restrict__

// How many threads the current call may use: the process-wide setting, or 1 on a thread of the asynchronous pool.
int threads();
void set_threads(int count);

// Marks the calling thread as a pool worker, whose kernels run on that thread alone.
void limit_to_one_thread();

// How chunks go to threads. kept: neighbours to the same thread, in every call alike, so that rows stay in the cache of the
// core that made them. asked: whoever is free takes the next, for long work that an interrupted core would hold up.
enum class Share { kept, asked };

// Calls f(begin, end) for consecutive chunks of exactly `grain` items (the last may be shorter).
template <class F>
inline void parallel_for(i64 n, i64 grain, F&& f, Share share = Share::kept) {
  if (n <= 0) return;
  const i64 chunks = (n + grain - 1) / grain;
  const i64 budget = threads();
  const int team = static_cast<int>(chunks < budget ? chunks : budget);
  const auto chunk = [&](i64 c) { f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n); };
  if (team <= 1) {
    for (i64 c = 0; c < chunks; ++c) chunk(c);
  } else if (share == Share::kept) {
#pragma omp parallel for schedule(static) num_threads(team)
    for (i64 c = 0; c < chunks; ++c) chunk(c);
  } else {
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (i64 c = 0; c < chunks; ++c) chunk(c);
  }
}

// Elementwise work below this many items is not worth waking a second thread (a fork costs about 3 microseconds).
constexpr i64 kElementGrain = 32768;

}  // namespace skein
