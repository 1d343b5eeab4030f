// Waiting without sleeping, for as long as that is worth it, and the chunks that one thread owns: the components of the
// thread pool (thread_pool.h) that do not depend on jobs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "support/common.h"

namespace skein {
namespace pool_detail {

using Clock = std::chrono::steady_clock;

// How long a helper without work spins before it parks. Kernels of a training step follow one another within this time;
// waking a parked helper takes about as long.
constexpr auto kSpin = std::chrono::microseconds(60);
// A reading of the clock that comes this much after the last one shows that the thread was not running: another process wants
// the core, and spinning would take it from work.
constexpr auto kPreempted = std::chrono::microseconds(400);
// The least patience: what never spins would never find out that spinning is worth it again.
constexpr Clock::duration kLeastSpin = std::chrono::microseconds(1);

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done` or until waiting costs more than sleeping. Returns whether `done` held; `patience` is reduced to a quarter when
// the thread was preempted meanwhile, and grows back slowly.
template <class Done>
bool spin_until(Done&& done, Clock::duration& patience) {
  if (done()) return true;
  const auto start = Clock::now();
  auto last = start;
  while (last - start < patience) {
    for (int i = 0; i < 16; ++i) {
      if (done()) {
        if (patience < kSpin) patience += kSpin / 32;
        return true;
      }
      relax();
    }
    const auto now = Clock::now();
    if (now - last > kPreempted) {
      patience = std::max(patience / 4, kLeastSpin);
      return done();
    }
    last = now;
  }
  return done();
}

// The chunks [begin, end) that are left of a thread's own run, in one word, so that both ends change atomically.
struct alignas(64) Run {
  std::atomic<u64> word{0};

  void set(u64 begin, u64 end) { word.store(begin << 32 | end, std::memory_order_relaxed); }

  bool take_front(i64& chunk) {
    u64 seen = word.load(std::memory_order_relaxed);
    while (seen >> 32 < (seen & 0xffffffffu)) {
      if (word.compare_exchange_weak(seen, seen + (u64{1} << 32), std::memory_order_relaxed)) {
        chunk = static_cast<i64>(seen >> 32);
        return true;
      }
    }
    return false;
  }

  bool take_back(i64& chunk) {
    u64 seen = word.load(std::memory_order_relaxed);
    while (seen >> 32 < (seen & 0xffffffffu)) {
      if (word.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) {
        chunk = static_cast<i64>((seen & 0xffffffffu) - 1);
        return true;
      }
    }
    return false;
  }
};

}  // namespace pool_detail
}  // namespace skein
