// Shared by all kernel files: integer names, the thread budget and parallel_for, the only way to run in parallel.
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

// How many threads the current call may use: the process-wide setting, or 1 on a thread of the asynchronous pool and
// inside a parallel section.
int threads();
void set_threads(int count);
// The last value given to set_threads by any thread; 0 before the first call.
int thread_budget();

// Marks the calling thread as a pool worker, whose kernels run on that thread alone.
void limit_to_one_thread();

// How chunks are shared among threads. kept: neighbouring chunks go to the same thread, in every call alike, so that rows stay
// in the cache of the core that made them; a thread that has finished its own takes over chunks of one that lags behind.
// asked: every thread takes the next chunk in order, for long work whose chunks differ in length.
enum class Share { kept, asked };

// Runs body(context, c) for every chunk c below `chunks` on up to `team` threads, the calling one among them, and returns
// when all have run. The first exception that a chunk throws is rethrown here; chunks that had not started are skipped.
using ChunkBody = void (*)(void* context, i64 chunk);
void run_chunks(int team, i64 chunks, Share share, ChunkBody body, void* context);

// Calls f(begin, end) for consecutive chunks of exactly `grain` items (the last may be shorter).
template <class F>
inline void parallel_for(i64 n, i64 grain, F&& f, Share share = Share::kept) {
  if (n <= 0) return;
  const i64 chunks = (n + grain - 1) / grain;
  const i64 budget = chunks > 1 ? threads() : 1;
  const int team = static_cast<int>(chunks < budget ? chunks : budget);
  auto chunk = [&](i64 c) { f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n); };
  if (team <= 1) {
    for (i64 c = 0; c < chunks; ++c) chunk(c);
    return;
  }
  using Chunk = decltype(chunk);
  run_chunks(team, chunks, share, [](void* context, i64 c) { (*static_cast<Chunk*>(context))(c); }, &chunk);
}

// Elementwise work below this many items is not worth waking a second thread (a fork costs about 3 microseconds).
constexpr i64 kElementGrain = 32768;

}  // namespace skein
