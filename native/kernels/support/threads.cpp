// The thread budget, and the one pool of the process (thread_pool.h).
#include <algorithm>
#include <cstdlib>

#include "support/thread_pool.h"

namespace skein {
namespace {

using pool_detail::Pool;

// Set on helpers, on threads of the asynchronous pool and while a thread runs chunks: its own kernels then run inline.
thread_local bool alone = false;

std::atomic<int> budget{0};  // 0: not set yet
// Never freed: static objects may be torn down while another thread still uses it.
std::atomic<Pool*> pool{nullptr};

#if !defined(_WIN32)
void forget_pool() { pool.store(new Pool, std::memory_order_release); }
#endif

Pool& the_pool() {
  Pool* found = pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  static std::once_flag once;
  std::call_once(once, [] {
    pool.store(new Pool, std::memory_order_release);
#if !defined(_WIN32)
    pthread_atfork(nullptr, nullptr, forget_pool);
    // On Windows threads have ended before handlers run, and joining them would wait for ever.
    std::atexit([] { pool.load(std::memory_order_acquire)->stop(); });
#endif
  });
  return *pool.load(std::memory_order_acquire);
}

void run_inline(i64 chunks, ChunkBody body, void* context) {
  for (i64 c = 0; c < chunks; ++c) body(context, c);
}

// The calling thread's kernels run inline while it works on chunks, and the pool is free again however the job ends.
class Section {
 public:
  explicit Section(Pool& owner) : owner_(owner) { alone = true; }
  ~Section() {
    alone = false;
    owner_.release();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Pool& owner_;
};

}  // namespace

int threads() { return alone ? 1 : std::max(1, budget.load(std::memory_order_relaxed)); }
int thread_budget() { return budget.load(std::memory_order_relaxed); }
void set_threads(int count) { budget.store(count, std::memory_order_relaxed); }
void limit_to_one_thread() { alone = true; }

void run_chunks(int team, i64 chunks, Share share, ChunkBody body, void* context) {
  // A run's ends share one word, so its chunks are counted in 32 bits.
  Pool& owner = the_pool();
  if (alone || chunks > i64{0x7fffffff} || !owner.acquire()) return run_inline(chunks, body, context);
  Section section(owner);
  owner.run(team, chunks, share, body, context);
}

}  // namespace skein
